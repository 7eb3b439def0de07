#!/usr/bin/env bats
# Requests that are given up: a cancel that goes another way in the replay, and recordings that were cut
# off before anybody saw how it went.

load common

# Rank 1's message and rank 0's cancel, in an order that files decide: with EARLY the message is first.
compile_race() {
    compile "$1" race <<'PROGRAM'
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void tell(const char *file) {
    close(open(file, O_CREAT | O_WRONLY, 0666));
}
static void await(const char *file) {
    while (access(file, F_OK))
        usleep(1000);
}

int main(int argc, char **argv) {
    int rank, word = 0, early = getenv("EARLY") != NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Request request;
        MPI_Status status;
        int cancelled, other;
        MPI_Irecv(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        if (early)
            await("sent");
        MPI_Recv(&other, 1, MPI_INT, 2, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(&request);
        tell("cancelled");
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        printf("cancelled %d\n", cancelled);
        if (cancelled)
            MPI_Recv(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("word %d\n", word);
    } else {
        if (rank == 1 && !early)
            await("cancelled");
        if (rank == 2 && early)
            await("sent");
        MPI_Send(&rank, 1, MPI_INT, 0, rank == 1 ? 4 : 6, MPI_COMM_WORLD);
        if (rank == 1)
            tell("sent");
    }
    MPI_Finalize();
}
PROGRAM
    launch[2]=3
}

won() {
    compile_race "$1"
    run_apart timeout -k 5 60 "$REFRAIN" record -o trace "${launch[@]}"
    expect_status 0
    expect_in "$output" "cancelled 1"
    [[ $stderr != *"not recorded"* ]]
    rm sent cancelled
    # As long as the message is not there before, all is well.
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 0
    expect_in "$output" "cancelled 1"
    expect_in "$output" "word 1"
    rm sent cancelled
    EARLY=1 run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 121
    expect_in "$stderr" "the replay diverged: rank 0, event "
    expect_in "$stderr" "the request was cancelled in the recording"
    expect_in "$stderr" "  expected  MPI_Cancel at race.c:$(grep -n MPI_Cancel race.c | cut -d: -f1)"
}

@test "Open MPI: a named receive was cancelled, but its message is here: 121" { won openmpi; }
@test "MPICH: a named receive was cancelled, but its message is here: 121" { won mpich; }

lost() {
    compile_race "$1"
    EARLY=1 run_apart timeout -k 5 60 "$REFRAIN" record -o trace "${launch[@]}"
    expect_status 0
    expect_in "$output" "cancelled 0"
    rm sent cancelled
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 0
    expect_in "$output" "cancelled 0"
    expect_in "$output" "word 1"
}

@test "Open MPI: a cancel that lost loses again, however late the message is" { lost openmpi; }
@test "MPICH: a cancel that lost loses again, however late the message is" { lost mpich; }

# Rank 0 gives up requests in every way and dies; with GO_ON it lives and goes on.
compile_cut() {
    compile "$1" cut <<'PROGRAM'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, word = 7;
    static int words[5];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Request requests[5];
        MPI_Status status;
        int cancelled;
        for (int i = 0; i < 5; i++)
            MPI_Irecv(&words[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 1, i, MPI_COMM_WORLD,
                      &requests[i]);
        for (int i = 0; i < 4; i++)
            MPI_Cancel(&requests[i]);
        MPI_Request_free(&requests[2]);
        MPI_Request_free(&requests[3]);
        MPI_Irecv(&words[3], 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[3]);
        MPI_Request_free(&requests[3]);
        if (!getenv("GO_ON"))
            raise(SIGKILL);
        for (int i = 0; i < 2; i++) {
            MPI_Wait(&requests[i], &status);
            MPI_Test_cancelled(&status, &cancelled);
            printf("request %d: cancelled %d\n", i, cancelled);
        }
        MPI_Send(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Wait(&requests[4], &status);
        MPI_Recv(&word, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("words %d %d\n", words[3], words[4]);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++) {
            word = 10 + i;
            MPI_Send(&word, 1, MPI_INT, 0, i < 2 ? 4 : 6, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
}
PROGRAM
}

go_on() {
    GO_ON=1 run_apart timeout -k 5 60 "$REFRAIN" replay -q trace
    expect_in "$output" "request 0: cancelled 1"
    expect_in "$output" "request 1: cancelled 1"
    # The named receive was posted first; the freed one has the next message.
    expect_in "$output" "words 11 10"
}

cut_off() {
    compile_cut "$1"
    run_apart timeout -k 5 60 "$REFRAIN" record -q -o trace "${launch[@]}"
    [ "$status" -ne 0 ]
    go_on
    # Both libraries cancel at once. Should one take its time, the log would have no outcome; entries of
    # the log are not checked, so one without can be had.
    python3 - trace/rank-0.tail <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start, = struct.unpack_from("<I", data, 36)
cancels = posts = 0
for at in range(start, len(data), 16):
    kind = data[at] & 15
    first, = struct.unpack_from("<i", data, at + 4)
    if kind == 12:
        struct.pack_into("<i", data, at + 4, -(2**31))
        cancels += 1
    elif kind == 1 and first == -(2**31) + 1:
        struct.pack_into("<ii", data, at + 4, -(2**31), -(2**31))
        posts += 1
assert (cancels, posts) == (4, 2), (cancels, posts)
open(sys.argv[1], "wb").write(data)
PYTHON
    go_on
}

@test "Open MPI: cancels and freed receives of a recording that was cut off" { cut_off openmpi; }
@test "MPICH: cancels and freed receives of a recording that was cut off" { cut_off mpich; }
