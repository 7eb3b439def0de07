#!/usr/bin/env bats
# Programs that end badly: the exit status is the one that a shell would show, every rank's end is
# told, and the replay ends in the same way after the same events.

load common

# logged DIRECTORY COMMAND...: runs it with the ranks' own logs in DIRECTORY.
logged() {
    local directory=$1
    shift
    mkdir "$directory"
    PROGRAM_LOG=$PWD/$directory run_apart timeout -k 5 60 "$@"
}

# expect_prefix [RANK]: what each rank saw in the replay starts with what it saw in the recording. If
# RANK ended the job, the launcher ends the others at a moment of its own, in the replay perhaps sooner:
# of those only what both saw can be compared.
expect_prefix() {
    local file other size
    for file in recorded/rank-*.log; do
        other=replayed/${file#recorded/}
        size=$(stat -c %s "$file")
        if [ -n "${1-}" ] && [ "$file" != "recorded/rank-$1.log" ] &&
            { [ ! -e "$other" ] || [ "$(stat -c %s "$other")" -lt "$size" ]; }; then
            touch "$other"
            size=$(stat -c %s "$other")
        fi
        cmp -n "$size" "$file" "$other"
    done
}

expect_gone() {
    if pgrep -f "^$1"; then
        echo "these processes were left behind"
        return 1
    fi
}

# check_crash MPI HOW STATUS ENDING [AFTER]: rank 1 ends in this way after AFTER receives.
check_crash() {
    launch "$1" 4 crash "$2" "${5-10}"
    cp "${launch[3]}" crash
    launch[3]=$PWD/crash
    logged recorded "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status "$3"
    expect_gone "$PWD/crash"
    # What rank 1 printed is the hash of all it had received.
    local result
    result=$(grep '^rank 1: ' <<< "$output")
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "status $3"
    expect_in "$output" "$4"
    run_apart "$REFRAIN" info --json trace
    python3 -c '
import json, sys
nodes = json.load(sys.stdin)["nodes"]
assert [node["rank"] for node in nodes] == [0, 1, 2, 3]
assert all(node["ending"] for node in nodes)' <<< "$output"
    run_apart "$REFRAIN" check trace
    expect_status 0
    # The logs that the dead have left take no more room than what they hold.
    [ "$(du -sk trace | cut -f 1)" -lt 1024 ]
    for _ in 1 2; do
        rm -rf replayed
        logged replayed "$REFRAIN" replay -q trace
        expect_status "$3"
        [ "$(grep '^rank 1: ' <<< "$output")" = "$result" ]
        expect_prefix 1
        cmp recorded/rank-1.log replayed/rank-1.log
        expect_gone "$PWD/crash"
    done
}

@test "Open MPI: a segmentation fault" { check_crash openmpi segfault 139 "rank 1 was ended by SIGSEGV after"; }
@test "MPICH: a segmentation fault" { check_crash mpich segfault 139 "rank 1 was ended by SIGSEGV after"; }
@test "Open MPI: a stack that overflows" { check_crash openmpi overflow 139 "rank 1 was ended by SIGSEGV after 10 events, the last one in MPI_Recv at"; }
@test "MPICH: a stack that overflows" { check_crash mpich overflow 139 "rank 1 was ended by SIGSEGV after 10 events, the last one in MPI_Recv at"; }
@test "Open MPI: abort()" { check_crash openmpi abort 134 "rank 1 was ended by SIGABRT after"; }
@test "MPICH: abort()" { check_crash mpich abort 134 "rank 1 was ended by SIGABRT after"; }
@test "Open MPI: a failed assertion" { check_crash openmpi assert 134 "rank 1 was ended by SIGABRT after"; }
@test "MPICH: a failed assertion" { check_crash mpich assert 134 "rank 1 was ended by SIGABRT after"; }
@test "Open MPI: MPI_Abort" { check_crash openmpi mpi_abort 7 "rank 1 aborted with code 7"; }
@test "MPICH: MPI_Abort" { check_crash mpich mpi_abort 7 "rank 1 aborted with code 7"; }
@test "Open MPI: exit() without MPI_Finalize" { check_crash openmpi exit 3 "rank 1 exited with status 3"; }
@test "MPICH: exit() without MPI_Finalize" { check_crash mpich exit 3 "rank 1 exited with status 3"; }
@test "Open MPI: a crash before the first receive" { check_crash openmpi segfault 139 "rank 1 was ended by SIGSEGV after" 0; }
@test "MPICH: a crash before the first receive" { check_crash mpich segfault 139 "rank 1 was ended by SIGSEGV after" 0; }
@test "Open MPI: a crash after the last receive" { check_crash openmpi abort 134 "rank 1 was ended by SIGABRT after" 24; }
@test "MPICH: a crash after the last receive" { check_crash mpich abort 134 "rank 1 was ended by SIGABRT after" 24; }

# An error that is fatal has a status that is no signal, even if hydra has the same number for both: 6 is the class
# of an invalid rank, and SIGABRT.
check_fatal() {
    compile "$1" fatal << 'END'
#include <mpi.h>

int main(int argc, char **argv) {
    int word = 0;
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD); /* who is ended before it has begun has no recording */
    MPI_Send(&word, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 6
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 6
}

@test "Open MPI: the status of an error that is fatal" { check_fatal openmpi; }
@test "MPICH: the status of an error that is fatal" { check_fatal mpich; }

# Rank 1 ends in the way that is asked for, and nothing of exit() is done.
compile_leaving() {
    compile "$1" leaving << 'END'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void leave(int number) {
    (void)number;
    _exit(77);
}

static void with_child(pid_t child) {
    if (child == 0)
        _exit(9);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv) {
    int rank, word = 0;
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "unseen") == 0)
        syscall(SYS_exit_group, 6); /* as both, and nobody is told */
    if (rank == 1 && strcmp(way, "exit") == 0)
        exit(3);
    if (rank == 1 && strcmp(way, "_exit") == 0)
        _exit(4);
    if (rank == 1 && strcmp(way, "_Exit") == 0)
        _Exit(5);
    if (rank == 1 && strcmp(way, "quick_exit") == 0)
        quick_exit(3);
    if (rank == 1 && strcmp(way, "handler") == 0) {
        signal(SIGSEGV, leave);
        raise(SIGSEGV);
    }
    if (rank == 1 && strcmp(way, "floating") == 0)
        raise(SIGFPE);
    if (rank == 1 && strcmp(way, "abort") == 0)
        abort();
    if (rank == 1 && strcmp(way, "children") == 0) {
        with_child(fork());
        with_child(vfork());
        raise(SIGKILL);
    }
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
END
}

# check_left MPI WAY STATUS ENDING
check_left() {
    compile_leaving "$1" "$2"
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}" "$2"
    expect_status "$3"
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 1 $4 after 0 events"
    for _ in 1 2; do
        run_apart timeout -k 5 60 "$REFRAIN" replay trace
        expect_status "$3"
        [[ ! $stderr =~ differs ]]
    done
    [ "$2" != children ] || return 0
    run_apart "$REFRAIN" info --json trace
    python3 -c '
import json, sys
node = json.load(sys.stdin)["nodes"][1]
assert (node["end"], node["code"]) == ("exit", int(sys.argv[1]))' "$3" <<< "$output"
    run_apart timeout -k 5 60 "$REFRAIN" extract -q --rank 1 trace
    expect_status 0
    run_apart timeout -k 5 60 "$REFRAIN" replay --rank 1 trace
    expect_status "$3"
    expect_in "$stderr" "no difference; the recorded rank $4"
}

@test "Open MPI: _exit()" { check_left openmpi _exit 4 "exited with status 4 without MPI_Finalize"; }
@test "MPICH: _exit()" { check_left mpich _exit 4 "exited with status 4 without MPI_Finalize"; }
@test "Open MPI: _Exit()" { check_left openmpi _Exit 5 "exited with status 5 without MPI_Finalize"; }
@test "Open MPI: quick_exit()" { check_left openmpi quick_exit 3 "exited with status 3 without MPI_Finalize"; }
@test "MPICH: quick_exit()" { check_left mpich quick_exit 3 "exited with status 3 without MPI_Finalize"; }
@test "Open MPI: a handler that ends the program" { check_left openmpi handler 77 "exited with status 77 without MPI_Finalize"; }
@test "MPICH: a handler that ends the program" { check_left mpich handler 77 "exited with status 77 without MPI_Finalize"; }
@test "Open MPI: children that end are not the rank" { check_left openmpi children 137 "was ended by SIGKILL"; }
@test "MPICH: children that end are not the rank" { check_left mpich children 137 "was ended by SIGKILL"; }

# Hydra ends all ranks when one gives up. What it then says depends on who was faster, so it is told here.
say_with_hydra() {
    mkdir launcher
    cat > launcher/mpirun.mpich << END
#!/bin/sh
$(command -v mpirun.mpich) "\$@"
exit "\$(cat $PWD/says)"
END
    chmod +x launcher/mpirun.mpich
    PATH=$PWD/launcher:$PATH
}

# recorded_as RAW STATUS, replayed_as RAW STATUS: by what hydra says.
recorded_as() {
    rm -rf trace
    echo "$1" > says
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}" "$way"
    expect_status "$2"
}

replayed_as() {
    echo "$1" > says
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status "$2"
}

@test "MPICH: what the launcher alone makes of an end is no difference" {
    compile_leaving mpich
    say_with_hydra
    way=unseen
    recorded_as 6 6
    replayed_as 9 6
    [[ ! $stderr =~ differs ]]
    # What it says of the ranks is one.
    replayed_as 5 5
    expect_in "$stderr" "the end differs: the program ended with status 5, recorded was 6"
    way=_exit
    recorded_as 9 4
    replayed_as 4 4
    replayed_as 9 4
    [[ ! $stderr =~ differs ]]
    replayed_as 0 4
    [[ ! $stderr =~ differs ]]
    way=exit
    recorded_as 0 3
    replayed_as 3 3
    replayed_as 9 3
    replayed_as 0 3
    [[ ! $stderr =~ differs ]]
    way=floating
    recorded_as 0 136
    recorded_as 9 136
    replayed_as 0 136
    [[ ! $stderr =~ differs ]]
    replayed_as 8 136
    [[ ! $stderr =~ differs ]]
    replayed_as 11 11
    expect_in "$stderr" "the end differs: the program ended with status 11, recorded was 136"
    way=abort
    recorded_as 9 134
    for said in 0 6 9 15; do
        replayed_as $said 134
        [[ ! $stderr =~ differs ]]
    done
    way=children
    recorded_as 0 137
    replayed_as 9 137
    [[ ! $stderr =~ differs ]]
}

# check_handler MPI: an error handler ends the job inside the call that failed. Of that call nothing is recorded but what its
# status shows.
check_handler() {
    compile "$1" handler << 'END'
#include <mpi.h>
#include <string.h>

static void leave(MPI_Comm *comm, int *code, ...) {
    MPI_Abort(*comm, 9);
}

int main(int argc, char **argv) {
    int rank, words[4] = {0}, flag = 0;
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(leave, &handler);
    if (argc > 2)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Barrier(comm);
    if (rank == 1) {
        MPI_Send(words, 1, MPI_INT, 0, 0, comm);
        MPI_Send(words, 4, MPI_INT, 0, 0, comm);
    } else {
        MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE);
        if (strcmp(argv[1], "named") == 0)
            MPI_Recv(words, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
        if (strcmp(argv[1], "wildcard") == 0)
            MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE);
        if (strcmp(argv[1], "tag") == 0)
            MPI_Probe(MPI_ANY_SOURCE, -77, comm, MPI_STATUS_IGNORE);
        MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request);
        if (strcmp(argv[1], "wait") == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
    MPI_Finalize();
    return 0;
}
END
    for call in named wildcard tag wait test "named copy" "wildcard copy"; do
        rm -rf trace
        # shellcheck disable=SC2086
        run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}" $call
        expect_status 9
        run_apart "$REFRAIN" info trace
        expect_in "$output" "rank 0 aborted with code 9"
        run_apart "$REFRAIN" check trace
        expect_status 0
        run_apart timeout -k 5 60 "$REFRAIN" replay trace
        expect_status 9
        expect_in "$stderr" "replayed: trace: "
    done
}

@test "Open MPI: MPI_Abort in an error handler" { check_handler openmpi; }
@test "MPICH: MPI_Abort in an error handler" { check_handler mpich; }

# check_failed_probe MPI: where threads call, a probe fails, and a callback aborts later. What the probe left on the
# stack is not its status any more.
check_failed_probe() {
    compile "$1" probe << 'END'
#include <mpi.h>
#include <string.h>

static int forget(MPI_Comm comm, int key, void *value, void *state) {
    MPI_Abort(MPI_COMM_WORLD, 9);
    return MPI_SUCCESS;
}

/* Far down on the stack, where nothing else comes. */
__attribute__((noinline)) static void fail(MPI_Comm comm) {
    volatile char depth[50000];
    depth[0] = 0;
    MPI_Probe(MPI_ANY_SOURCE, -77, comm, MPI_STATUS_IGNORE);
    depth[1] = 0;
}

/* Then there are numbers that are no addresses. */
__attribute__((noinline)) static void fill(void) {
    volatile int numbers[20000];
    for (int i = 0; i < 20000; i++)
        numbers[i] = 77;
}

int main(int argc, char **argv) {
    int rank, word, level, key;
    MPI_Comm copy;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    MPI_Comm_set_attr(copy, key, NULL);
    if (rank == 1)
        MPI_Send(&rank, 1, MPI_INT, 0, 0, copy);
    else
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, copy, MPI_STATUS_IGNORE);
    if (rank == 0) {
        fail(copy);
        fill();
        MPI_Comm_free(&copy);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 9
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 0 aborted with code 9"
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 9
    expect_in "$stderr" "replayed: trace: "
}

@test "Open MPI: MPI_Abort in a callback after a probe that failed" { check_failed_probe openmpi; }
@test "MPICH: MPI_Abort in a callback after a probe that failed" { check_failed_probe mpich; }

# check_fortran MPI: whose library takes the signals, to print where it happened.
check_fortran() {
    command -v "mpifort.$1" > /dev/null || missing "no Fortran compiler for $1"
    cat > fault.f90 << 'END'
program fault
    use mpi
    implicit none
    integer :: code, rank
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    if (rank == 1) call abort()
    call MPI_Barrier(MPI_COMM_WORLD, code)
    call MPI_Finalize(code)
end program
END
    "mpifort.$1" -o fault fault.f90
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "mpirun.$1" -n 2 ./fault
    expect_status 134
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 1 was ended by SIGABRT after"
}

@test "Open MPI: a signal that Fortran's library takes" { check_fortran openmpi; }
@test "MPICH: a signal that Fortran's library takes" { check_fortran mpich; }

# check_leaving MPI: one thread ends the process while another one is in a call that returns only then.
check_leaving() {
    compile "$1" leaving -pthread << 'END'
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, word;
static atomic_int back;

static void *ask(void *unused) {
    int answer;
    MPI_Sendrecv(&word, 1, MPI_INT, 0, 1, &answer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    back = 1;
    return unused;
}

/* Registered before MPI_Init, so it is called after all that came with it. */
static void go(void) {
    if (rank == 1)
        MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 500 && !back; i++)
        usleep(10000);
}

int main(int argc, char **argv) {
    pthread_t thread;
    int level;
    atexit(go);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        pthread_create(&thread, NULL, ask, NULL);
        MPI_Recv(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        exit(3);
    }
    MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    pause();
}
END
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    expect_status 3
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 1 exited with status 3"
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 3
}

@test "Open MPI: exit() while another thread is in a call" { check_leaving openmpi; }
@test "MPICH: exit() while another thread is in a call" { check_leaving mpich; }

# record_until MPI GOOD|BAD PROGRAM [ARGUMENT...]: the trace of a run that ended well, or badly.
record_until() {
    local mpi=$1 wanted=$2 ended
    shift 2
    launch "$mpi" 4 "$@"
    for _ in {1..50}; do
        rm -rf trace recorded
        logged recorded "$REFRAIN" record -q -o trace "${launch[@]}"
        ended=bad
        [ "$status" -ne 0 ] || ended=good
        [ "$ended" != "$wanted" ] || return 0
    done
    echo "50 runs, none of which ended $wanted"
    return 1
}

# check_order MPI RANK PROGRAM...: a bug of RANK that depends on the order: once recorded it comes back
# every time, and a good run stays good.
check_order() {
    local mpi=$1 rank=$2 wanted expected
    shift 2
    for wanted in bad good; do
        record_until "$mpi" $wanted "$@"
        expected=$status
        for _ in 1 2 3 4 5; do
            rm -rf replayed
            logged replayed "$REFRAIN" replay -q trace
            expect_status "$expected"
            if [ $wanted = bad ]; then expect_prefix "$rank"; else expect_prefix; fi
        done
    done
}

@test "Open MPI: a crash in some orders comes back in every replay" { check_order openmpi 1 crash order; }
@test "MPICH: a crash in some orders comes back in every replay" { check_order mpich 1 crash order; }
@test "Open MPI: a truncation in some orders comes back in every replay" { check_order openmpi 0 truncate; }
@test "MPICH: a truncation in some orders comes back in every replay" { check_order mpich 0 truncate; }

# check_beginning MPI: a rank killed while it created its files has no events, and the others replay. The
# states of the disk are made by hand, as a kill hits them once in a thousand times.
check_beginning() {
    launch "$1" 3 recv_wildcard
    "$REFRAIN" record -q -o whole "${launch[@]}" > recorded.text
    for state in begun zeros both; do
        rm -rf trace
        cp -r whole trace
        rm trace/rank-2.trace
        touch trace/rank-2.new
        [ $state = begun ] || truncate -s 3M trace/rank-2.new
        [ $state != both ] || touch trace/rank-2.trace
        run_apart "$REFRAIN" check trace
        expect_status 0
        expect_in "$output" "rank 2: whole: 0 events, was killed or crashed after 0 events"
        run_apart "$REFRAIN" info trace
        expect_status 0
        run_apart timeout 60 "$REFRAIN" replay trace
        expect_status 0
        # Rank 2 decides for itself again, and it only sends: the same.
        [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
        expect_in "$stderr" "3 ranks, no difference"
    done
    # What was lost later is another matter.
    rm trace/rank-2.new
    run_apart "$REFRAIN" replay trace
    expect_status 122
    expect_in "$stderr" "rank-2.trace: is cut off at byte 0"
    rm trace/rank-2.trace
    run_apart "$REFRAIN" replay trace
    expect_status 122
    expect_in "$stderr" "the file of rank 2 is missing"
}

@test "Open MPI: a rank killed while its files were created" { check_beginning openmpi; }
@test "MPICH: a rank killed while its files were created" { check_beginning mpich; }

# Rank 0 has two receives that fit the same messages. The first one took the first message, but nobody looked
# before the rank was killed; the second one, made in the way that is asked for, took the second message.
compile_unseen() {
    compile "$1" unseen <<'PROGRAM'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int next(const char *way) {
    int word = 0, flag = 0;
    MPI_Message message;
    MPI_Request request;
    if (strcmp(way, "named") == 0) {
        MPI_Recv(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(way, "wildcard") == 0) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(way, "looked for") == 0) {
        while (!flag)
            MPI_Iprobe(1, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(way, "taken out") == 0) {
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else if (strcmp(way, "started") == 0) {
        MPI_Recv_init(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else {
        MPI_Irecv(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return word;
}

int main(int argc, char **argv) {
    int rank, first = 0, words[2] = {100, 200};
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        printf("%d\n", next(argv[1]));
        fflush(stdout);
        if (!getenv("GO_ON"))
            raise(SIGKILL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        for (int i = 0; i < 2; i++)
            MPI_Send(&words[i], 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
PROGRAM
}

check_unseen() {
    local way
    compile_unseen "$1"
    for way in named wildcard "looked for" "taken out" waited started; do
        rm -rf trace
        run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}" "$way"
        [ "$status" -ne 0 ]
        [ "${output%%$'\n'*}" = 200 ]
        GO_ON=1 run_apart timeout -k 5 60 "$REFRAIN" replay trace
        [ "$output" = 200 ]
        # Nobody kills it this time.
        expect_in "$stderr" "2 ranks; the end differs: the program ended with status 0, recorded was "
    done
}

@test "Open MPI: a receive that had its message, but was not looked at before the kill" { check_unseen openmpi; }
@test "MPICH: a receive that had its message, but was not looked at before the kill" { check_unseen mpich; }

# Rank 1 ends the job a while after its last message; rank 0 has taken all messages by then. In the replay
# rank 1 is early and rank 0 slow.
check_others_come() {
    local mpi=$1
    shift
    command -v "mpicc.$mpi" > /dev/null || skip "no compiler for $mpi"
    cat > early.c << 'END'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    enum { MESSAGES = 50 };
    int rank, ranks, word = 0, late = getenv("LATE") != NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < MESSAGES * (rank ? 1 : ranks - 1); i++)
        if (rank == 0) {
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep(late ? 3000 : 0);
        } else {
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    if (rank == 1) {
        usleep(late ? 0 : 500000);
        if (strcmp(argv[1], "exit") == 0)
            exit(5);
        if (strcmp(argv[1], "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 6);
        raise(SIGSEGV);
    }
    MPI_Finalize();
    return 0;
}
END
    "mpicc.$mpi" -O1 -o early early.c
    while [ $# -gt 0 ]; do
        launch=("mpirun.$mpi" -n 3 ./early "$1")
        rm -rf trace
        run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
        expect_status "$2"
        LATE=1 run_apart timeout -k 5 60 "$REFRAIN" replay trace
        expect_status "$2"
        expect_in "$stderr" "refrain: replayed: trace: 100 events, 3 ranks, no difference"
        shift 2
    done
}

# Its launcher may itself crash after MPI_Abort, also without us.
@test "Open MPI: who ends the job waits in a replay until the others have come as far as they did" {
    check_others_come openmpi exit 5 crash 139
}
@test "MPICH: who ends the job waits in a replay until the others have come as far as they did" {
    check_others_come mpich exit 5 abort 6 crash 139
}
