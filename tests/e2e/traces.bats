#!/usr/bin/env bats
# Where traces are looked for, and what is said of those that are missing, foreign or damaged.
# Needs no MPI.

load common

# A trace whose manifest is good and that holds no rank.
make_empty_trace() {
    mkdir -p "$1"
    cat > "$1/manifest.json" << 'END'
{"format": 1, "refrain": "0.1.0", "state": "recording", "command": ["mpirun", "-n", "2", "./app"],
 "directory": "/", "environment": {}, "mpi": {"name": "openmpi"}, "scheme": "order",
 "started": "2024-02-29T12:00:00Z"}
END
}

@test "no trace here: 122 for every verb that needs one" {
    for verb in replay info dump check; do
        run_apart "$REFRAIN" $verb
        expect_status 122
        [ "$stderr" = "refrain: no trace here: refrain.data/latest does not exist
hint: refrain record mpirun -n 4 ./program" ]
    done
}

@test "a trace that does not exist: 122" {
    for verb in replay info dump check; do
        run_apart "$REFRAIN" $verb nowhere
        expect_status 122
        expect_in "$stderr" "refrain: nowhere: no such trace"
    done
}

@test "a file instead of a directory: 122" {
    touch file
    for verb in replay info dump check; do
        run_apart "$REFRAIN" $verb file
        expect_status 122
        expect_in "$stderr" "refrain: file: not a trace: a trace is a directory"
    done
}

@test "a directory without manifest: 122" {
    mkdir other
    for verb in replay info dump check; do
        run_apart "$REFRAIN" $verb other
        expect_status 122
        expect_in "$stderr" "not a trace"
    done
}

@test "a damaged manifest: 122, with the line" {
    mkdir broken
    printf '{"format": 1,\n "refrain"' > broken/manifest.json
    run_apart "$REFRAIN" info broken
    expect_status 122
    expect_in "$stderr" "manifest.json is damaged: line 2"
    echo '{"format": 1}' > broken/manifest.json
    run_apart "$REFRAIN" info broken
    expect_status 122
    for text in '[]' '{}'; do
        echo "$text" > broken/manifest.json
        run_apart "$REFRAIN" replay broken
        expect_status 122
        expect_in "$stderr" "manifest.json is damaged: it "
        expect_in "$stderr" "hint: refrain check broken"
        run_apart "$REFRAIN" check broken
        expect_status 122
        expect_in "$output" "manifest: damaged: "
        expect_in "$stderr" "holds no rank"
    done
}

@test "hints name the trace that was named" {
    make_empty_trace here
    run_apart "$REFRAIN" debug here
    [ "$(tail -n 1 <<< "$stderr")" = "hint: refrain debug --rank 0 here" ]
    run_apart "$REFRAIN" debug --rank 0 --at nowhere here
    [ "$(tail -n 1 <<< "$stderr")" = "hint: refrain debug --rank 0 --at work.c:33 here" ]
    run_apart "$REFRAIN" extract here
    [ "$(tail -n 1 <<< "$stderr")" = "hint: refrain extract --rank 0 here" ]
}

@test "a manifest of another version: 122, named" {
    make_empty_trace trace
    sed -i 's/"format": 1/"format": 99/' trace/manifest.json
    run_apart "$REFRAIN" replay trace
    expect_status 122
    expect_in "$stderr" "format 99 is of another version"
}

@test "a trace without ranks: 122" {
    make_empty_trace trace
    for verb in replay info dump check; do
        run_apart "$REFRAIN" $verb trace
        expect_status 122
        expect_in "$stderr" "holds no rank"
    done
}

@test "a foreign file of a rank: 122, named" {
    make_empty_trace trace
    head -c 1000 /dev/urandom > trace/rank-0.trace
    for verb in replay info dump check; do
        run_apart "$REFRAIN" $verb trace
        expect_status 122
        expect_in "$output$stderr" "rank-0.trace"
    done
}

@test "latest is found, a folder of traces stands for its latest" {
    make_empty_trace refrain.data/app-1
    ln -s app-1 refrain.data/latest
    run_apart "$REFRAIN" info
    expect_in "$output" "trace      refrain.data/app-1"
    run_apart "$REFRAIN" info refrain.data
    expect_in "$output" "trace      refrain.data/app-1"
}

@test "REFRAIN_DIR is another folder of traces" {
    make_empty_trace elsewhere/app-7
    ln -s app-7 elsewhere/latest
    REFRAIN_DIR=elsewhere run_apart "$REFRAIN" info
    expect_in "$output" "trace      elsewhere/app-7"
    REFRAIN_DIR=elsewhere run_apart "$REFRAIN" ls
    expect_status 0
    expect_in "$output" "* elsewhere/app-7"
}

@test "ls: nothing, then traces, marked and in order; as JSON" {
    run_apart "$REFRAIN" ls
    expect_status 0
    [ -z "$output" ]
    expect_in "$stderr" "no traces in refrain.data"
    make_empty_trace refrain.data/app-2
    make_empty_trace refrain.data/app-1
    sed -i 's/02-29/03-01/' refrain.data/app-1/manifest.json
    ln -s app-1 refrain.data/latest
    mkdir refrain.data/unrelated
    run_apart "$REFRAIN" ls
    expect_status 0
    [ "$(echo "$output" | wc -l)" -eq 3 ]
    expect_in "$(echo "$output" | sed -n 2p)" "  refrain.data/app-2  recording"
    expect_in "$(echo "$output" | sed -n 3p)" "* refrain.data/app-1  recording"
    expect_in "$output" "mpirun -n 2 ./app"
    run_apart "$REFRAIN" ls --json
    expect_status 0
    [ "$(echo "$output" | python3 -c 'import json,sys; print([t["latest"] for t in json.load(sys.stdin)])')" = "[False, True]" ]
}

# What the state of the only trace is.
expect_state() {
    run_apart "$REFRAIN" ls
    expect_status 0
    expect_in "$output" " refrain.data/app-1  $1 "
    run_apart "$REFRAIN" ls --json
    expect_in "$output" "\"state\": \"$1\""
}

@test "ls: a trace that lacks a file is not complete" {
    make_empty_trace refrain.data/app-1
    sed -i 's/"state": "recording"/"state": "complete", "ranks": 2/' refrain.data/app-1/manifest.json
    expect_state damaged
    touch refrain.data/app-1/rank-0.trace
    expect_state damaged
    touch refrain.data/app-1/rank-1.tail
    expect_state complete
    sed -i 's/"ranks": 2/"ranks": 2, "thread_logs": [1]/' refrain.data/app-1/manifest.json
    expect_state damaged
    touch refrain.data/app-1/rank-1.threads
    expect_state complete
}

@test "what a terminal would obey is not printed as it is" {
    name=$'refrain.data/a\e[31mb\nc\xc2\x9bd'
    make_empty_trace "$name"
    sed -i 's/"directory": "[^"]*"/"directory": "\/tmp\/\\u001b[2J"/' "$name/manifest.json"
    shown='refrain.data/a\x1b[31mb\nc\xc2\x9bd'
    run_apart "$REFRAIN" ls
    expect_in "$output" "$shown  recording"
    [ "$(wc -l <<< "$output")" -eq 2 ]
    run_apart "$REFRAIN" ls --json
    [ "$(python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["trace"])' <<< "$output")" = "$name" ]
    run_apart "$REFRAIN" info "$name"
    expect_in "$output" "trace      $shown"
    expect_in "$output" 'directory  /tmp/\x1b[2J'
    expect_in "$stderr" "$shown: the trace holds no rank"
    run_apart "$REFRAIN" doctor -- $'./a\e[31mb'
    [[ ! $output$stderr == *$'\e'* ]]
    # A hint is for a shell, which knows what it means.
    run_apart "$REFRAIN" extract "$name"
    expect_in "$stderr" "hint: refrain extract --rank 0 \$'$shown'"
    [ "$(eval "printf %s \$'$shown'")" = "$name" ]
}

@test "what cannot be printed: 123" {
    run_apart sh -c '"$0" ls --json > /dev/full' "$REFRAIN"
    expect_status 123
    expect_in "$stderr" "refrain: cannot write to standard output: No space left on device"
}

@test "info --json is JSON even for an empty trace" {
    make_empty_trace trace
    run_apart "$REFRAIN" info --json trace
    expect_status 122
    echo "$output" | python3 -c 'import json,sys; assert json.load(sys.stdin)["events"] == 0'
}

@test "what a terminal would obey is not printed as it is: names of source files" {
    compile mpich $'a\e[31mb' << 'END'
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else if (argc == 1)
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    return 0;
}
END
    run_apart "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 3
    run_apart "$REFRAIN" dump --rank 0 trace
    expect_in "$output" ' a\x1b[31mb.c:9 '
    [[ ! $output =~ $'\e' ]]
    run_apart "$REFRAIN" info trace
    [[ ! $output =~ $'\e' ]]
    run_apart "$REFRAIN" replay trace -- "${launch[@]}" other
    expect_status 121
    expect_in "$stderr" 'MPI_Recv at a\x1b[31mb.c:9'
    expect_in "$stderr" 'came      MPI_Probe at a\x1b[31mb.c:11'
    [[ ! $stderr =~ $'\e' ]]
}

# On a terminal. More than fits into a pipe, so that the reader leaves too early.
@test "a pager that is left early is no error" {
    "$REFRAIN" record -q --threads -o trace "$PROGRAMS/threads/churn" > /dev/null
    [ "$("$REFRAIN" dump trace | wc -c)" -gt 200000 ]
    run env PAGER="head -n 1" script -qec "'$REFRAIN' dump trace" /dev/null
    expect_status 0
    [ "$(wc -l <<< "$output")" -eq 1 ]
}

@test "without less, more shows what is long" {
    "$REFRAIN" record -q --threads -o trace "$PROGRAMS/threads/create" > /dev/null
    mkdir path
    ln -s "$(command -v cat)" path/more # which would wait for a key
    ln -s "$(command -v script)" "$(command -v sh)" path
    run env -u PAGER TERM=dumb PATH="$PWD/path" script -qec "'$REFRAIN' info trace" /dev/null < /dev/null
    expect_status 0
    expect_in "$output" "threads/create"
}
