#!/usr/bin/env bats
# The command line of --values. That replays print what recordings did is seen in tests/programs/values.

load common

values=$PROGRAMS/values

record() {
    run_apart timeout -k 5 60 "$REFRAIN" record -o trace "$@"
}

replay() {
    run_apart timeout -k 5 60 "$REFRAIN" replay trace
}

@test "all is every kind" {
    record --values all "$values/asks"
    expect_status 0
    recorded=$output
    run_apart "$REFRAIN" info trace
    expect_in "$output" "values     time,random,pid"
    run_apart "$REFRAIN" info --json trace
    expect_in "$output" '"values": "time,random,pid"'
    replay
    expect_status 0
    [ "$output" = "$recorded" ]
}

@test "a list may name kinds in any order, and more than once" {
    record --values pid,time,pid "$values/asks"
    expect_status 0
    run_apart "$REFRAIN" info --json trace
    expect_in "$output" '"values": "time,pid"'
}

@test "what was not asked for is not returned again" {
    record --values random "$values/asks"
    expect_status 0
    recorded=$output
    sleep 1.1
    replay
    expect_status 0
    [ "$(grep bytes <<< "$output")" = "$(grep bytes <<< "$recorded")" ]
    if [ "$(grep time <<< "$output")" = "$(grep time <<< "$recorded")" ]; then
        return 1
    fi
}

@test "a list with an unknown word is refused, and nothing is run" {
    for list in tim time,ranom time, ,pid nonsense; do
        record --values "$list" touch ran
        expect_status 120
        expect_in "$stderr" "refrain: --values $list: "
        expect_in "$stderr" "hint: refrain record --values "
        [ ! -e ran ]
        [ ! -e trace ]
    done
    record --values tim touch ran
    expect_in "$stderr" "did you mean time?"
}

# differs WAY WORDS...: a replay that asks in another way ends with 121 and says these words.
differs() {
    local way=$1
    shift
    rm -rf trace
    record --values all "$values/asks"
    expect_status 0
    ASKS=$way run_apart timeout -k 5 60 "$REFRAIN" replay trace
    expect_status 121
    for words in "$@"; do
        expect_in "$stderr" "$words"
    done
}

@test "another function is a difference" {
    differs other "thread 0" "recorded was clock_gettime(CLOCK_REALTIME)" "came      clock" asks.c:
}

@test "another size is a difference" {
    differs size "thread 0" "asks for 32 bytes, recorded were 16" "getrandom" asks.c:
}

@test "one value more is a difference" {
    differs more "thread 0" "clock_gettime(CLOCK_REALTIME)" asks.c:
}

@test "one value less is a difference" {
    differs fewer "thread 0" "recorded was clock_gettime(CLOCK_REALTIME)" getrandom asks.c:
}

@test "one value more in another thread is a difference" {
    differs thread "thread 1" "clock_gettime(CLOCK_REALTIME)" asks.c:
}

@test "a program that crashes has its values up to there" {
    ASKS=crash record --values all "$values/asks"
    expect_status 134
    recorded=$output
    ASKS=crash replay
    expect_status 134
    [ "$output" = "$recorded" ]
}

@test "a program behind a shell is the one that is recorded" {
    cat > run.sh << EOT
#!/bin/bash
echo "the shell is \$\$" >&2
"$values/asks"
EOT
    chmod +x run.sh
    record --values all ./run.sh
    expect_status 0
    recorded=$output
    sleep 1.1
    replay
    expect_status 0
    [ "$output" = "$recorded" ]
}

@test "addresses are the same, whatever is in the environment" {
    record --values time "$values/pointers"
    expect_status 0
    recorded=$output
    SOMETHING_NEW=$(printf '%01000d' 7) replay
    expect_status 0
    [ "$output" = "$recorded" ]
}

@test "without --values nothing is kept of them" {
    record --threads "$values/asks"
    expect_status 0
    recorded=$output
    sleep 1.1
    replay
    expect_status 0
    if [ "$output" = "$recorded" ]; then
        return 1
    fi
}

# An interpreter does not start the same way on a file, which is what the last one is here, as on the streams of a job.
@test "a rank of Python alone is told its values, whatever its streams are" {
    cat > told.py << 'END'
from mpi4py import MPI
import random, time
world = MPI.COMM_WORLD
if world.rank == 0:
    print("rank 0:", world.recv(source=MPI.ANY_SOURCE), random.random(), time.time())
else:
    world.send(random.random(), dest=0)
END
    record --values all mpirun.openmpi -n 2 /usr/bin/python3 told.py < /dev/null
    expect_status 0
    local said=$output
    run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0 trace
    expect_status 0
    run_apart timeout -k 5 60 "$REFRAIN" replay --rank 0 trace < /dev/null
    expect_status 0
    [ "$output" = "$said" ]
    # Not here: Python reads the names of the files beside its script.
    timeout -k 5 60 "$REFRAIN" replay -q --rank 0 trace < /dev/null > "$BATS_RUN_TMPDIR/said"
    [ "$(cat "$BATS_RUN_TMPDIR/said")" = "$said" ]
}

# Its streams are pipes that we carry: who fills the one must not forget to empty the other.
@test "a rank alone may say much and not read what it is given" {
    cat > says.c << 'EOT'
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
    MPI_Init(&count, &words);
    for (int i = 0; i < 50000; i++)
        printf("line %d\n", i);
    return MPI_Finalize();
}
EOT
    head -c 1000000 /dev/zero > much
    for mpi in openmpi mpich; do
        rm -rf trace
        "mpicc.$mpi" -o says says.c
        record --values all "mpirun.$mpi" -n 1 ./says < /dev/null
        expect_status 0
        said=$output
        run_apart timeout -k 5 60 "$REFRAIN" extract --rank 0 trace < /dev/null
        expect_status 0
        timeout -k 5 60 "$REFRAIN" replay -q --rank 0 trace < much > again
        [ "$(cat again)" = "$said" ]
    done
}

@test "a rank alone is told its values" {
    for mpi in openmpi mpich; do
        rm -rf trace
        record --values all "mpirun.$mpi" -n 2 "$BATS_TEST_DIRNAME/../programs/values/apart" \
            "$values/mpi_values.$mpi" < /dev/null
        expect_status 0
        recorded=$(cat printed.1)
        run_apart timeout -k 5 60 "$REFRAIN" extract --rank 1 trace < /dev/null
        expect_status 0
        run_apart timeout -k 5 60 "$REFRAIN" replay --rank 1 trace < /dev/null
        expect_status 0
        [ "$output" = "$recorded" ]
        run_apart timeout -k 5 60 "$REFRAIN" debug --rank 1 --event 3 --batch "bt 1" trace < /dev/null
        expect_status 0
        expect_in "$output" "mpi_values.c:"
    done
}

@test "a child asks for values while a thread of its parent has the dynamic linker's lock" {
    cat > child.c << 'EOT'
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int inside[2], over[2];
static int stay(struct dl_phdr_info *info, size_t size, void *data) {
    char byte = 0;
    return write(inside[1], &byte, 1) != 1 || read(over[0], &byte, 1) != 1 || (info && size && !data);
}
static void *look(void *argument) {
    dl_iterate_phdr(stay, argument);
    return argument;
}
/* In a page of its own: who calls is looked up once for each. */
__attribute__((noinline, aligned(4096))) static int ask(void) {
    return getpid() != getppid() && time(NULL) > 0 ? 7 : 8;
}
int main(void) {
    pthread_t thread;
    int status;
    char byte;
    if (pipe(inside) || pipe(over) || pthread_create(&thread, NULL, look, NULL) || read(inside[0], &byte, 1) != 1)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(ask());
    waitpid(child, &status, 0);
    if (write(over[1], &byte, 1) != 1 || pthread_join(thread, NULL))
        return 2;
    return WEXITSTATUS(status);
}
EOT
    cc -std=gnu17 -D_GNU_SOURCE -O2 -pthread -o child child.c
    record --values all ./child
    expect_status 7
    replay
    expect_status 7
}
