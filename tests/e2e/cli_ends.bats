#!/usr/bin/env bats
# How a replay ends when it does not end by itself: stalls, kills, interrupts; and what a rebuilt program
# has to do with it.

load common

# Rank 0 receives two messages; rank 1 sends them, or waits for ever, or gives the test time.
make_pair() {
    compile "$1" pair "${@:2}" << 'END'
#include <mpi.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, word = 0;
    const char *mark = getenv("PAIR_MARK");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    alarm(60);
    if (rank == 0) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#ifdef OTHERWISE
        MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        if (mark) {
            char name[4096];
            snprintf(name, sizeof name, "%s/%d", mark, (int)getpid());
            fclose(fopen(name, "w"));
            pause();
        }
        if (getenv("PAIR_WAITS"))
            MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
END
}

line_of() {
    grep -n -m 1 "$1" pair.c | cut -d: -f1
}

record_pair() {
    make_pair "$1"
    "$REFRAIN" record -q "${launch[@]}"
}

# Rank 1 is the first to differ, but its signature is compared only with its next send.
check_stall() {
    record_pair "$1"
    PAIR_WAITS=1 run_apart "$REFRAIN" replay --stall-timeout 1
    expect_status 121
    case $stderr in
    *"the replay stands still: every rank has waited for 1 second"*)
        expect_in "$stderr" "waits in MPI_Recv at pair.c:$(line_of ', 7, MPI_COMM_WORLD, MPI_STATUS') for source 1, tag 7"
        expect_in "$stderr" "waits in MPI_Recv at pair.c:$(line_of ', 9, MPI_COMM_WORLD') for source 0, tag 9"
        expect_in "$stderr" "  likely "
        ;;
    *) expect_in "$stderr" "the replay diverged: rank 1" ;;
    esac
    [[ ! $stderr =~ "no difference" ]]
}

@test "Open MPI: a wait that differs is reported" { check_stall openmpi; }
@test "MPICH: a wait that differs is reported" { check_stall mpich; }

# A recording of two ranks that wait for ever, each for something else.
check_deadlock() {
    compile "$1" deadlock << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, word;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    alarm(60);
    char name[32];
    snprintf(name, sizeof name, "rank-%d.mark", rank);
    fclose(fopen(name, "w"));
    if (rank == 0)
        MPI_Recv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
END
    "$REFRAIN" record -q "${launch[@]}" > recorded.text 2> recorder.text &
    recorder=$!
    until [ -e rank-0.mark ] && [ -e rank-1.mark ]; do
        sleep 0.05
    done
    kill -TERM $recorder
    wait $recorder || [ $? -eq 143 ]
    run_apart "$REFRAIN" replay --stall-timeout 1
    expect_status 121
    expect_in "$stderr" "the replay stands still: the recording was cut off here"
    expect_in "$stderr" "waits in MPI_Recv at deadlock.c:14 for source 1, tag 7"
    expect_in "$stderr" "waits in MPI_Recv at deadlock.c:16 for any source, any tag"
}

@test "Open MPI: a stall says who waits for whom" { check_deadlock openmpi; }
@test "MPICH: a stall says who waits for whom" { check_deadlock mpich; }

# Replays until rank 1 has left its mark; sets `replayer` and `victim`, the process of rank 1.
replay_to_mark() {
    record_pair "$1"
    mkdir mark run
    TMPDIR=$PWD/run PAIR_MARK=$PWD/mark "$REFRAIN" replay > replayed.text 2> replayer.text &
    replayer=$!
    until victim=$(ls mark) && [ "$victim" ]; do
        sleep 0.05
    done
}

finish_replay() {
    status=0
    wait $replayer || status=$?
    stderr=$(cat replayer.text)
    [[ ! $stderr =~ "no difference" ]]
    # A launcher that was killed leaves its own things there.
    [ -z "$(find run -name 'refrain-*')" ]
    # A process that nobody has collected yet is gone all the same.
    case $(ps -o stat= -p "$victim") in
    '' | Z*) ;;
    *)
        echo "rank 1 was left behind"
        return 1
        ;;
    esac
}

check_killed_rank() {
    replay_to_mark "$1"
    kill -KILL "$victim"
    finish_replay
    expect_status 121
    expect_in "$stderr" "refrain: the replay broke off: rank "
    expect_in "$stderr" "  likely    it crashed, or was killed from outside"
}

@test "Open MPI: a rank killed from outside" { check_killed_rank openmpi; }
@test "MPICH: a rank killed from outside" { check_killed_rank mpich; }

check_killed_launcher() {
    replay_to_mark "$1"
    pkill -KILL -P $replayer -f '(mpi|prte)run' # Open MPI 5's is called prterun
    finish_replay
    expect_status 137
    expect_in "$stderr" "refrain: replay stopped by signal 9: "
}

@test "Open MPI: a launcher killed from outside" { check_killed_launcher openmpi; }
@test "MPICH: a launcher killed from outside" { check_killed_launcher mpich; }

check_stopped() {
    replay_to_mark "$1"
    kill -TERM $replayer
    finish_replay
    expect_status 143
    expect_in "$stderr" "refrain: replay stopped by signal 15: "
}

@test "Open MPI: a replay that is told to end" { check_stopped openmpi; }
@test "MPICH: a replay that is told to end" { check_stopped mpich; }

# Rank 0 receives two messages of rank 1, which then ends the job. In a recording rank 1 waits until rank 0
# has got both; in a replay rank 0 dawdles after the first one for as long as there is a job.
make_short() {
    compile "$1" short << 'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void mark(int number) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", getenv("SHORT_MARKS"), number);
    fclose(fopen(name, "w"));
}
static void await(int number) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", getenv("SHORT_MARKS"), number);
    while (access(name, F_OK))
        usleep(10000);
}
int main(int argc, char **argv) {
    int rank, word = 0;
    int slow = getenv("SHORT_SLOW") != NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    alarm(60);
    for (int i = 1; i <= 2; i++) {
        if (rank == 1) {
            MPI_Send(&word, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mark(i);
        while (slow || i == 2)
            pause();
    }
    await(slow ? 1 : 2);
    if (strcmp(argv[1], "segfault") == 0)
        raise(SIGSEGV);
    if (strcmp(argv[1], "exit") == 0)
        exit(3);
    MPI_Abort(MPI_COMM_WORLD, 7);
    return 0;
}
END
}

# check_short MPI HOW STATUS
check_short() {
    make_short "$1"
    mkdir marks
    SHORT_MARKS=$PWD/marks run_apart timeout 60 "$REFRAIN" record "${launch[@]}" "$2"
    expect_status "$3"
    expect_in "$stderr" ", 2 events, 2 ranks"
    rm marks/*
    SHORT_MARKS=$PWD/marks SHORT_SLOW=1 run_apart timeout 60 "$REFRAIN" replay
    expect_status "$3"
    expect_in "$stderr" "refrain: replayed: refrain.data/short-1: 1 of 2 events, 2 ranks: the job ended as recorded, and took other ranks with it"
    [[ ! $stderr =~ "no difference" ]]
    [[ ! $stderr =~ "the end differs" ]]
    rm marks/*
    SHORT_MARKS=$PWD/marks SHORT_SLOW=1 run_apart timeout 60 "$REFRAIN" replay --json
    expect_status "$3"
    tail -n 1 <<< "$stderr" | python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["outcome"] == "cut short" and facts["events"] == 1 and facts["recorded_events"] == 2, facts
assert facts["status"] == '"$3"', facts'
    # With time enough it is all there.
    rm marks/*
    SHORT_MARKS=$PWD/marks run_apart timeout 60 "$REFRAIN" replay
    expect_status "$3"
    expect_in "$stderr" ": 2 events, 2 ranks, no difference"
}

@test "Open MPI: an abort that comes sooner for the others" { check_short openmpi abort 7; }
@test "MPICH: an abort that comes sooner for the others" { check_short mpich abort 7; }
@test "Open MPI: a crash that comes sooner for the others" { check_short openmpi segfault 139; }
@test "MPICH: a crash that comes sooner for the others" { check_short mpich segfault 139; }
@test "Open MPI: an exit that comes sooner for the others" { check_short openmpi exit 3; }
@test "MPICH: an exit that comes sooner for the others" { check_short mpich exit 3; }

# What a program returns after MPI_Finalize comes after all that is recorded.
check_other_status() {
    compile "$1" leave << 'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    double now = MPI_Wtime();
    MPI_Finalize();
    return now < 0 ? 1 : atoi(getenv("LEAVE_WITH"));
}
END
    LEAVE_WITH=7 run_apart "$REFRAIN" record -q "${launch[@]}"
    expect_status 7
    LEAVE_WITH=0 run_apart "$REFRAIN" replay
    expect_status 0
    [ "$stderr" = "refrain: replayed: refrain.data/leave-1: 1 event, 2 ranks; the end differs: the program ended with status 0, recorded was 7 (not recorded: MPI_Wtime)
hint: refrain info refrain.data/leave-1" ]
    LEAVE_WITH=0 run_apart "$REFRAIN" replay --quiet
    expect_in "$stderr" "refrain: the end differs: the program ended with status 0, recorded was 7"
    LEAVE_WITH=0 run_apart "$REFRAIN" replay --json
    expect_status 0
    python3 <<< "$stderr" -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["outcome"] == "other status" and facts["events"] == 1, facts
assert facts["status"] == 0 and facts["recorded_status"] == 7, facts'
    LEAVE_WITH=7 run_apart "$REFRAIN" replay --json
    expect_status 7
    expect_in "$stderr" '"outcome":"same"'
    expect_in "$stderr" '"status":7,"recorded_status":7'
    # All that is received was kept.
    LEAVE_WITH=0 run_apart "$REFRAIN" extract --rank 0
    expect_status 0
    [ -e refrain.data/leave-1/rank-0.contents ]
}

@test "Open MPI: another status after MPI_Finalize" { check_other_status openmpi; }
@test "MPICH: another status after MPI_Finalize" { check_other_status mpich; }

check_rebuilt() {
    record_pair "$1"
    make_pair "$1" -O2 -DSOMETHING=1
    run_apart "$REFRAIN" replay
    expect_status 0
    expect_in "$stderr" "no difference"
    [[ ! $stderr =~ "built anew" ]]
    make_pair "$1" -DOTHERWISE
    run_apart "$REFRAIN" replay
    expect_status 121
    expect_in "$stderr" "$PWD/pair was built anew since the recording"
    expect_in "$stderr" "  came      MPI_Probe at pair.c:"
}

@test "Open MPI: a rebuilt program is mentioned only when something differs" { check_rebuilt openmpi; }
@test "MPICH: a rebuilt program is mentioned only when something differs" { check_rebuilt mpich; }
