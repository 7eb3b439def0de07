#!/usr/bin/env bats
# Data races, found while a recording is replayed: by valgrind's Helgrind in any program, by
# ThreadSanitizer in one that was built with it.

load common

# A counter that nobody locks, beside one that is locked.
write_racy() {
    cat > racy.c << 'EOT'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long locked, counter;
static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        locked++;
        pthread_mutex_unlock(&lock);
    }
    counter++; /* line 12 */
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", locked);
    return 3;
}
EOT
}

# Every value is handed over by another primitive, and by nothing else.
write_clean() {
    cat > clean.c << 'EOT'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t full;
static long by_mutex, by_shared, by_spin, by_barrier[3], by_semaphore, by_once, by_condition, by_end;
static int open_now;
static void prepare(void) {
    by_once = 7;
}
static void *run_once(void *unused) {
    (void)unused;
    pthread_once(&once, prepare);
    return (void *)by_once;
}
static void *work(void *argument) {
    long me = (long)argument, sum = 0;
    for (int i = 0; i < 10; i++) {
        by_barrier[me] = i;
        pthread_barrier_wait(&barrier);
        sum += by_barrier[(me + 1) % 3];
        pthread_barrier_wait(&barrier);
    }
    if (me == 0) {
        by_semaphore = 5;
        sem_post(&full);
    } else if (me == 1) {
        sem_wait(&full);
        sum += by_semaphore;
    }
    for (int i = 0; i < 10; i++) {
        pthread_rwlock_rdlock(&shared);
        sum += by_shared;
        pthread_rwlock_unlock(&shared);
        pthread_rwlock_wrlock(&shared);
        by_shared++;
        pthread_rwlock_unlock(&shared);
        pthread_spin_lock(&spin);
        by_spin++;
        pthread_spin_unlock(&spin);
        if (pthread_mutex_trylock(&lock) != 0)
            pthread_mutex_lock(&lock);
        by_mutex++;
        pthread_mutex_unlock(&lock);
    }
    return (void *)sum;
}
/* The signal is sent without the mutex. */
static void *opener(void *unused) {
    by_condition = 11;
    pthread_mutex_lock(&door);
    open_now = 1;
    pthread_mutex_unlock(&door);
    pthread_cond_broadcast(&opened);
    return unused;
}
static void *guest(void *unused) {
    (void)unused;
    pthread_mutex_lock(&door);
    while (!open_now)
        pthread_cond_wait(&opened, &door);
    pthread_mutex_unlock(&door);
    return (void *)by_condition;
}
static void *end(void *unused) {
    by_end += 2;
    return unused;
}
static long try_to_join(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, end, NULL);
    while (pthread_tryjoin_np(thread, NULL) != 0)
        sched_yield();
    return by_end;
}
static long run(int count, void *(*functions[])(void *)) {
    pthread_t threads[3];
    long sum = 0;
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, functions[i], (void *)i);
    for (int i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    return sum;
}
int main(void) {
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, NULL, 3);
    sem_init(&full, 0, 0);
    long sum = run(3, (void *(*[])(void *)){work, work, work});
    sum += run(3, (void *(*[])(void *)){run_once, run_once, run_once});
    sum += run(3, (void *(*[])(void *)){guest, opener, guest});
    sum += try_to_join();
    printf("%ld %ld %ld %ld\n", by_mutex, by_shared, by_spin, sum);
    return 4;
}
EOT
}

# The same for what OpenMP has.
write_team() {
    cat > team.c << 'EOT'
#include <omp.h>
#include <stdio.h>
enum { COUNT = 24 };
static long cells[COUNT], by_critical, by_lock, by_ordered, by_single, by_section[2], by_task[4], read_by[2];
static omp_lock_t lock;
static void loops(void) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < COUNT; i++) {
        cells[i] = i;
#pragma omp critical
        by_critical += i;
        omp_set_lock(&lock);
        by_lock += i;
        omp_unset_lock(&lock);
    }
#pragma omp parallel for schedule(dynamic) ordered
    for (int i = 0; i < COUNT; i++) {
#pragma omp ordered
        by_ordered = by_ordered * 3 + cells[i];
    }
#pragma omp parallel for schedule(dynamic) ordered(1)
    for (int i = 1; i < COUNT; i++) {
#pragma omp ordered depend(sink : i - 1)
        cells[i] += cells[i - 1];
#pragma omp ordered depend(source)
    }
}
static void shares(void) {
#pragma omp parallel
    {
        long mine;
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int i = 0; i < 5; i++) {
            cells[me] = i;
#pragma omp barrier
            mine = cells[(me + 1) % all];
#pragma omp barrier
        }
#pragma omp single copyprivate(mine)
        mine = by_single = cells[0];
#pragma omp sections
        {
#pragma omp section
            by_section[0] = mine;
#pragma omp section
            by_section[1] = mine;
        }
        cells[me] = by_section[0] + by_section[1];
    }
}
static void tasks(void) {
#pragma omp parallel
#pragma omp single
    {
        long sum = 0;
#pragma omp taskgroup
        for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
            {
                by_task[i] = cells[i];
#pragma omp task
                by_task[i]++;
#pragma omp taskwait
                by_task[i] *= 2;
            }
        }
        for (int i = 0; i < 4; i++)
            sum += by_task[i];
#pragma omp task depend(out : by_single)
        by_single = sum;
#pragma omp task depend(in : by_single)
        read_by[0] = by_single;
#pragma omp task depend(in : by_single)
        read_by[1] = by_single;
#pragma omp task depend(inout : by_single)
        by_single += read_by[0] + read_by[1];
    }
}
int main(void) {
    long sum = 0;
    omp_set_num_threads(3);
    omp_init_lock(&lock);
    loops();
    shares();
    tasks();
#pragma omp parallel reduction(+ : sum)
    sum += by_single;
    omp_destroy_lock(&lock);
    printf("%ld %ld %ld %ld\n", by_critical, by_lock, by_ordered, sum);
    return 4;
}
EOT
}

# Two members of a team write what only a critical section would let them, which comes too late.
write_team_racy() {
    cat > team_racy.c << 'EOT'
#include <omp.h>
#include <stdio.h>
static long locked, shared;
int main(void) {
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 1)
            shared = 1; /* line 8 */
        else if (omp_get_thread_num() == 2)
            shared = 2; /* line 10 */
#pragma omp barrier
#pragma omp critical
        locked += shared;
    }
    printf("%d\n", locked > 0);
    return 3;
}
EOT
}

build() {
    local name=$1
    shift
    gcc -std=gnu17 -g -O1 "$@" -o "$name" "$name.c" -pthread
}

check_racy() {
    write_racy
    build racy "$@"
    # ThreadSanitizer gives the recorded program a status of its own.
    TSAN_OPTIONS=exitcode=3 run_apart "$REFRAIN" record -q --threads ./racy
    expect_status 3
    recorded=$output
    for _ in 1 2; do
        TSAN_OPTIONS=exitcode=3 run_apart timeout 120 "$REFRAIN" replay --race-detect
        expect_status 121
        [ "$output" = "$recorded" ]
        expect_in "$stderr" "no difference"
        expect_in "$stderr" "refrain: data race: rank 0, thread "
        # Every thread has locked twenty times before it counts.
        expect_in "$stderr" ", operation 20: racy.c:12 against racy.c:12,"
        grep -qE '^  found     thread [123] (reads|writes) 8 bytes at racy.c:12 in work, after operation 20$' stderr.text
        grep -qE '^  against   thread [123] (read|wrote) 8 bytes at racy.c:12 in work, after operation 20 at the latest$' \
            stderr.text
        expect_in "$stderr" "counter"
        expect_in "$stderr" "hint: refrain dump --rank 0 refrain.data/racy-1"
    done
}

@test "helgrind finds a data race: thread, operation and both lines" { check_racy; }
@test "ThreadSanitizer finds a data race: thread, operation and both lines" { check_racy -fsanitize=thread; }

# check_clean NAME TOOL [FLAG...]
check_clean() {
    local name=$1 tool=$2
    shift 2
    "write_$name"
    build "$name" "$@"
    run_apart "$REFRAIN" record -q --threads "./$name"
    expect_status 4
    [ -z "$stderr" ]
    recorded=$output
    run_apart timeout 120 "$REFRAIN" replay --race-detect
    expect_status 4
    [ "$output" = "$recorded" ]
    expect_in "$stderr" "no difference"
    expect_in "$stderr" "refrain: no data race on this run's synchronisation order ($tool looked at 1 process)"
    run_apart timeout 120 "$REFRAIN" replay --race-detect -q
    expect_status 4
    [ -z "$stderr" ]
}

@test "helgrind reports nothing where everything is ordered" { check_clean clean helgrind; }
@test "ThreadSanitizer reports nothing where everything is ordered" {
    check_clean clean tsan -fsanitize=thread
}
@test "helgrind reports nothing where OpenMP orders everything" { check_clean team helgrind -fopenmp; }
@test "ThreadSanitizer reports nothing where OpenMP orders everything" {
    check_clean team tsan -fopenmp -fsanitize=thread
}

check_team_racy() {
    write_team_racy
    build team_racy -fopenmp "$@"
    TSAN_OPTIONS=exitcode=3 run_apart "$REFRAIN" record -q --threads ./team_racy
    expect_status 3
    TSAN_OPTIONS=exitcode=3 run_apart timeout 120 "$REFRAIN" replay --race-detect --verbose
    expect_status 121
    expect_in "$stderr" "no difference"
    grep -qE 'data race: rank 0, thread [12], operation 0: team_racy.c:(8 against team_racy.c:10|10 against team_racy.c:8),' \
        stderr.text
    [ "$(grep -c 'data race:' stderr.text)" -eq 1 ]
}

@test "helgrind finds the one data race of a team, with both lines" { check_team_racy; }
@test "ThreadSanitizer finds the one data race of a team, with both lines" {
    check_team_racy -fsanitize=thread
}

@test "ThreadSanitizer linked into a program with OpenMP cannot be told of its order, which is said" {
    write_team_racy
    build team_racy -fopenmp -fsanitize=thread -static-libtsan
    TSAN_OPTIONS=exitcode=3 "$REFRAIN" record -q --threads ./team_racy > recorded.text || [ $? -eq 3 ]
    TSAN_OPTIONS=exitcode=3 run_apart timeout 120 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" "the program uses OpenMP: tsan does not see all of how its library orders threads"
}

@test "ThreadSanitizer linked into the program itself finds a data race" {
    write_racy
    build racy -fsanitize=thread -static-libtsan
    TSAN_OPTIONS=exitcode=3 "$REFRAIN" record -q --threads ./racy > recorded.text 2> recorder.text ||
        [ $? -eq 3 ]
    TSAN_OPTIONS=exitcode=3 run_apart timeout 120 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" ", operation 20: racy.c:12 against racy.c:12,"
}

@test "a race as JSON" {
    write_racy
    build racy
    "$REFRAIN" record -q --threads ./racy > recorded.text || [ $? -eq 3 ]
    run_apart timeout 120 "$REFRAIN" replay --race-detect --json
    expect_status 121
    python3 - stderr.text << 'EOT'
import json, sys
facts = json.loads(open(sys.argv[1]).read())
races = facts["races"]
assert facts["outcome"] == "same" and facts["status"] == 121, facts
assert races["tool"] == "helgrind" and races["processes"] == 1 and races["found"], races
race = races["found"][0]
found, against = race["found"], race["against"]
assert race["rank"] == 0 and found["thread"] != against["thread"], race
assert found["at"] == against["at"] == "racy.c:12", race
assert (found["when"], found["operation"]) == ("after", 20), race
assert (against["when"], against["operation"]) == ("until", 20), race
assert found["stack"][0]["function"] == "work" and "counter" in race["data"], race
EOT
}

# Two ranks with two threads each; only the first thread calls MPI. With an argument they race.
write_hybrid() {
    cat > hybrid.text << 'EOT'
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long locked, counter;
static int races;
static void *work(void *unused) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        locked++;
        pthread_mutex_unlock(&lock);
    }
    if (races)
        counter++; /* line 14 */
    return unused;
}
int main(int argc, char **argv) {
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    races = argc > 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (rank != 0) {
        MPI_Send(&locked, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
    } else {
        long got;
        MPI_Recv(&got, 1, MPI_LONG, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%ld\n", got);
    }
    MPI_Finalize();
    return 0;
}
EOT
}

check_hybrid() {
    write_hybrid
    compile "$1" hybrid -pthread < hybrid.text
    "$REFRAIN" record -q --threads "${launch[@]}"
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 0
    expect_in "$output" "20"
    expect_in "$stderr" "refrain: no data race on this run's synchronisation order (helgrind looked at 2 processes)"
    "$REFRAIN" record -q --threads "${launch[@]}" race
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" "refrain: data race: rank 0, thread "
    expect_in "$stderr" ", operation 10: hybrid.c:14 against hybrid.c:14,"
    # Both ranks run the same program.
    expect_in "$stderr" " more in rank"
}

@test "Open MPI: helgrind looks at the ranks, and not at what MPI does inside" { check_hybrid openmpi; }
@test "MPICH: helgrind looks at the ranks, and not at what MPI does inside" { check_hybrid mpich; }

check_hybrid_tsan() {
    write_hybrid
    compile "$1" hybrid -pthread -fsanitize=thread < hybrid.text
    # What MPI does inside is reported while it is recorded, and is nothing of ours.
    "$REFRAIN" record -q --threads "${launch[@]}" > recorded.text 2>&1
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 0
    expect_in "$stderr" "refrain: no data race on this run's synchronisation order (tsan looked at 2 processes)"
    "$REFRAIN" record -q --threads "${launch[@]}" race > recorded.text 2>&1
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" ", operation 10: hybrid.c:14 against hybrid.c:14,"
}

# ThreadSanitizer does not survive all that the libraries do: the shared memory of Open MPI 5's PMIx, and UCX, which changes
# the C library's functions for memory while it runs, and reads other processes' memory.
@test "Open MPI: ThreadSanitizer in the ranks" {
    TSAN_OPTIONS=exitcode=0 PMIX_MCA_gds=hash check_hybrid_tsan openmpi
}
@test "MPICH: ThreadSanitizer in the ranks" {
    TSAN_OPTIONS=exitcode=0 UCX_MEM_EVENTS=n UCX_TLS=^cma check_hybrid_tsan mpich
}

# A pipe lets the thread write first, but is no order that the tool knows.
check_buffer() {
    compile "$1" buffer -pthread << 'EOT'
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>
static long buffer[100];
static int ends[2];
static void *scribble(void *unused) {
    buffer[50] = 1; /* line 7 */
    return write(ends[1], "x", 1) == 1 ? unused : NULL;
}
int main(int argc, char **argv) {
    int rank, level;
    char byte;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, scribble, NULL) != 0)
        return 1;
    if (read(ends[0], &byte, 1) != 1)
        return 1;
    if (rank == 0)
        MPI_Recv(buffer, 100, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line 21 */
    else
        MPI_Send(buffer, 100, MPI_LONG, 0, 0, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
EOT
    "$REFRAIN" record -q --threads "${launch[@]}"
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" "refrain: data race: rank 0, thread 0, operation 1: buffer.c:21 against buffer.c:7,"
    expect_in "$stderr" "at buffer.c:21 in main, through MPI_Recv, after operation 1"
    expect_in "$stderr" "thread 1 wrote 8 bytes at buffer.c:7 in scribble, after operation 0 at the latest"
}

@test "Open MPI: a buffer is written while MPI receives into it" { check_buffer openmpi; }
@test "MPICH: a buffer is written while MPI receives into it" { check_buffer mpich; }

# One thread may carry out what another one has asked MPI for.
check_multiple() {
    launch "$1" 2 thr_both
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 0
    expect_in "$stderr" "refrain: no data race on this run's synchronisation order (helgrind looked at 2 processes)"
}

@test "Open MPI: threads that call MPI at the same time" { check_multiple openmpi; }
@test "MPICH: threads that call MPI at the same time" { check_multiple mpich; }

@test "two programs in one job are both looked at" {
    skip_unless_several_programs openmpi
    write_hybrid
    compile openmpi hybrid -pthread < hybrid.text
    cp hybrid other
    "$REFRAIN" record -q --threads mpirun.openmpi -n 1 ./hybrid : -n 1 ./other race
    run_apart timeout 300 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" "refrain: data race: rank 1, thread "
}

@test "a program behind a script is looked at" {
    write_racy
    build racy
    printf '#!/bin/sh\n./racy\nexit 5\n' > script
    chmod +x script
    "$REFRAIN" record -q --threads ./script > recorded.text || [ $? -eq 5 ]
    run_apart timeout 120 "$REFRAIN" replay --race-detect
    expect_status 121
    expect_in "$stderr" "racy.c:12 against racy.c:12"
}

@test "a recording without threads has no data races to look for" {
    launch openmpi 2 recv_wildcard
    "$REFRAIN" record -q "${launch[@]}" > recorded.text
    run_apart "$REFRAIN" replay --race-detect
    expect_status 120
    [ -z "$output" ]
    expect_in "$stderr" "has no order of threads: the program created none, or it was recorded without --threads"
    expect_in "$stderr" "hint: refrain record --threads mpirun.openmpi"
    run_apart "$REFRAIN" replay --race-detect --rank 1
    expect_status 120
    expect_in "$stderr" "--race-detect: looks at all ranks of a job, not at one alone"
}

@test "without valgrind it says what to install" {
    write_racy
    build racy
    mkdir bin
    "$REFRAIN" record -q --threads ./racy > recorded.text || [ $? -eq 3 ]
    run_apart env PATH="$PWD/bin" "$REFRAIN" replay --race-detect
    expect_status 123
    [ -z "$output" ]
    expect_in "$stderr" "valgrind: not found, and racy was built without -fsanitize=thread"
    expect_in "$stderr" "hint: apt-get install valgrind"
}
