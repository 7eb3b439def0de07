#!/usr/bin/env bats
# Recordings that cannot be kept: the program goes on unharmed, and the trace says what it lacks.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir disk
}

teardown() {
    ! mountpoint -q disk || umount disk
}

# A disk of so many KiB.
small_disk() {
    [ "$(id -u)" -eq 0 ] || skip "only root can mount a small disk"
    mount -t tmpfs -o size="$1"k tmpfs disk 2> mount.text || skip "no small disk: $(cat mount.text)"
}

# What a rank sets aside for its log, in KiB; measured, since it is not this test's business.
log_size() {
    launch "$1" 2 branch endless
    "$REFRAIN" record -q -o measured "${launch[@]}" > measured.text 2>&1 &
    local recorder=$!
    until [ -e measured/rank-0.tail ] && [ -e measured/rank-1.tail ]; do
        sleep 0.05
    done
    kill -TERM $recorder
    wait $recorder || true
    log_size=$(du -k --apparent-size measured/rank-0.tail | cut -f1)
}

# The log fits, the trace does not.
check_full() {
    log_size "$1"
    launch "$1" 1 longrun 2000000
    "${launch[@]}" > plain.text 2> /dev/null
    small_disk $((log_size + 48))
    run_apart timeout 120 "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 0
    [ "$output" = "$(cat plain.text)" ]
    expect_in "$stderr" "rank 0 is recorded only up to event "
    expect_in "$stderr" "No space left on device"
    for verb in info check; do
        run_apart "$REFRAIN" $verb disk/trace
        expect_status 0
        expect_in "$output" "is recorded only up to event "
        expect_in "$output" "No space left on device"
    done
    # The replay follows the trace to its end and runs free from there.
    run_apart timeout 120 "$REFRAIN" replay -q disk/trace
    expect_status 0
    [ "$output" = "$(cat plain.text)" ]
}

@test "Open MPI: the disk is full in the middle: the program goes on, the trace ends there" { check_full openmpi; }
@test "MPICH: the disk is full in the middle: the program goes on, the trace ends there" { check_full mpich; }

# Rank 0 takes messages of the others as they come, with tags that nobody can guess: two events and one line
# of the file each. The word in it also depends on what the sender had been told so far.
make_varying() {
    compile "$1" varying << 'END'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { ROUNDS = 30, BLOCK = 1300 };
int main(int argc, char **argv) {
    int rank, size, told = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    uint32_t random = (uint32_t)rank;
    FILE *seen = rank == 0 ? fopen(getenv("VARYING_SEEN"), "w") : NULL;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCK * (rank ? 1 : size - 1); i++) {
            MPI_Status status;
            int word = told ^ i << 8 ^ rank;
            random = random * 1664525 + 1013904223;
            if (rank) {
                MPI_Send(&word, 1, MPI_INT, 0, (int)(random >> 23), MPI_COMM_WORLD);
                continue;
            }
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            told = told * 31 + word + status.MPI_TAG;
            fprintf(seen, "%d %d %d\n", status.MPI_SOURCE, status.MPI_TAG, word);
        }
        MPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (seen)
        fclose(seen);
    MPI_Finalize();
    return 0;
}
END
    launch=("mpirun.$1" -n 3 ./varying)
}

# A program that varies follows its recording up to the last event that found room, and only so far.
check_full_varying() {
    log_size "$1"
    make_varying "$1"
    small_disk $((3 * log_size + 40))
    VARYING_SEEN=$PWD/recorded run_apart timeout 120 "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 0
    [[ $stderr =~ "refrain: rank 0 is recorded only up to event "([0-9]+)": No space left on device" ]]
    local events=${BASH_REMATCH[1]} lines=$((BASH_REMATCH[1] / 2))
    [ "$(wc -l < recorded)" -eq 78000 ]
    [ "$events" -gt 100000 ]
    [ "$events" -lt 156000 ]
    # The others have no events that would need room.
    [ "$(grep -c "is recorded only" <<< "$stderr")" -eq 1 ]
    run_apart "$REFRAIN" info disk/trace
    expect_status 0
    expect_in "$output" "rank 0 is recorded only up to event $events: No space left on device"
    # Equal neighbours are one line of a dump.
    "$REFRAIN" dump --rank 0 disk/trace | awk '$3 == "recv" {
        for (times = $(NF - 1) == "x" ? $NF : 1; times > 0; times--) print $7 + 0, $9 }' > dumped
    for number in 1 2; do
        VARYING_SEEN=$PWD/replayed-$number run_apart timeout 120 "$REFRAIN" replay disk/trace
        expect_status 0
        expect_in "$stderr" "refrain: replayed: disk/trace: $events events, 3 ranks, no difference"
        expect_in "$stderr" "refrain: rank 0 followed its recording up to event $events, where it stops, and ran free from there on"
        [ "$(wc -l < replayed-$number)" -eq 78000 ]
        cmp <(head -n $lines recorded) <(head -n $lines replayed-$number)
    done
    cut -d ' ' -f 1,2 recorded | head -n $lines | cmp - dumped
    # Else this test would say nothing: from there on the runs differ.
    ! cmp recorded replayed-1 || ! cmp recorded replayed-2
}

@test "Open MPI: the disk is full: what varies is repeated up to there" { check_full_varying openmpi; }
@test "MPICH: the disk is full: what varies is repeated up to there" { check_full_varying mpich; }

# Not even the logs of all ranks fit.
check_no_room() {
    log_size "$1"
    launch "$1" 4 recv_wildcard
    small_disk $((2 * log_size + log_size / 2))
    run_apart timeout 120 "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 0
    [ "$(grep -c '^rank ' <<< "$output")" -eq 4 ]
    expect_in "$stderr" "this rank is not recorded: "
    expect_in "$stderr" "No space left on device"
    # Nothing that is hinted would fail.
    expect_in "$stderr" "hint: refrain check disk/trace"
    [[ ! $stderr =~ "refrain replay" ]]
    for verb in info check; do
        run_apart "$REFRAIN" $verb disk/trace
        expect_status 122
        expect_in "$output$stderr" "missing"
    done
    run_apart "$REFRAIN" replay disk/trace
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "is missing: the program had 4 ranks"
}

@test "Open MPI: no room for some ranks: they are named, a replay is refused" { check_no_room openmpi; }
@test "MPICH: no room for some ranks: they are named, a replay is refused" { check_no_room mpich; }

# The ranks may not write where the trace is; the program does not care.
check_forbidden() {
    launch "$1" 3 recv_wildcard
    cat > start << 'END'
#!/bin/sh
rm -rf trace && echo "not a directory" > trace
exec "$@"
END
    chmod +x start
    run_apart timeout 120 "$REFRAIN" record -m "$1" -o trace ./start "${launch[@]}"
    [ "$(grep -c '^rank ' <<< "$output")" -eq 3 ]
    expect_in "$stderr" "this rank is not recorded: "
    expect_in "$stderr" "rank-2."
}

@test "Open MPI: ranks that cannot write are named, the program goes on" { check_forbidden openmpi; }
@test "MPICH: ranks that cannot write are named, the program goes on" { check_forbidden mpich; }

check_no_room_at_all() {
    small_disk 300
    launch "$1" 2 recv_wildcard
    run_apart timeout 60 "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 0
    [ "$(grep -c '^rank' <<< "$output")" -eq 2 ]
    expect_in "$stderr" "No space left on device"
    expect_in "$stderr" "refrain: nothing recorded: there is no room for the file of a rank in disk/trace"
    [ ! -e disk/trace ]
}

@test "Open MPI: no room at all: the program goes on" { check_no_room_at_all openmpi; }
@test "MPICH: no room at all: the program goes on" { check_no_room_at_all mpich; }

@test "no permission for the trace: 123, nothing run" {
    launch mpich 2 recv_wildcard
    if [ "$(id -u)" -eq 0 ]; then
        small_disk 64
        mount -o remount,ro disk
    else
        chmod a-w disk
    fi
    run_apart "$REFRAIN" record -o disk/trace "${launch[@]}"
    expect_status 123
    [ -z "$output" ]
    expect_in "$stderr" "disk/trace"
}

# A receive that another thread has posted may have taken a message when the process was killed. Nobody knows which, so
# that what a later receive took cannot be given to it again.
check_in_the_way() {
    cat > way.c << 'EOT'
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *receive(void *unused) {
    int word;
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}
int main(void) {
    int provided, rank, word = 0;
    MPI_Request request;
    pthread_t thread;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
        pthread_create(&thread, NULL, receive, NULL);
        pthread_join(thread, NULL);
        raise(SIGKILL);
    }
    MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    sleep(30);
    return 0;
}
EOT
    "mpicc.$1" -O1 -pthread -o way way.c
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "mpirun.$1" -n 2 ./way
    expect_status 137
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 137
    expect_in "$stderr" "rank 0 followed its recording up to event"
    expect_in "$stderr" "ran free from there on: the recording was cut off while an earlier receive was taking a message"
}

@test "Open MPI: a recording that cannot be followed to its end says so" { check_in_the_way openmpi; }
@test "MPICH: a recording that cannot be followed to its end says so" { check_in_the_way mpich; }

# Nobody has seen what the first receive took. But rank 1 has waited until it took something.
check_unseen() {
    cat > unseen.c << 'EOT'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int rank, first = 0, second = 0;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request);
        MPI_Recv(&second, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d\n", second);
        fflush(stdout);
        raise(SIGKILL);
    }
    second = 7;
    MPI_Ssend(&first, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    MPI_Send(&second, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    sleep(30);
    return 0;
}
EOT
    "mpicc.$1" -O1 -o unseen unseen.c
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "mpirun.$1" -n 2 ./unseen
    expect_status 137
    run_apart "$REFRAIN" dump --rank 0 trace
    expect_in "$output" "source unknown, tag unknown"
    run_apart timeout -k 5 60 "$REFRAIN" replay --stall-timeout 5 trace
    expect_status 137
    expect_in "$output" 7
}

@test "Open MPI: a receive that nobody saw takes a message again" { check_unseen openmpi; }
@test "MPICH: a receive that nobody saw takes a message again" { check_unseen mpich; }

# Many programs only say that several threads may call.
check_one_of_many() {
    cat > one.c << 'EOT'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int provided, rank, words[2] = {0};
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[i]);
        MPI_Wait(&requests[1], &status);
        printf("%d\n", words[1]);
        fflush(stdout);
        raise(SIGKILL);
    }
    usleep(access("late", F_OK) == 0 && rank == 1 ? 300000 : 0);
    MPI_Send(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    sleep(30);
    return 0;
}
EOT
    "mpicc.$1" -O1 -o one one.c
    touch late
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "mpirun.$1" -n 3 ./one
    expect_status 137
    expect_in "$output" 1
    rm late
    for _ in 1 2 3; do
        run_apart timeout -k 5 60 "$REFRAIN" replay --stall-timeout 5 trace
        expect_status 137
        expect_in "$output" 1
        [[ $stderr != *"ran free"* ]]
    done
}

@test "Open MPI: one thread where several may call: what it took is known" { check_one_of_many openmpi; }
@test "MPICH: one thread where several may call: what it took is known" { check_one_of_many mpich; }

# A rank that was ended before it had begun has left no file, here because the command takes it away. If
# the job did not fail, a file that is not there is lost.
check_not_begun() {
    launch "$1" 3 everyone 5
    printf '#!/bin/sh\n%s\n[ -e spoil ] && rm -f "$REFRAIN_TRACE"/rank-1.* spoil\nexit $(cat status)\n' "${launch[*]}" > start
    chmod +x start
    touch spoil
    echo 7 > status
    run_apart timeout $PATIENCE "$REFRAIN" record --mpi "$1" -o trace ./start
    expect_status 7
    expect_in "$stderr" "refrain: rank 1 had not begun when the job failed: nothing is recorded of it"
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 1 was killed or crashed after 0 events"
    run_apart timeout $PATIENCE "$REFRAIN" replay --stall-timeout 10 trace
    expect_in "$stderr" "no difference"
    [ "$(grep -cE '^rank [012]:' <<< "$output")" -eq 3 ]

    touch spoil
    echo 0 > status
    run_apart timeout $PATIENCE "$REFRAIN" record --mpi "$1" -o lost ./start
    expect_status 0
    expect_in "$stderr" "only 2 of 3 ranks left a file"
    run_apart "$REFRAIN" replay lost
    expect_status 122
}

@test "Open MPI: a rank that had not begun is no lost file" { check_not_begun openmpi; }
@test "MPICH: a rank that had not begun is no lost file" { check_not_begun mpich; }
