#!/usr/bin/env bats
# Replaying: the same result, or a report that says why not.

load common

record() {
    "$REFRAIN" record -q "${launch[@]}" > recorded.text 2> recorder.text
}

check_same() {
    launch "$1" 4 recv_wildcard
    record
    for _ in 1 2 3; do
        run_apart "$REFRAIN" replay -q
        expect_status 0
        [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
        [ -z "$stderr" ]
    done
    run_apart "$REFRAIN" replay
    expect_in "$stderr" "refrain: replayed: refrain.data/recv_wildcard-1: "
    expect_in "$stderr" "4 ranks, no difference"
}

@test "Open MPI: every replay gives the recorded output" { check_same openmpi; }
@test "MPICH: every replay gives the recorded output" { check_same mpich; }

check_elsewhere() {
    launch "$1" 2 recv_wildcard
    cp "${launch[3]}" app
    "$REFRAIN" record -q "mpirun.$1" -n 2 ./app > recorded.text
    trace=$PWD/refrain.data/app-1
    mkdir deep
    cd deep
    PATH=$PATH:/nowhere run_apart "$REFRAIN" replay -q "$trace"
    expect_status 0
}

@test "Open MPI: a replay runs in the recorded directory" { check_elsewhere openmpi; }
@test "MPICH: a replay runs in the recorded directory" { check_elsewhere mpich; }

check_divergence() {
    launch "$1" 3 branch
    cp "${launch[3]}" branch
    launch[3]=$PWD/branch
    mkdir run
    record
    export PROGRAM_BRANCH=$2
    TMPDIR=$PWD/run run_apart "$REFRAIN" replay --stall-timeout 5
    expect_status 121
    expect_in "$stderr" "refrain: the replay "
    expect_in "$stderr" "branch.c:"
    expect_in "$stderr" "  likely "
    expect_in "$stderr" "hint: refrain "
    # Nothing is left behind.
    [ -z "$(pgrep -f "^$PWD/branch")" ]
    [ -z "$(ls run)" ]
}

@test "Open MPI: another number of messages is reported" { check_divergence openmpi more; }
@test "MPICH: another number of messages is reported" { check_divergence mpich more; }
@test "Open MPI: another function is reported" { check_divergence openmpi function; }
@test "MPICH: another function is reported" { check_divergence mpich function; }
@test "Open MPI: another number of requests is reported" { check_divergence openmpi count; }
@test "MPICH: another number of requests is reported" { check_divergence mpich count; }

check_other_size() {
    launch "$1" 3 recv_wildcard
    record
    launch "$1" 2 recv_wildcard
    run_apart "$REFRAIN" replay refrain.data/latest -- "${launch[@]}"
    expect_status 121
    expect_in "$stderr" "the number of ranks differs: recorded were 3, now there are 2"
    expect_in "$stderr" "the command differs"
}

@test "Open MPI: another number of ranks is reported" { check_other_size openmpi; }
@test "MPICH: another number of ranks is reported" { check_other_size mpich; }

check_stall() {
    record_endless "$1"
    # However far the recording came: from its end on the replay runs free, and into the same end.
    kill -TERM $recorder
    wait $recorder || [ $? -eq 143 ]
    run_apart "$REFRAIN" replay --stall-timeout 1
    expect_status 121
    expect_in "$stderr" "the replay stands still"
    expect_in "$stderr" "  rank 0 "
    expect_in "$stderr" "  rank 1 "
    expect_in "$stderr" "branch.c:"
}

@test "Open MPI: a replay that stands still says where" { check_stall openmpi; }
@test "MPICH: a replay that stands still says where" { check_stall mpich; }

# Functions of which nothing is recorded may block like any other.
check_unrecorded_stall() {
    compile "$1" opening <<'PROGRAM'
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Comm comms[2];
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_File_open(comms[getenv("APART") ? rank : 0], "file", MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
    MPI_File_close(&file);
    MPI_Finalize();
}
PROGRAM
    "$REFRAIN" record -q "${launch[@]}"
    APART=1 run_apart timeout -k 5 60 "$REFRAIN" replay --stall-timeout 1
    expect_status 121
    expect_in "$stderr" "the replay stands still"
    expect_in "$stderr" "waits in MPI_File_open at opening.c:12"
}

@test "Open MPI: a function that is not recorded stands still" { check_unrecorded_stall openmpi; }
@test "MPICH: a function that is not recorded stands still" { check_unrecorded_stall mpich; }

@test "a rank that has played all and does not end is named" {
    compile mpich lasting <<'PROGRAM'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    sleep(getenv("LASTS") ? 3 : 0);
}
PROGRAM
    "$REFRAIN" record -q "${launch[@]}"
    LASTS=1 run_apart timeout -k 5 60 "$REFRAIN" replay --stall-timeout 1
    expect_status 0
    expect_in "$stderr" "rank 0 has played its recording to the end, but has not ended for 1 second since"
    expect_in "$stderr" "rank 1 has played"
}

@test "a replay that is told to end does so, even if its command does not" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    "$REFRAIN" replay refrain.data/latest -- sh -c 'trap "" TERM; touch deaf; sleep 45' 2> replay.text &
    local replay=$!
    until [ -e deaf ]; do
        sleep 0.05
    done
    kill -TERM $replay
    SECONDS=0
    status=0
    wait $replay || status=$?
    expect_status 123
    [ $SECONDS -lt 40 ]
    expect_in "$(cat replay.text)" "the command ended with status 137"
}

# As Ctrl-Z and fg do it. A pipe keeps both ranks waiting for as long as the test wants.
@test "time during which everything was stopped is no stall" {
    compile openmpi pipe <<'PROGRAM'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, word = 0;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        fclose(fopen("waiting", "w"));
        MPI_File_open(MPI_COMM_SELF, "pipe", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
PROGRAM
    mv pipe program
    mkfifo pipe
    sleep 60 > pipe &
    local writer=$!
    "$REFRAIN" record -q mpirun.openmpi -n 2 ./program
    kill $writer
    rm waiting
    "$REFRAIN" replay --stall-timeout 2 2> replay.text &
    local replay=$!
    until [ -e waiting ]; do
        sleep 0.05
    done
    sleep 0.3
    kill -STOP $replay
    sleep 2.5
    kill -CONT $replay
    sleep 0.3
    sleep 60 > pipe &
    writer=$!
    local status=0
    wait $replay || status=$?
    kill $writer
    [ $status -eq 0 ] || cat replay.text
    [ $status -eq 0 ]
}

@test "a file of a rank from the other MPI, and a manifest with another word: 122" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q -o other "${launch[@]}" > /dev/null
    launch mpich 2 recv_wildcard
    "$REFRAIN" record -q -o trace "${launch[@]}" > /dev/null
    cp -r trace mixed
    cp other/rank-1.trace mixed
    for verb in check replay; do
        run_apart "$REFRAIN" $verb mixed
        expect_status 122
        expect_in "$output$stderr" "rank-1.trace: was recorded with Open MPI, the trace with MPICH"
    done
    sed -i 's/"order"/"orddr"/' trace/manifest.json
    for verb in check replay info; do
        run_apart "$REFRAIN" $verb trace
        expect_status 122
        expect_in "$stderr" "manifest"
    done
}

@test "a trace of the other MPI: 122, nothing run" {
    launch mpich 2 recv_wildcard
    record
    launch openmpi 2 recv_wildcard
    run_apart "$REFRAIN" replay refrain.data/latest -- "${launch[@]}"
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "the trace was recorded with MPICH, but the command uses Open MPI"
    expect_in "$stderr" "hint: refrain info refrain.data/latest"
    run_apart "$REFRAIN" replay -m openmpi
    expect_status 122
}

@test "a damaged trace: refused before anything is run; what precedes the damage is readable" {
    launch openmpi 3 recv_wildcard
    record
    file=refrain.data/latest/rank-1.trace
    size=$(stat -c %s "$file")
    printf '\xff\xff\xff\xff' | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc 2> dd.text
    run_apart "$REFRAIN" replay
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "rank-1.trace"
    run_apart "$REFRAIN" check
    expect_status 122
    expect_in "$output" "rank 0: whole"
    expect_in "$output" "rank 1: damaged"
    expect_in "$output" "rank 2: whole"
    run_apart "$REFRAIN" dump
    expect_status 122
    [[ $output =~ $'\n'\ +2\ +[0-9]+\ +end\ +finished ]]
    run_apart "$REFRAIN" info
    expect_status 122
    expect_in "$output" "ranks      3"
}

@test "a damaged manifest: 122, and the ranks are readable" {
    launch openmpi 3 recv_wildcard
    record
    "$REFRAIN" dump > whole.text
    truncate -s 40 refrain.data/latest/manifest.json
    run_apart "$REFRAIN" replay
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "manifest.json is damaged"
    run_apart "$REFRAIN" check refrain.data/latest
    expect_status 122
    expect_in "$output" "manifest: damaged: $(realpath refrain.data/latest)/manifest.json is damaged: line "
    expect_in "$output" "rank 0: whole"
    expect_in "$output" "rank 2: whole"
    expect_in "$stderr" "the manifest is damaged; 3 of 3 ranks are whole"
    run_apart "$REFRAIN" check --json
    expect_status 122
    python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["manifest"] == "damaged" and not facts["whole"] and "manifest.json" in facts["damage"], facts
assert [rank["state"] for rank in facts["ranks"]] == 3 * ["whole"], facts' <<< "$output"
    run_apart "$REFRAIN" dump
    expect_status 122
    [ "$output" = "$(cat whole.text)" ]
    expect_in "$stderr" "manifest.json is damaged"
}

@test "the recorded directory is gone: 123, nothing run" {
    launch openmpi 2 recv_wildcard
    mkdir 'a place'
    (cd 'a place' && "$REFRAIN" record -q -o ../trace "${launch[@]}" > recorded.text)
    rm -r 'a place'
    run_apart "$REFRAIN" replay trace
    expect_status 123
    [ -z "$output" ]
    [ "$stderr" = "refrain: $PWD/a place: the directory of the recorded run cannot be entered: No such file or directory
hint: mkdir -p '$PWD/a place'" ]
}

@test "a missing file of a rank: 122, nothing run" {
    launch openmpi 3 recv_wildcard
    record
    rm refrain.data/latest/rank-1.*
    run_apart "$REFRAIN" replay
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "the file of rank 1 is missing: the program had 3 ranks"
    run_apart "$REFRAIN" check
    expect_status 122
    expect_in "$output" "rank 1: missing"
}

@test "dump: every event, chosen ranks, limits, JSON" {
    launch openmpi 3 recv_wildcard
    record
    run_apart "$REFRAIN" dump
    expect_status 0
    expect_in "$output" "MPI_Recv"
    expect_in "$output" "recv_wildcard.c:"
    expect_in "$output" "finished"
    run_apart "$REFRAIN" dump --all --rank 1-2 --limit 2
    expect_status 0
    [ "$(echo "$output" | wc -l)" -eq 5 ]
    run_apart "$REFRAIN" dump --json
    expect_status 0
    echo "$output" | python3 -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
assert any(e["kind"] == "recv" and e["source"] in (1, 2) for e in events)
assert {e["rank"] for e in events} == {0, 1, 2}'
    # Signatures are hidden, and have no number.
    run_apart "$REFRAIN" dump --rank 0
    [[ ! $output =~ " check " ]]
    run_apart "$REFRAIN" dump --rank 0 --all
    [[ $output =~ $'\n    0            check  ' ]]
    for list in 3 0-3 1- -1 a 0,,1 2-1 99999999999999999999; do
        run_apart "$REFRAIN" dump --rank "$list"
        expect_status 120
    done
    run_apart "$REFRAIN" dump --rank 9
    [ "$(tail -n 1 <<< "$stderr")" = "hint: refrain info" ]
    mv refrain.data 'my data'
    run_apart "$REFRAIN" dump --rank 9 'my data/latest'
    [ "$(tail -n 1 <<< "$stderr")" = "hint: refrain info 'my data/latest'" ]
    run_apart "$REFRAIN" dump --rank a 'my data/latest'
    [ "$(tail -n 1 <<< "$stderr")" = "hint: refrain dump --rank 0,3,8-11 'my data/latest'" ]
}

@test "events are decisions: record, replay, info and dump agree" {
    launch openmpi 3 recv_wildcard
    run_apart "$REFRAIN" record --json "${launch[@]}"
    expect_status 0
    tail -n 1 <<< "$stderr" > record.json
    run_apart "$REFRAIN" replay --json
    expect_status 0
    tail -n 1 <<< "$stderr" > replay.json
    "$REFRAIN" info --json > info.json
    "$REFRAIN" dump --json > dump.json
    "$REFRAIN" dump --json --all > all.json
    python3 - << 'END'
import json
record, replay, info = (json.load(open(f"{name}.json")) for name in ("record", "replay", "info"))
dump = [json.loads(line) for line in open("dump.json")]
decisions = sum(event.get("times", 1) for event in dump if event["kind"] != "end")
# Every decision has the next number of its rank, and the end the number of them all.
for rank in range(3):
    number = 0
    for event in dump:
        if event["rank"] == rank:
            assert event["event"] == number, event
            number += event.get("times", 1)
everything = [json.loads(line) for line in open("all.json")]
assert [event for event in everything if event["event"] is not None] == dump
assert {event["kind"] for event in everything if event["event"] is None} == {"check"}
assert record["recorded"] == replay["replayed"] == "refrain.data/recv_wildcard-1"
assert record["events"] == replay["events"] == replay["recorded_events"] == info["events"] == decisions > 0
assert record["ranks"] == replay["ranks"] == 3 and record["status"] == replay["status"] == 0
assert record["not_recorded"] == [] and replay["outcome"] == "same"
assert info["checks"] == info["events_by_kind"]["check"] > 0
assert sum(node["events"] for node in info["nodes"]) == decisions
END
    run_apart "$REFRAIN" info
    [[ ! $output =~ [0-9]" check" ]]
    run_apart "$REFRAIN" info --verbose
    [[ $output =~ "besides    "[0-9]+" check" ]]
    launch openmpi 2 recv_wildcard
    run_apart "$REFRAIN" replay --json refrain.data/latest -- "${launch[@]}"
    expect_status 121
    tail -n 1 <<< "$stderr" | python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["outcome"] == "diverged" and facts["status"] == 121 and "ranks" in facts["difference"]'
    run_apart "$REFRAIN" record -q --json "${launch[@]}"
    [ -z "$stderr" ]
}

@test "a command that is no MPI program: 123" {
    launch openmpi 2 recv_wildcard
    record
    run_apart "$REFRAIN" replay -m openmpi refrain.data/latest -- true
    expect_status 123
    expect_in "$stderr" "nothing replayed"
}

@test "Open MPI: a replay may have more ranks than cores" {
    unset OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy
    launch openmpi $(($(nproc) + 2)) recv_wildcard
    run_apart timeout -k 5 60 "${launch[@]}"
    [ "$status" -ne 0 ]
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace mpirun.openmpi --oversubscribe "${launch[@]:1}"
    expect_status 0
    run_apart timeout -k 5 60 "$REFRAIN" replay trace -- "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "no difference"
}

check_nap() {
    command -v "mpicc.$1" > /dev/null || skip "no compiler for $1"
    cat > nap.c << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        if (getenv("NAP"))
            sleep(4);
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
END
    "mpicc.$1" -O1 -o nap nap.c
    launch=("mpirun.$1" -n 2 ./nap)
    run_apart "$REFRAIN" record -q -o trace "${launch[@]}"
    NAP=1 run_apart timeout 60 "$REFRAIN" replay --stall-timeout 1 trace
    expect_status 0
    expect_in "$stderr" "rank 1 has made no call for 1 second and used no processor time, and others wait; the replay goes on"
    expect_in "$stderr" "no difference"
}

@test "Open MPI: who sleeps where it did not is told" { check_nap openmpi; }
@test "MPICH: who sleeps where it did not is told" { check_nap mpich; }
