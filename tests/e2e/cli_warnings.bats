#!/usr/bin/env bats
# What record warns of: outcomes that are not kept, ranks that are not recorded to their end, threads.

load common

check_unsupported() {
    compile "$1" clock << 'END'
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double before = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    int late = MPI_Wtime() < before;
    MPI_Finalize();
    return late;
}
END
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "refrain: not recorded: MPI_Wtime: a replay may differ where the program depends on them"
    [ "$(grep -c MPI_Wtime <<< "$stderr")" -eq 1 ]
    run_apart "$REFRAIN" info
    expect_status 0
    expect_in "$output" "not recorded: MPI_Wtime"
    run_apart "$REFRAIN" replay
    expect_status 0
    expect_in "$stderr" "no difference (not recorded: MPI_Wtime)"
    run_apart "$REFRAIN" replay --json
    expect_in "$stderr" '"not_recorded":["MPI_Wtime"]'
    # Quiet is about the closing lines; what is wrong is said.
    run_apart "$REFRAIN" record -q "${launch[@]}"
    expect_in "$stderr" "not recorded: MPI_Wtime"
}

@test "Open MPI: a function whose outcome is not kept is named" { check_unsupported openmpi; }
@test "MPICH: a function whose outcome is not kept is named" { check_unsupported mpich; }

# Rank 1 must not make files longer from some moment on, as on a disk that is full.
check_incomplete() {
    compile "$1" full << 'END'
#include <mpi.h>
#include <sys/resource.h>
int main(int argc, char **argv) {
    int rank, flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
    /* Two places in turn: nothing can be folded. */
    for (int i = 0; i < 200000; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    [[ $stderr =~ "refrain: rank 1 is recorded only up to event "[0-9]+": File too large" ]]
    [[ ! $stderr =~ "rank 0 is recorded only" ]]
    run_apart "$REFRAIN" info
    expect_status 0
    [[ $output =~ "rank 1 is recorded only up to event "[0-9]+": File too large" ]]
    # From there on it runs free.
    run_apart "$REFRAIN" replay -q
    expect_status 0
}

@test "Open MPI: a rank whose recording had to stop is named" { check_incomplete openmpi; }
@test "MPICH: a rank whose recording had to stop is named" { check_incomplete mpich; }

check_threads() {
    compile "$1" threads << 'END'
#include <mpi.h>
int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return provided == MPI_THREAD_MULTIPLE ? 0 : 42;
}
END
    warning="refrain: threads: the program asked for MPI_THREAD_MULTIPLE: the order between threads is not kept"
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    if grep -qF "$warning" <<< "$stderr"; then return 1; fi
    # Without the library for threads there is something to warn of.
    mkdir -p without/lib
    cp "$REFRAIN" without/refrain
    cp "$(dirname "$REFRAIN")/lib/librefrain-$1.so" without/lib
    run_apart without/refrain record "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "$warning"
}

@test "Open MPI: MPI_THREAD_MULTIPLE is warned of where threads cannot be recorded" { check_threads openmpi; }
@test "MPICH: MPI_THREAD_MULTIPLE is warned of where threads cannot be recorded" { check_threads mpich; }

# Threads of whose order nobody asked for anything. What MPI itself creates is none of them.
check_unordered() {
    local advice="refrain: threads: 1 rank created threads: the order between them is kept with --threads"
    launch "$1" 2 thr_funneled
    run_apart "$REFRAIN" record -o trace "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "$advice"
    [ "$(ls trace)" = "manifest.json
rank-0.trace
rank-1.trace" ]
    run_apart "$REFRAIN" record --threads -o ordered "${launch[@]}"
    expect_status 0
    [[ $stderr != *"created threads"* ]]
}

@test "Open MPI: threads whose order is not kept" { check_unordered openmpi; }
@test "MPICH: threads whose order is not kept" { check_unordered mpich; }

# MPI is called by a thread that must not; that a thread asks for the time is nothing to speak of.
check_another_calls() {
    compile "$1" another << 'END'
#include <mpi.h>
#include <pthread.h>
static double now;
static void *ask(void *unused) {
    now = MPI_Wtime();
    return unused;
}
static void *meet(void *unused) {
    MPI_Barrier(MPI_COMM_WORLD);
    return unused;
}
int main(int argc, char **argv) {
    pthread_t thread;
    int level = argc > 1 ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, level, &level);
    pthread_create(&thread, NULL, argc > 2 ? ask : meet, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
END
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    expect_in "$stderr" "refrain: not recorded: calls of several threads with MPI_THREAD_SINGLE: a replay may differ"
    run_apart "$REFRAIN" record "${launch[@]}" funneled
    expect_in "$stderr" "refrain: not recorded: calls of other threads with MPI_THREAD_FUNNELED: a replay may differ"
    run_apart "$REFRAIN" record "${launch[@]}" funneled asks
    expect_in "$stderr" "refrain: not recorded: MPI_Wtime: a replay may differ"
}

@test "Open MPI: a thread that must not call MPI" { check_another_calls openmpi; }
@test "MPICH: a thread that must not call MPI" { check_another_calls mpich; }

@test "a program that has threads and no messages" {
    local program=$PROGRAMS/threads/crash
    [ -x "$program" ] || missing "no test program crash for threads"
    run_apart "$REFRAIN" record -o trace "$PROGRAMS/threads/create"
    expect_status 123
    expect_in "$stderr" "refrain: nothing recorded: no rank called MPI_Init with Refrain in it; but $PROGRAMS/threads/create created threads"
    expect_in "$stderr" "hint: refrain record --threads -- $PROGRAMS/threads/create"
    [ ! -e trace ]
    run_apart "$REFRAIN" record -o trace "$program" exit
    [ "$status" -ne 0 ]
    [ "$status" -ne 123 ]
    expect_in "$stderr" "refrain: nothing recorded: the command ended with status $status"
    expect_in "$stderr" "hint: refrain record --threads -- $program exit"
    [ ! -e trace ]
}

check_no_warning() {
    launch "$1" 3 recv_wildcard
    run_apart "$REFRAIN" record "${launch[@]}"
    expect_status 0
    [ "$(grep -c -e '^refrain:' -e '^hint:' <<< "$stderr")" -eq 2 ]
}

@test "Open MPI: nothing to warn of, two lines" { check_no_warning openmpi; }
@test "MPICH: nothing to warn of, two lines" { check_no_warning mpich; }
