#!/usr/bin/env bats
# A replay that differs from its recording says where and how, ends the job, and exits with 121. The
# program is tests/programs/branch, whose ways to differ are chosen by PROGRAM_BRANCH.

load common

# Records the undisturbed program, in a copy whose processes can be told from all others.
record_branch() {
    launch "$1" 4 branch
    cp "${launch[3]}" branch
    launch[3]=$PWD/branch
    "$REFRAIN" record -q -o trace "${launch[@]}" > recorded.text 2> recorder.text
    mkdir run
}

# replay_apart OPTION...: with the run directory where the test can see it.
replay_apart() {
    TMPDIR=$PWD/run run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay "$@"
}

# check_branch MPI BRANCH RANK TEXT...: a rank that matches RANK, its event and every TEXT are in the
# report.
check_branch() {
    local mpi=$1 branch=$2 rank=$3
    shift 3
    record_branch "$mpi"
    PROGRAM_BRANCH=$branch replay_apart --stall-timeout 0 trace
    expect_status 121
    [[ $stderr =~ "refrain: the replay diverged: rank "($rank)", event "([0-9]+)": " ]]
    rank=${BASH_REMATCH[1]} event=${BASH_REMATCH[2]}
    for text in "$@"; do
        expect_in "$stderr" "$text"
    done
    expect_in "$stderr" "  expected  "
    expect_in "$stderr" "  likely "
    # The senders have checks only, which are shown when asked for.
    if [ "$rank" -eq 0 ]; then
        expect_in "$stderr" "hint: refrain dump --rank 0 trace"
    else
        [[ $stderr =~ "  expected  the same "[0-9]+" calls as recorded; no decision is left, the rank finished" ]]
        expect_in "$stderr" "hint: refrain dump --all --rank $rank trace"
    fi
    expect_nothing_left
}

# expect_event KIND FUNCTION: this is what dump shows under the number of the report.
expect_event() {
    "$REFRAIN" dump --rank 0 trace | grep -E "^ +0 +$event +$1 +$2 "
}

line_of() {
    grep -n -m 1 "$1" "$SOURCES/tests/programs/branch.c" | cut -d: -f1
}

# check_json MPI: what a person is told a script gets, of a replay and of an extraction.
check_json() {
    record_branch "$1"
    for branch in count tag; do
        for verb in replay "extract --rank 0"; do
            # shellcheck disable=SC2086
            PROGRAM_BRANCH=$branch run_apart timeout -k 5 $PATIENCE "$REFRAIN" $verb --json --stall-timeout 0 trace
            expect_status 121
            tail -n 1 <<< "$stderr" > $branch.json
            python3 - "${verb% --rank 0}" $branch "$(line_of MPI_Waitany)" "$(line_of 'MPI_Send(&word')" << 'END'
import json, sys
verb, branch, wait, send = sys.argv[1:]
facts = json.load(open(f"{branch}.json"))
assert facts["outcome"] == "diverged" and facts["status"] == 121 and facts["difference"]
assert facts[verb + "ed"] == "trace" and (verb == "replay" or facts["ranks"] == [])
expected, came = facts["expected"], facts["came"]
if branch == "count":
    assert facts["rank"] == 0 and {call["function"] for call in facts["before"]} == {"MPI_Irecv"}
    assert expected["function"] == came["function"] == "MPI_Waitany"
    assert expected["at"] == came["at"] == f"branch.c:{wait}" and "index" in expected["detail"]
else:
    assert facts["rank"] == 1 and facts["before"] == []
    assert expected["detail"].startswith("the same ") and expected["end"] == "finished"
    assert came["function"] == "MPI_Send" and came["at"] == f"branch.c:{send}"
END
        done
    done
    PROGRAM_BRANCH=tag run_apart "$REFRAIN" extract -q --rank 0 --json trace
    expect_status 121
    [[ $stderr != *"{"* ]]
}

@test "Open MPI: the facts of a difference" { check_json openmpi; }
@test "MPICH: the facts of a difference" { check_json mpich; }

# Sender and receiver differ at about the same time: either may be the first.
more() { check_branch "$1" more "[01]" "  came " "branch.c:"; }
less() { check_branch "$1" less "[01]" "  came "; }
tag() { check_branch "$1" tag 1 "  came      MPI_Send at branch.c:$(line_of 'MPI_Send(&word')"; }
count() {
    local wait
    wait="MPI_Waitany at branch.c:$(line_of MPI_Waitany)"
    check_branch "$1" count 0 "the program passes 4 requests, recorded were 3" "  expected  $wait" \
        "  came      $wait"
    [ "$event" -eq 3 ]
    expect_event index MPI_Waitany
}
function_() {
    check_branch "$1" function 0 "MPI_Recv at branch.c:$(line_of 'MPI_Recv(&word')" \
        "  came      MPI_Probe at branch.c:$(line_of MPI_Probe)" "  before "
    expect_event recv MPI_Recv
}
receive() {
    check_branch "$1" receive 0 "  expected  MPI_Irecv at branch.c:$(line_of 'MPI_Irecv(&words')" \
        "  came      MPI_Irecv at branch.c:$(line_of 'MPI_Irecv(&spare')"
    [ "$event" -eq 0 ]
    expect_event post MPI_Irecv
}
endless() {
    check_branch "$1" endless 0 "  came      MPI_Recv at branch.c:$(line_of 'MPI_ANY_SOURCE, 99')"
}

@test "Open MPI: one message more" { more openmpi; }
@test "MPICH: one message more" { more mpich; }
@test "Open MPI: one message less" { less openmpi; }
@test "MPICH: one message less" { less mpich; }
@test "Open MPI: another tag" { tag openmpi; }
@test "MPICH: another tag" { tag mpich; }
@test "Open MPI: another number of requests" { count openmpi; }
@test "MPICH: another number of requests" { count mpich; }
@test "Open MPI: another function" { function_ openmpi; }
@test "MPICH: another function" { function_ mpich; }
@test "Open MPI: one receive more" { receive openmpi; }
@test "MPICH: one receive more" { receive mpich; }
@test "Open MPI: a receive for which nobody sends" { endless openmpi; }
@test "MPICH: a receive for which nobody sends" { endless mpich; }

lines() {
    if [ -e "$1" ]; then wc -l < "$1"; else echo 0; fi
}

# The recording is of a job in which rank 0 waits for ever: so does the replay, without a difference.
stall() {
    launch "$1" 4 branch endless
    cp "${launch[3]}" branch
    launch[3]=$PWD/branch
    mkdir log run
    PROGRAM_LOG=$PWD/log "$REFRAIN" record -q -o trace "${launch[@]}" > recorded.text 2> recorder.text &
    recorder=$!
    # Three messages are taken by wait-any (5 lines each), the others one by one (4 lines each).
    until [ "$(lines log/rank-0.log)" -ge $((1 + 3 * 5 + 21 * 4)) ]; do
        sleep 0.05
    done
    kill -TERM $recorder
    wait $recorder || [ $? -eq 143 ]
    replay_apart --stall-timeout 3 trace
    expect_status 121
    expect_in "$stderr" "refrain: the replay stands still"
    expect_in "$stderr" "  rank 0 "
    expect_in "$stderr" "MPI_Recv at branch.c:$(line_of 'MPI_ANY_SOURCE, 99')"
    expect_nothing_left
}

@test "Open MPI: an endless wait ends with the stall timeout" { stall openmpi; }
@test "MPICH: an endless wait ends with the stall timeout" { stall mpich; }

ranks() {
    record_branch "$1"
    for number in 5 3; do
        launch[2]=$number
        replay_apart --stall-timeout 0 trace -- "${launch[@]}"
        expect_status 121
        expect_in "$stderr" "the program runs with $number ranks, recorded were 4"
        expect_in "$stderr" "the command differs"
        expect_nothing_left
    done
}

@test "Open MPI: another number of ranks" { ranks openmpi; }
@test "MPICH: another number of ranks" { ranks mpich; }

arguments() {
    record_branch "$1"
    replay_apart --stall-timeout 0 trace -- "${launch[@]}" function
    expect_status 121
    expect_in "$stderr" "MPI_Probe at branch.c:"
    expect_in "$stderr" "the command differs: recorded was: ${launch[*]}"
    expect_nothing_left
    # An argument that changes nothing is none of our business.
    replay_apart -q trace -- "${launch[@]}" harmless
    expect_status 0
    [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
}

@test "Open MPI: other arguments" { arguments openmpi; }
@test "MPICH: other arguments" { arguments mpich; }

program() {
    record_branch "$1"
    cp "$PROGRAMS/$1/recv_wildcard" other
    replay_apart --stall-timeout 0 trace -- "${launch[@]:0:3}" "$PWD/other"
    expect_status 121
    expect_in "$stderr" "  came      MPI_Recv at recv_wildcard.c:"
    expect_in "$stderr" "MPI_Irecv at branch.c:"
    expect_in "$stderr" "the command differs"
    expect_nothing_left
}

@test "Open MPI: another program" { program openmpi; }
@test "MPICH: another program" { program mpich; }

# The calls are the same, whatever the compiler made of the rest.
rebuilt() {
    command -v "mpicc.$1" > /dev/null || skip "no compiler for $1"
    record_branch "$1"
    for flags in "-O0 -g" "-O3 -fno-inline" "-O1 -g3 -fno-omit-frame-pointer -DNDEBUG"; do
        # shellcheck disable=SC2086 # a list of words
        "mpicc.$1" $flags -o branch "$SOURCES/tests/programs/branch.c"
        replay_apart trace
        expect_status 0
        [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
        expect_in "$stderr" "no difference"
    done
}

@test "Open MPI: a rebuilt program replays" { rebuilt openmpi; }
@test "MPICH: a rebuilt program replays" { rebuilt mpich; }

# other_mpi RECORDED USED
other_mpi() {
    launch "$2" 4 branch
    local other=("${launch[@]}")
    record_branch "$1"
    replay_apart trace -- "${other[@]}"
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "the trace was recorded with "
    expect_nothing_left
}

@test "Open MPI: a trace of MPICH is refused" { other_mpi mpich openmpi; }
@test "MPICH: a trace of Open MPI is refused" { other_mpi openmpi mpich; }
