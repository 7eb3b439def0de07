#!/usr/bin/env bats
# The three steps: record, extract, and look at one rank alone.

load common

# Rank 0 adds up what the others send, in the order in which it comes; with "assert" it fails on the way.
compile_sum() {
    compile "$1" sum << 'END'
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, sum = 0;
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 5; round++) {
        for (int other = 1; other < size; other++) {
            int value = 100 * rank + round;
            if (rank == 0) {
                MPI_Status status;
                MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
                sum += value * status.MPI_SOURCE; /* the line that is stopped at */
            } else if (rank == other) {
                MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
            }
        }
        if (strcmp(way, "assert") == 0)
            assert(rank != 0 || round < 3);
        if (strcmp(way, "exit") == 0 && rank == 0 && round == 3)
            exit(9);
    }
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("rank %d of %d: %d\n", rank, size, sum);
    MPI_Finalize();
    return 0;
}
END
    launch[2]=3
    line=$(grep -n "the line that is stopped at" sum.c | cut -d : -f 1)
}

# The program may end badly, but what it did is recorded.
record() {
    local ended=0
    "$REFRAIN" record -q "${launch[@]}" "$@" > recorded.text 2> recorder.text || ended=$?
    [ "$ended" -lt 120 ] || [ "$ended" -gt 127 ]
    sed -n "/^rank 0 /p" recorded.text > recorded0.text
    sed -n "/^rank 2 /p" recorded.text > recorded2.text
}

# What does not need the contents.

@test "extract: the ranks must be named, and exist; nothing is run" {
    launch openmpi 3 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    run_apart "$REFRAIN" extract
    expect_status 120
    expect_in "$stderr" "--rank is missing"
    expect_in "$stderr" "hint: refrain extract --rank 0"
    for list in 3 0-3 1- -1 a 0,,1 2-1 99999999999999999999; do
        run_apart "$REFRAIN" extract --rank "$list"
        expect_status 120
        [ -z "$output" ]
    done
    expect_in "$stderr" "the trace has ranks 0-2"
    run_apart "$REFRAIN" extract --rank 0 nowhere
    expect_status 122
    run_apart "$REFRAIN" extract --rank 0 refrain.data/latest --
    expect_status 120
    [ -z "$(ls refrain.data/latest | grep -v -e '^manifest.json$' -e '^rank-[0-2].trace$')" ]
}

@test "extract and debug take their options on both sides of the trace" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    for verb in extract debug; do
        run_apart "$REFRAIN" "$verb" refrain.data/latest --rank 2
        expect_status 120
        expect_in "$stderr" "there is no rank 2, the trace has ranks 0-1"
        run_apart "$REFRAIN" "$verb" --rank 2 refrain.data/latest -q -- true
        expect_status 120
        expect_in "$stderr" "there is no rank 2"
        run_apart "$REFRAIN" "$verb" one two --rank 0
        expect_status 120
        expect_in "$stderr" "two: $verb takes no such word"
    done
}

@test "a rank that was not extracted: 122, with a hint" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    run_apart "$REFRAIN" replay --rank 1
    expect_status 122
    [ -z "$output" ]
    [ "$stderr" = "refrain: refrain.data/recv_wildcard-1: rank 1 was not extracted: its contents are missing
hint: refrain extract --rank 1" ]
    run_apart "$REFRAIN" replay --rank 1 refrain.data/latest
    expect_in "$stderr" "hint: refrain extract --rank 1 refrain.data/latest"
}

@test "replay --rank takes one rank, and no command" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    for list in 0,1 0-1 x 2; do
        run_apart "$REFRAIN" replay --rank "$list"
        expect_status 120
    done
    run_apart "$REFRAIN" replay --rank 0,1
    expect_in "$stderr" "replay takes one rank"
    run_apart "$REFRAIN" replay --rank 0 refrain.data/latest -- touch ran
    expect_status 120
    [ ! -e ran ]
}

@test "a start that says nothing: 122" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    "$REFRAIN" extract -q --rank 1 > extracted.text
    for text in '' '{' '{}' '{"executable": "/bin/true", "arguments": [], "directory": "/", "environment": {}}' \
        '{"executable": "/bin/true", "arguments": [1], "directory": "/", "environment": {}}'; do
        echo "$text" > refrain.data/latest/rank-1.start
        run_apart "$REFRAIN" replay --rank 1
        expect_status 122
        expect_in "$stderr" "rank-1.start: damaged"
        expect_in "$stderr" "hint: refrain extract --rank 1"
    done
    echo '{"executable": "/nowhere", "arguments": ["a"], "directory": "/", "environment": {}}' \
        > refrain.data/latest/rank-1.start
    run_apart "$REFRAIN" replay --rank 1
    expect_status 123
    expect_in "$stderr" "cannot run /nowhere in /"
}

@test "a rank alone is started as it was: directory, words, variables, preloads; nothing ties it to a launcher" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    trace=refrain.data/latest
    "$REFRAIN" extract -q --rank 1 > extracted.text
    mkdir place
    cat > show << 'END'
#!/bin/sh
pwd
printf '<%s>' "$@"
echo
env
END
    chmod +x show
    python3 - "$PWD" > $trace/rank-1.start << 'END'
import json, sys
here = sys.argv[1]
names = ("PMIX_RANK", "PMI_FD", "PMI_RANK", "OMPI_MCA_ess", "OMPI_MCA_orte_x", "OMPI_COMM_WORLD_RANK",
         "REFRAIN_KEEP", "OMPI_MCA_pml", "PROGRAM")
environment = {name: "as recorded" for name in names}
environment["PATH"] = "/usr/bin:/bin"
environment["BYTES"] = "caf\uf7e9 \uf7c3\uf7a9" # Latin 1, then UTF-8
environment["LD_PRELOAD"] = "/old/librefrain-openmpi.so:/lib/x86_64-linux-gnu/libdl.so.2"
json.dump({"executable": f"{here}/show", "arguments": ["another name", "a b", "", "$c"],
           "directory": f"{here}/place", "environment": environment}, sys.stdout)
END
    OURS=1 run_apart "$REFRAIN" replay --rank 1
    # It is no MPI program.
    expect_status 123
    expect_in "$stderr" "nothing replayed"
    expect_in "$output" "$PWD/place"
    expect_in "$output" '<a b><><$c>'
    for variable in OMPI_COMM_WORLD_RANK PMI_RANK OMPI_MCA_pml PROGRAM; do
        expect_in "$output" "$variable=as recorded"
    done
    [[ $(LC_ALL=C od -An -tx1 <<< "$output" | tr -d ' \n') =~ 42595445533d636166e920c3a90a ]]
    for variable in PMIX_RANK PMI_FD OMPI_MCA_ess= OMPI_MCA_orte_x REFRAIN_KEEP OURS; do
        [[ ! $output =~ $variable ]]
    done
    expect_in "$output" "OMPI_MCA_ess_singleton_isolated=1"
    expect_in "$output" "REFRAIN_MODE=alone"
    expect_in "$output" "REFRAIN_RANK=1"
    expect_in "$output" "REFRAIN_TRACE=$(realpath $trace)"
    [[ $output =~ LD_PRELOAD=[^:]*/(librefrain-openmpi.so|fd/[0-9]+):/lib/x86_64-linux-gnu/libdl.so.2 ]]
    # Its own status, though nothing was replayed of it.
    sed -i 's,"[^"]*/show","/bin/false",' $trace/rank-1.start
    run_apart "$REFRAIN" replay --rank 1
    expect_in "$stderr" "ended with status 1"
}

@test "debug: what cannot be: 120; no gdb: 123" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    events=$("$REFRAIN" info --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["nodes"][0]["events"])')
    run_apart "$REFRAIN" debug
    expect_status 120
    expect_in "$stderr" "--rank is missing"
    run_apart "$REFRAIN" debug --rank 0-1
    expect_status 120
    expect_in "$stderr" "debug takes one rank"
    run_apart "$REFRAIN" debug --rank 0 --event "$events"
    expect_status 120
    expect_in "$stderr" "--event $events: rank 0 has the events 0-$((events - 1))"
    expect_in "$stderr" "hint: refrain dump --rank 0"
    run_apart "$REFRAIN" debug --rank 1 --event 0
    expect_status 120
    expect_in "$stderr" "rank 1 has no events"
    run_apart "$REFRAIN" debug --rank 0 --event x
    expect_status 120
    run_apart "$REFRAIN" debug --rank 0 --event 1 --at a.c:3
    expect_status 120
    for place in a.c a.c: :3 a.c:0 a.c:x a.c:3:0 a.c:3:x; do
        run_apart "$REFRAIN" debug --rank 0 --at "$place"
        expect_status 120
        expect_in "$stderr" "--at $place: not a line of the source"
    done
    # Nothing was run for any of these, nor is it without gdb.
    mkdir bin
    run_apart env PATH="$PWD/bin" "$REFRAIN" debug --rank 0
    expect_status 123
    [ -z "$output" ]
    expect_in "$stderr" "gdb: not found in PATH"
    expect_in "$stderr" "hint: "
    [ ! -e refrain.data/latest/rank-0.start ]
}

# compile_forbidder: ./forbid COMMAND... runs it without ptrace, as in some containers.
compile_forbidder() {
    cat > forbid.c << 'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || execvp(argv[1], argv + 1);
}
END
    cc -o forbid forbid.c
}

@test "debug: where ptrace is forbidden: 123, and nothing is run" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    compile_forbidder
    run_apart ./forbid "$REFRAIN" debug --rank 0 --batch backtrace
    expect_status 123
    [ -z "$output" ]
    expect_in "$stderr" "gdb: cannot start programs here: ptrace is forbidden"
    expect_in "$stderr" "hint: refrain doctor"
    [ ! -e refrain.data/latest/rank-0.start ]
    run_apart ./forbid "$REFRAIN" doctor
    expect_status 0
    [[ $output =~ "note  ptrace    forbidden" ]]
}

@test "debug: an extraction that is killed is told of" {
    launch openmpi 2 recv_wildcard
    cat > start << END
#!/bin/sh
[ ! -e deadly ] || kill -KILL \$PPID
exec ${launch[*]}
END
    chmod +x start
    "$REFRAIN" record -q -m openmpi ./start > recorded.text
    touch deadly
    run_apart "$REFRAIN" debug -q --rank 0 --batch backtrace
    expect_status 125
    expect_in "$stderr" "refrain: nothing extracted: the extraction was ended by signal 9"
}

@test "debug: NO_COLOR reaches gdb" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    "$REFRAIN" extract -q --rank 0 > extracted.text
    for colour in 1 ''; do
        # With --batch, or without a terminal, gdb has no styles.
        printf 'show style enabled\nquit\n' > input
        NO_COLOR=$colour HOME=$PWD TERM=xterm run_apart timeout $PATIENCE script -qec \
            "'$REFRAIN' debug --rank 0" typescript < input
        expect_in "$output" "CLI output styling is $([ -n "$colour" ] && echo disabled || echo enabled)."
    done
}

@test "info says what was extracted; ls counts it, check reads it, a replay needs none of it" {
    launch openmpi 3 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    [[ ! $("$REFRAIN" info) =~ extracted ]]
    before=$("$REFRAIN" ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["bytes"])')
    for rank in 0 2; do
        printf '%2000s' "" > refrain.data/latest/rank-$rank.contents
        printf '%500s' "" > refrain.data/latest/rank-$rank.contents.tail
        printf '%100s' "" > refrain.data/latest/rank-$rank.start
    done
    # Left over by something that was killed.
    printf '%10s' "" > refrain.data/latest/rank-1.contents.new
    run_apart "$REFRAIN" info
    expect_status 0
    expect_in "$output" "extracted  ranks 0,2: 5.2 KB"
    "$REFRAIN" info --json | python3 -c '
import json, sys
assert json.load(sys.stdin)["extracted"] == [{"rank": 0, "bytes": 2600}, {"rank": 2, "bytes": 2600}]'
    run_apart "$REFRAIN" check
    expect_status 122
    expect_in "$output" "rank 0: damaged: "
    expect_in "$output" "rank-0.contents: is not a file of contents"
    expect_in "$output" "rank 1: whole"
    after=$("$REFRAIN" ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["bytes"])')
    [ $((after - before)) -eq 5210 ]
    run_apart "$REFRAIN" replay -q
    expect_status 0
}

# The whole story.

check_alone() {
    compile_sum "$1"
    record
    run_apart "$REFRAIN" extract --rank 0,2
    expect_status 0
    [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
    expect_in "$stderr" "refrain: extracted: refrain.data/sum-1: rank 0: "
    expect_in "$stderr" "refrain: extracted: refrain.data/sum-1: rank 2: "
    expect_in "$stderr" "hint: refrain debug --rank 0"
    expect_in "$("$REFRAIN" info)" "extracted  ranks 0,2: "
    [ -z "$(ls refrain.data/latest | grep -e new -e old)" ]
    for _ in 1 2 3; do
        run_apart "$REFRAIN" replay --rank 0
        expect_status 0
        [ "$output" = "$(cat recorded0.text)" ]
        expect_in "$stderr" "refrain: replayed: refrain.data/sum-1: rank 0 alone: 10 events, no difference"
    done
    run_apart "$REFRAIN" replay --rank 2 --json
    expect_status 0
    [ "$output" = "$(cat recorded2.text)" ]
    tail -n 1 <<< "$stderr" | python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["outcome"] == "same" and facts["alone"] == 2 and facts["ranks"] == 1, facts'
    # No other rank and no launcher: nothing but the one process is needed.
    run_apart env PATH=/nowhere "$REFRAIN" replay -q --rank 0
    expect_status 0
    [ "$output" = "$(cat recorded0.text)" ]
    [ -z "$stderr" ]
    run_apart "$REFRAIN" replay --rank 1
    expect_status 122
}

@test "Open MPI: an extracted rank runs alone, with the recorded output" { check_alone openmpi; }
@test "MPICH: an extracted rank runs alone, with the recorded output" { check_alone mpich; }

check_bad_extraction() {
    compile_sum "$1"
    record
    "$REFRAIN" extract -q --rank 0 > extracted.text
    before=$(cd refrain.data/latest && sha256sum rank-0.contents* rank-0.start)
    run_apart "$REFRAIN" extract --rank 0,1 refrain.data/latest -- "${launch[@]}" exit
    expect_status 121
    expect_in "$stderr" "the replay diverged"
    [ "$before" = "$(cd refrain.data/latest && sha256sum rank-0.contents* rank-0.start)" ]
    [ -z "$(ls refrain.data/latest | grep -e new -e old -e 'rank-1\.[cs]')" ]
    run_apart "$REFRAIN" replay -q --rank 0
    expect_status 0
}

@test "Open MPI: a bad extraction leaves the good one" { check_bad_extraction openmpi; }
@test "MPICH: a bad extraction leaves the good one" { check_bad_extraction mpich; }

check_crash() {
    compile_sum "$1"
    record assert
    run_apart "$REFRAIN" debug --rank 0 --batch 'print sum; print round; refrain-where'
    expect_status 0
    expect_in "$stderr" "rank 0 was not extracted yet: replaying the job once"
    expect_in "$stderr" "rank 0 stopped by SIGABRT, after 8 events"
    expect_in "$stderr" "sum.c:"
    expect_in "$output" "= 3"
    expect_in "$output" "rank 0: 8 of 8 events played"
    [[ $output =~ "last     event 7: recv, source "[12]", tag 7" ]]
    sum=$(grep -m 1 '^\$[0-9]* = ' <<< "$output")
    # The same again, now without the job.
    run_apart "$REFRAIN" debug --rank 0 --batch 'print sum'
    expect_status 0
    [[ ! $stderr =~ extracted ]]
    expect_in "$output" "${sum#* }"
    run_apart "$REFRAIN" replay --rank 0
    expect_status 134
    expect_in "$stderr" "rank 0 alone: 8 events, no difference"
    # Nothing is left behind.
    [ -z "$(pgrep -f "^$PWD/sum")" ]
}

@test "Open MPI: debug stops where an assertion fails" { check_crash openmpi; }
@test "MPICH: debug stops where an assertion fails" { check_crash mpich; }

check_places() {
    compile_sum "$1"
    record
    "$REFRAIN" extract -q --rank 0 > extracted.text
    run_apart "$REFRAIN" debug --rank 0 --event 6 --batch 'print round; print other'
    expect_status 0
    expect_in "$stderr" "rank 0 stopped, after 7 events"
    expect_in "$output" "= 3"
    expect_in "$output" "= 1"
    run_apart "$REFRAIN" debug --rank 0 --at "sum.c:$line:6" --batch 'print round
print other; print "a;b"'
    expect_status 0
    expect_in "$stderr" "sum.c:$line"
    expect_in "$output" "= 2"
    expect_in "$output" 'a;b'
    run_apart "$REFRAIN" debug --rank 0 --at "sum.c:$line:11" --batch 'print round'
    expect_status 120
    expect_in "$stderr" "--at sum.c:$line: reached 10 times"
    run_apart "$REFRAIN" debug --rank 0 --at sum.c:9999 --batch 'print round'
    expect_status 120
    expect_in "$stderr" "there is no such line"
    # Forth and back, until something fails.
    run_apart "$REFRAIN" debug --rank 0 --event 2 --batch \
        'refrain-next; refrain-where; refrain-back; refrain-where; refrain-event 9; refrain-where; refrain-event 0; refrain-where; refrain-back; refrain-where'
    expect_status 120
    expect_in "$stderr" "refrain: --batch: refrain-back: there is no event before this one"
    [ "$(grep -o '[0-9]* of 10 events' <<< "$output" | tr '\n' ' ')" = \
        "4 of 10 events 3 of 10 events 10 of 10 events 1 of 10 events " ]
    run_apart "$REFRAIN" debug --rank 0 --event 2 --batch 'print 41 + 1; print nonsense; print 43'
    expect_status 120
    expect_in "$stderr" 'refrain: --batch: print nonsense: No symbol "nonsense"'
    expect_in "$output" '= 42'
    [[ ! $output =~ 43 ]]
    run_apart "$REFRAIN" debug --rank 0 --event 2 --batch 'refrain-were; print 1'
    expect_status 120
    expect_in "$stderr" 'Undefined command: "refrain-were"'
    # Without a reason to stop it runs to its end, and there is nothing to look at.
    run_apart "$REFRAIN" debug --rank 0 --batch 'refrain-where'
    expect_status 0
    expect_in "$stderr" "rank 0 ended with status 0"
    expect_in "$stderr" "refrain: --batch: refrain-where: rank 0 is not running"
    expect_in "$output" "$(cat recorded0.text)"
}

@test "Open MPI: debug stops after an event or at a line" { check_places openmpi; }
@test "MPICH: debug stops after an event or at a line" { check_places mpich; }

# What was kept while recording plays no events: they are made anew, and counted all the same.
check_recorded() {
    compile_sum "$1"
    "$REFRAIN" record -q --scheme data "${launch[@]}" > recorded.text
    source=$("$REFRAIN" dump --rank 0 | sed -n 's/^ *0 *5 .*source \([12]\),.*/\1/p')
    for command in refrain-next refrain-back 'refrain-event 3'; do
        run_apart "$REFRAIN" debug --rank 0 --at "sum.c:$line:6" --batch "$command"
        expect_status 120
        expect_in "$stderr" "it can stop at lines, not at events"
    done
    run_apart "$REFRAIN" debug --rank 0 --at "sum.c:$line:6" --batch 'refrain-where; run; refrain-where'
    expect_status 0
    [[ ! $stderr =~ "extracted yet" ]]
    expect_in "$stderr" "rank 0 stopped, after 6 events"
    expect_in "$output" "rank 0: 6 of 10 events played"
    expect_in "$output" "in the program at sum.c:$line"
    expect_in "$output" "last     event 5: recv, source $source, tag 7"
    expect_in "$output" "rank 0: 1 of 10 events played"
    # Where an event is asked for, the rank is extracted.
    run_apart "$REFRAIN" debug --rank 0 --event 3 --batch 'refrain-where; refrain-next; refrain-where'
    expect_status 0
    expect_in "$stderr" "rank 0 was not extracted yet"
    expect_in "$output" "rank 0: 4 of 10 events played"
    expect_in "$output" "rank 0: 5 of 10 events played"
}

@test "Open MPI: debug counts events of contents that were kept while recording" { check_recorded openmpi; }
@test "MPICH: debug counts events of contents that were kept while recording" { check_recorded mpich; }

# So is how many there were before a crash.
check_recorded_crash() {
    compile_sum "$1"
    run_apart "$REFRAIN" record -q --scheme data "${launch[@]}" assert
    expect_status 134
    run_apart "$REFRAIN" replay --rank 0
    expect_status 134
    expect_in "$stderr" "rank 0 alone: 8 events, no difference; the recorded rank was ended by SIGABRT after 8 events"
    run_apart "$REFRAIN" replay --json --rank 0
    expect_in "$stderr" '"events":8,'
}

@test "Open MPI: the events before a crash are counted where contents were kept while recording" { check_recorded_crash openmpi; }
@test "MPICH: the events before a crash are counted where contents were kept while recording" { check_recorded_crash mpich; }

# The job that is replayed for the extraction reads the input, and then the rank alone does.
check_input() {
    compile "$1" reader << 'END'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, number = -1, message = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        if (scanf("%d", &number) != 1)
            number = -2;
        MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("rank %d: %d\n", rank, number);
    MPI_Finalize();
    return 0;
}
END
    printf 'not this\n17\n18\n' > input.text
    local debug=("$REFRAIN" debug --rank 0 --event 0 --batch 'print number')
    "$REFRAIN" record -q "${launch[@]}" <<< 17 > recorded.text
    # What somebody has read before stays read.
    run_apart sh -c 'IFS= read -r line; "$@"' debug "${debug[@]}" < input.text
    expect_status 0
    expect_in "$stderr" "replaying the job once"
    expect_in "$stderr" "rank 1: 17"
    expect_in "$output" '= 17'
    # A pipe cannot be read twice.
    rm refrain.data/latest/rank-0.contents* refrain.data/latest/rank-0.start
    echo 17 > input.text
    run_apart sh -c 'cat input.text | "$@"' debug "${debug[@]}"
    expect_status 0
    expect_in "$stderr" "rank 1: 17"
    expect_in "$stderr" "refrain: standard input is a pipe, which the replay of the job has read"
    expect_in "$output" '= -2'
    # Then there is nothing to be read twice.
    run_apart sh -c 'cat input.text | "$@"' debug "${debug[@]}"
    expect_in "$output" '= 17'
    [[ ! $stderr =~ "standard input" ]]
    rm refrain.data/latest/rank-0.contents* refrain.data/latest/rank-0.start
    run_apart "${debug[@]}" < /dev/null
    expect_in "$stderr" "replaying the job once"
    [[ ! $stderr =~ "standard input" ]]
}

@test "Open MPI: debug leaves the input to the rank" { check_input openmpi; }
@test "MPICH: debug leaves the input to the rank" { check_input mpich; }

check_fortran() {
    launch "$1" 3 fortran_mpif
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    run_apart "$REFRAIN" debug -q --rank 0 --event 2 --batch 'refrain-where; refrain-next; refrain-where'
    expect_status 0
    expect_in "$output" "rank 0: 3 of "
    expect_in "$output" "in the program at fortran_mpif.f90:"
    expect_in "$output" "rank 0: 4 of "
}

@test "Open MPI: debug finds events in Fortran" { check_fortran openmpi; }
@test "MPICH: debug finds events in Fortran" { check_fortran mpich; }

# An exception that nobody catches, in C++, and the variable that is to blame.
check_exception() {
    cat > thrown.cpp << 'END'
#include <mpi.h>
#include <stdexcept>

int main(int argc, char **argv) {
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; rank == 0 && i < size; i++) {
        int value;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum = 10 * sum + value;
    }
    if (rank == 0)
        throw std::runtime_error("the sum is wrong");
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
END
    "mpicxx.$1" -g -O0 -DOMPI_SKIP_MPICXX -o thrown thrown.cpp
    launch=("mpirun.$1" -n 3 ./thrown)
    record
    order=$("$REFRAIN" dump --rank 0 | sed -n 's/.*source \([12]\),.*/\1/p' | tr -d '\n')
    run_apart "$REFRAIN" debug --rank 0 --batch 'print sum'
    expect_status 0
    expect_in "$stderr" "rank 0 stopped by SIGABRT"
    expect_in "$stderr" "thrown.cpp:15"
    [[ $output =~ "= $order"$ ]]
    run_apart "$REFRAIN" replay --rank 0
    expect_status 134
}

@test "Open MPI: debug stops at an exception of C++" { check_exception openmpi; }
@test "MPICH: debug stops at an exception of C++" { check_exception mpich; }

check_ends() {
    compile_sum "$1"
    record exit
    run_apart "$REFRAIN" debug --rank 0 --batch 'print round'
    expect_status 0
    expect_in "$stderr" "rank 0 is about to end with status 9, after 8 events"
    expect_in "$output" "= 3"
    run_apart "$REFRAIN" replay --rank 0
    expect_status 9
    expect_in "$stderr" "no difference; the recorded rank exited with status 9 without MPI_Finalize"
}

@test "Open MPI: debug stops before an exit" { check_ends openmpi; }
@test "MPICH: debug stops before an exit" { check_ends mpich; }

check_diverged() {
    compile_sum "$1"
    record
    "$REFRAIN" extract -q --rank 0 > extracted.text
    # As if the program depended on something that is not recorded.
    python3 - refrain.data/latest/rank-0.start << 'END'
import json, sys
start = json.load(open(sys.argv[1]))
start["arguments"].append("exit")
json.dump(start, open(sys.argv[1], "w"))
END
    mkdir run
    TMPDIR=$PWD/run run_apart "$REFRAIN" replay --rank 0
    expect_status 121
    expect_in "$stderr" "the replay diverged: rank 0, event 8"
    TMPDIR=$PWD/run run_apart "$REFRAIN" debug --rank 0 --batch 'print round'
    expect_status 121
    expect_in "$stderr" "rank 0 differs from its recording here"
    expect_in "$stderr" "the replay diverged: rank 0, event 8"
    expect_in "$output" "= 3"
    [ -z "$(ls run)" ]
}

@test "Open MPI: a rank alone that differs is reported" { check_diverged openmpi; }
@test "MPICH: a rank alone that differs is reported" { check_diverged mpich; }
