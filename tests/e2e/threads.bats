#!/usr/bin/env bats
# The command line on programs that have threads and no messages. That replays repeat recordings is the
# matter of tests/programs/pairs.

load common

threads() {
    launch_copy threads "$@"
}

# compile_threads NAME [FLAG...]: a program of the test's own, from standard input. Sets `launch`.
compile_threads() {
    local name=$1
    shift
    cat > "$name.c"
    cc -std=gnu17 -g -O1 -pthread "$@" -o "$name" "$name.c"
    launch=("$PWD/$name")
}

# What the threads of some programs do for ever: a line for each time.
write_endless() {
    cat > endless.h << 'EOT'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *number) {
    for (int i = 0;; i++) {
        char line[32];
        int length = sprintf(line, "%ld %d\n", (long)number, i);
        pthread_mutex_lock(&mutex);
        if (write(1, line, (size_t)length) != length)
            return NULL;
        pthread_mutex_unlock(&mutex);
        for (volatile int k = 0; k < 50000; k++)
            ;
    }
}
EOT
}

record() {
    run_apart timeout -k 5 $PATIENCE "$REFRAIN" record --threads -o trace "$@"
}

# replay OPTION...: with the run directory where the test can see it.
replay() {
    mkdir -p run
    TMPDIR=$PWD/run run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay "$@"
}

# expect_same: the replay has printed what the recording printed, in any order.
expect_same() {
    [ "$(sort <<< "$output")" = "$(sort recorded.text)" ]
}

# line_in FILE TEXT: the first line that has it.
line_in() {
    grep -n -m 1 "$2" "$1" | cut -d: -f1
}

line_of() {
    local found
    found=$(grep -n -m 1 "$2" "$SOURCES/tests/programs/threads/$1" | cut -d: -f1)
    echo "${found:-nowhere}"
}

# ---- record and replay

@test "record and replay say what they did" {
    threads mutex_types
    record "${launch[@]}"
    expect_status 0
    echo "$output" > recorded.text
    [ "$(wc -l <<< "$stderr")" -eq 2 ]
    expect_in "$stderr" "refrain: recorded: trace: "
    expect_in "$stderr" "5 threads"
    expect_in "$stderr" "hint: refrain replay trace"
    replay trace
    expect_status 0
    expect_same
    expect_in "$stderr" "no difference"
    expect_in "$stderr" "5 threads"
    expect_nothing_left
    replay -q trace
    [ -z "$stderr" ]
}

@test "a quiet recording says nothing" {
    threads spin
    record -q "${launch[@]}"
    expect_status 0
    [ -z "$stderr" ]
}

@test "the trace goes where traces go" {
    threads once
    "$REFRAIN" record --threads "${launch[@]}" > recorded.text
    [ -e refrain.data/once-1/manifest.json ]
    replay
    expect_status 0
    expect_same
}

@test "the program's own status" {
    threads exit_running
    record -q "${launch[@]}"
    expect_status 3
    echo "$output" > recorded.text
    replay -q trace
    expect_status 3
    expect_same
}

# A launcher of any kind in front of the program, which is recorded and not the launcher.
@test "programs started by others" {
    threads cond_queue
    for front in "sh -c exec\ ${launch[0]}" "sh -c ${launch[0]};true" "env ${launch[0]}" "timeout 50 ${launch[0]}" \
        "nice ${launch[0]}"; do
        rm -rf trace
        eval "words=(${front//;/\\;})"
        record "${words[@]}"
        expect_status 0
        echo "$output" > recorded.text
        replay trace
        expect_status 0
        expect_same
    done
}

@test "a rebuilt program replays" {
    threads cond_timed
    record -q "${launch[@]}"
    expect_status 0
    echo "$output" > recorded.text
    for flags in "-O0 -g" "-O3 -fno-inline" "-O1 -g3 -fno-omit-frame-pointer -DNDEBUG"; do
        # shellcheck disable=SC2086 # a list of words
        cc -std=gnu17 -D_GNU_SOURCE $flags -pthread -o cond_timed "$SOURCES/tests/programs/threads/cond_timed.c"
        replay trace
        expect_status 0
        expect_same
        expect_in "$stderr" "no difference"
    done
}

# What a plug-in binds to itself first would be out of our sight.
# It comes before all of ours, and before the program's own.
@test "a library that creates threads and asks for values as it is loaded" {
    cat > early.c << 'EOT'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t threads[3];
static unsigned long trail;
static struct timespec born;
static void *run(void *number) {
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&mutex);
        trail = (trail ^ (unsigned long)number) * 1099511628211u;
        pthread_mutex_unlock(&mutex);
        if (i % 100 == 0)
            sched_yield();
    }
    return number;
}
__attribute__((constructor)) static void load(void) {
    clock_gettime(CLOCK_REALTIME, &born);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, (void *)(i + 1));
}
void say(void) {
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%lx %ld.%09ld\n", trail, (long)born.tv_sec, born.tv_nsec);
}
EOT
    cc -O1 -shared -fPIC -pthread -o libearly.so early.c
    compile_threads late -Wl,--no-as-needed -L. -learly "-Wl,-rpath,$PWD" << 'EOT'
void say(void);
int main(void) { say(); }
EOT
    for _ in 1 2 3; do
        rm -rf trace
        record -q --values time "${launch[@]}"
        expect_status 0
        echo "$output" > recorded.text
        replay -q trace
        expect_status 0
        expect_same
    done
}

# Ours are out of the way, and what the program does to descriptors that it was not given is its own affair.
@test "descriptors have the numbers that they have without us, and a program may close all of them" {
    compile_threads closes -D_GNU_SOURCE << 'EOT'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *run(void *argument) { return argument; }
int main(int count, char **words) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    printf("%d\n", open("/dev/null", O_RDONLY));
    if (count > 1)
        close_range(3, ~0u, 0);
    for (int i = 3; count > 2 && i < 1024; i++)
        open(words[2], O_RDWR | O_CREAT, 0600);
    return pthread_join(thread, NULL);
}
EOT
    plain=$("${launch[@]}")
    record -q "${launch[@]}"
    expect_status 0
    [ "$output" = "$plain" ]
    replay -q trace
    expect_status 0
    [ "$output" = "$plain" ]
    rm -rf trace
    record "${launch[@]}" close
    expect_status 0
    run_apart "$REFRAIN" check trace
    expect_status 0
    replay trace
    expect_status 0
    expect_in "$stderr" "no difference"
    rm -rf trace
    record "${launch[@]}" close mine
    expect_status 0
    [ ! -s mine ]
    replay trace
    expect_status 0
}

@test "threads with the smallest stacks" {
    compile_threads small -D_GNU_SOURCE << 'EOT'
#include <limits.h>
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *argument) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}
int main(void) {
    pthread_t threads[4];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], &small, run, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    replay -q trace
    expect_status 0
}

# It ends the other threads, which have to do what they did.
@test "a program that is replaced by another one" {
    write_endless
    compile_threads replaced -D_GNU_SOURCE << 'EOT'
#include "endless.h"
int main(void) {
    pthread_t thread;
    for (long i = 1; i <= 2; i++)
        pthread_create(&thread, NULL, run, (void *)i);
    usleep(10000);
    execl("/nowhere", "nowhere", (char *)NULL);
    usleep(10000);
    return execl("/bin/echo", "echo", "replaced by", "another", (char *)NULL);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    echo "$output" > recorded.text
    expect_in "$output" "replaced by another"
    replay trace
    expect_status 0
    expect_same
    expect_in "$stderr" "no difference"
    run_apart "$REFRAIN" info trace
    expect_in "$output" "rank 0 was replaced by another program"
}

@test "a plug-in that is bound deeply" {
    cat > plugin.c << 'EOT'
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long trail;
void visit(int number) {
    pthread_mutex_lock(&mutex);
    trail = (trail ^ (unsigned long)number) * 1099511628211u;
    pthread_mutex_unlock(&mutex);
}
unsigned long seen(void) { return trail; }
EOT
    cc -shared -fPIC -pthread -o plugin.so plugin.c
    compile_threads deep -D_GNU_SOURCE << 'EOT'
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdint.h>
static void (*visit)(int);
static void *run(void *number) {
    for (int i = 0; i < 3000; i++) {
        visit((int)(intptr_t)number);
        if (i % 100 == 0)
            sched_yield();
    }
    return NULL;
}
int main(void) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_DEEPBIND);
    visit = (void (*)(int))dlsym(plugin, "visit");
    unsigned long (*seen)(void) = (unsigned long (*)(void))dlsym(plugin, "seen");
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%lx\n", seen());
}
EOT
    results=()
    for _ in 1 2 3 4 5; do
        rm -rf trace
        record -q "${launch[@]}"
        expect_status 0
        echo "$output" > recorded.text
        results+=("$output")
        replay -q trace
        expect_status 0
        expect_same
    done
    # They do differ, or the replays would have shown nothing.
    [ "$(printf '%s\n' "${results[@]}" | sort -u | wc -l)" -ge 2 ]
}

# ---- info, dump and check

@test "info counts turns" {
    threads mutex_trylock
    record -q "${launch[@]}"
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "command    $PWD/mutex_trylock"
    [[ $output =~ "threads    5, "[0-9]+" operations, order by edges" ]]
    [[ $output =~ "  turn "\ +[1-9] ]]
    expect_in "$output" "rank 0 finished"
    run_apart "$REFRAIN" info --json trace
    python3 -c '
import json, sys
threads = json.load(sys.stdin)["threads"]
assert threads["order"] == "edges" and threads["threads"] == 5, threads
# Four threads of sixty rounds, and four creations and joins.
assert threads["operations"] >= 4 * 60 + 8, threads
assert 0 < threads["turns"] < threads["operations"] and threads["bytes"] > 0, threads' <<< "$output"
    run_apart "$REFRAIN" check trace
    expect_status 0
    expect_in "$output" "rank 0: whole"
}

# What happens here is certain: the second thread tries in vain three times, then waits.
@test "dump shows turns, failures and values" {
    compile_threads certain << 'EOT'
#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready, tried;
static void *run(void *argument) {
    sem_wait(&ready);
    for (int i = 0; i < 3; i++)
        pthread_mutex_trylock(&mutex);
    sem_post(&tried);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    sem_init(&tried, 0, 0);
    pthread_create(&thread, NULL, run, NULL);
    pthread_mutex_lock(&mutex);
    sem_post(&ready);
    sem_wait(&tried);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    run_apart "$REFRAIN" dump trace
    expect_status 0
    [ "$(grep -c "value  pthread_create " <<< "$output")" -eq 1 ]
    grep -E " 1 +1 +turn +sem_wait +certain.c:6 +after operation [0-9]+ of thread 0$" <<< "$output"
    grep -E " 1 +2 +fail +pthread_mutex_trylock +certain.c:8 " <<< "$output"
    grep -E " 0 +4 +turn +sem_wait +certain.c:21 +after operation 5 of thread 1$" <<< "$output"
    run_apart "$REFRAIN" dump --json trace
    python3 -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
turns = {(event["thread"], event["function"]) for event in events if event["kind"] == "turn"}
assert {(1, "sem_wait"), (0, "sem_wait")} <= turns, turns
assert all(event["rank"] == 0 for event in events), events' <<< "$output"
}

# ---- orders

@test "the order of clocks, and an edge for every operation" {
    threads rwlock
    for order in rolt every edges; do
        rm -rf trace
        run_apart "$REFRAIN" record -q --thread-order $order -o trace "${launch[@]}"
        expect_status 0
        echo "$output" > recorded.text
        run_apart "$REFRAIN" info trace
        expect_in "$output" "order by $order"
        for _ in 1 2 3; do
            replay -q trace
            expect_status 0
            expect_same
        done
    done
}

@test "an unknown order runs nothing" {
    run_apart "$REFRAIN" record --threads --thread-order clocks -o trace touch ran
    expect_status 120
    expect_in "$stderr" "--thread-order clocks"
    expect_in "$stderr" "edges"
    expect_in "$stderr" "rolt"
    [ ! -e ran ]
    [ ! -e trace ]
    run_apart "$REFRAIN" record --thread-order
    expect_status 120
}

# Threads that meet through a pipe contradict clocks, as paper 004 has them, and no edge.
@test "a pipe between threads: clocks stand still, edges do not" {
    threads pipe
    record -q "${launch[@]}"
    echo "$output" > recorded.text
    replay trace
    expect_status 0
    expect_same
    rm -rf trace
    run_apart "$REFRAIN" record -q --thread-order rolt -o trace "${launch[@]}"
    expect_status 0
    TMPDIR=$PWD/run "$REFRAIN" replay --stall-timeout 1 trace > replayed.text 2> stood.text &
    local replayer=$!
    # Whoever reads from the pipe is not known to wait, so the replay says that nothing moves, and goes on.
    until grep -q "waits until thread" stood.text; do
        kill -0 $replayer
        sleep 0.1
    done
    kill -TERM $replayer
    status=0
    wait $replayer || status=$?
    expect_status 143
    expect_in "$(cat stood.text)" "; the replay goes on"
    [ ! -s replayed.text ]
    expect_nothing_left
}

# The replay of what is recorded in `trace` stands still and says so, in $stderr.
expect_still() {
    run_apart timeout 60 "$REFRAIN" replay --stall-timeout 1 trace
    expect_status 121
    expect_in "$stderr" "the replay stands still"
}

# expect_order NAME: what is recorded by it comes back.
expect_order() {
    rm -rf trace
    run_apart "$REFRAIN" record -q --thread-order "$1" -o trace "${launch[@]}"
    expect_status 0
    echo "$output" > recorded.text
    rm -f forced
    replay trace
    expect_status 0
    expect_same
}

# Who has joined a thread comes with an earlier time stamp than that thread's second operation.
@test "figure 7: clocks that do not tick at the end of a thread stand still, and those that do go on" {
    threads figure7
    expect_order rolt
    expect_order edges
    rm -rf trace
    run_apart "$REFRAIN" record -q --thread-order rolt-no-joins -o trace "${launch[@]}"
    expect_status 0
    run_apart "$REFRAIN" info trace
    expect_in "$output" "order by rolt-no-joins"
    expect_still
    expect_in "$stderr" "is blocked in pthread_join at figure7.c:32"
    grep -qE 'in .* at figure7.c:1[68]: waits until thread [0-9]+ has come to time stamp 2' stderr.text
}

# The execution of the figure is forced while it is recorded, by flags that are not there in the replay.
@test "figure 8: clocks that do not tick when a lock is given up stand still, and those that do go on" {
    compile_threads nested << 'EOT'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static int forced, moment, entries, entered[7];
static void await(int wanted) {
    while (forced && __atomic_load_n(&moment, __ATOMIC_ACQUIRE) < wanted)
        sched_yield();
}
static void *ahead(void *unused) {
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&inner);
        pthread_mutex_unlock(&inner);
    }
    __atomic_store_n(&moment, 1, __ATOMIC_RELEASE);
    return unused;
}
static void enter(int who) {
    entered[entries++] = who;
}
static void *nested(void *unused) {
    pthread_mutex_lock(&outer);
    enter(1);
    await(1);
    pthread_mutex_lock(&inner); /* line 26 */
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    __atomic_store_n(&moment, 2, __ATOMIC_RELEASE);
    return unused;
}
static void *after(void *unused) {
    await(2);
    pthread_mutex_lock(&outer); /* line 34 */
    enter(2);
    pthread_mutex_unlock(&outer);
    return unused;
}
int main(void) {
    void *(*const bodies[])(void *) = {ahead, nested, after};
    pthread_t threads[3];
    forced = access("forced", F_OK) == 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", entered[0], entered[1]);
    return 0;
}
EOT
    touch forced
    expect_order rolt
    touch forced
    expect_order edges
    touch forced
    rm -rf trace
    run_apart "$REFRAIN" record -q --thread-order rolt-no-unlocks -o trace "${launch[@]}"
    expect_status 0
    [ "$output" = "1 2" ]
    rm -f forced
    expect_still
    grep -qE 'thread 2 .*in pthread_mutex_lock at nested.c:26: waits until thread [13] has come to time stamp 6' \
        stderr.text
    expect_in "$stderr" "is blocked in pthread_mutex_lock at nested.c:34"
}

# ---- OpenMP

# The load of the machine is what the file says.
@test "OpenMP: the size of a team that depends on the load comes back" {
    [ "$(nproc)" -ge 2 ] || missing "one processor, so teams of one thread"
    cc -shared -fPIC -o load.so -xc - << 'EOT'
#include <stdio.h>
int getloadavg(double loads[], int count) {
    FILE *file = fopen("load", "r");
    double load = 0;
    if (file && fscanf(file, "%lf", &load) != 1)
        load = 0;
    if (file)
        fclose(file);
    for (int i = 0; i < count; i++)
        loads[i] = load;
    return count;
}
EOT
    compile_threads teams -fopenmp << 'EOT'
#include <omp.h>
#include <stdio.h>
int main(void) {
    omp_set_dynamic(1);
#pragma omp parallel num_threads(2)
#pragma omp critical
    if (omp_get_thread_num() == 0)
        printf("%d threads, %d\n", omp_get_num_threads(), omp_get_dynamic());
    printf("%d\n", omp_get_dynamic());
    return 0;
}
EOT
    export LD_PRELOAD=$PWD/load.so
    for loads in "0 1000" "1000 0"; do
        rm -rf trace
        echo "${loads% *}" > load
        record -q "${launch[@]}"
        expect_status 0
        recorded=$output
        echo "${loads#* }" > load
        [ "$("${launch[@]}")" != "$recorded" ]
        replay trace
        expect_status 0
        [ "$output" = "$recorded" ]
    done
    [ "$recorded" = $'1 threads, 1\n1' ]
}

@test "OpenMP: dump names what a thread did" {
    compile_threads shown -fopenmp << 'EOT'
#include <omp.h>
int main(void) {
    omp_set_num_threads(2);
    static long sum;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 10; i < 14; i++) {
#pragma omp critical
            sum += i;
        }
#pragma omp sections
        {
#pragma omp section
            sum++;
        }
#pragma omp single
        {
#pragma omp task
            sum++;
        }
    }
    return sum != 48;
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    run_apart "$REFRAIN" dump trace
    expect_status 0
    grep -E " value +omp loop +shown.c:[0-9]+ +iterations from 10$" <<< "$output"
    grep -E " value +omp loop, bounds +shown.c:[0-9]+ +iterations from 10 to before 12$" <<< "$output"
    grep -E " value +omp loop(, bounds)? +shown.c:[0-9]+ +iterations from 12 to before 14$" <<< "$output"
    grep -E " value +omp section +shown.c:[0-9]+ +section 1$" <<< "$output"
    grep -E " value +omp single +shown.c:[0-9]+ +is the one$" <<< "$output"
    grep -E " value +omp task +shown.c:[0-9]+ +at point [0-9]+$" <<< "$output"
    # The first one that its member of a team of two has created.
    grep -E " value +omp task +shown.c:[0-9]+ +task [23]$" <<< "$output"
}

# expect_unseen WHAT: recording says so, once, and so does info.
expect_unseen() {
    record "${launch[@]}"
    expect_status 0
    [ "$(grep -c "not recorded: $1: a replay may differ where the program depends on them" stderr.text)" -eq 1 ]
    run_apart "$REFRAIN" info trace
    expect_in "$output" "$1"
}

@test "OpenMP: what is not kept is named when it was used" {
    compile_threads detached -fopenmp << 'EOT'
#include <omp.h>
int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t done;
#pragma omp task detach(done)
        omp_fulfill_event(done);
    }
    return 0;
}
EOT
    expect_unseen "OpenMP tasks with detach"
    rm -rf trace
    compile_threads given_up -fopenmp << 'EOT'
int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp cancel parallel
    }
    return 0;
}
EOT
    OMP_CANCELLATION=true expect_unseen "OpenMP's cancel parallel and cancel taskgroup"
    rm -rf trace
    # Without it the construct does nothing.
    record "${launch[@]}"
    expect_status 0
    [ "$(grep -c "not recorded" stderr.text)" -eq 0 ]
}

@test "OpenMP by Clang's library is named" {
    printf 'int main(void) {\n#pragma omp parallel num_threads(2)\n    ;\n    return 0;\n}\n' > other.c
    clang -fopenmp -o other other.c || missing "no OpenMP for clang"
    launch=("$PWD/other")
    expect_unseen "OpenMP by Clang's library"
}

# ---- what is seen and not ordered

@test "futexes used directly, and threads that the C library makes, are named" {
    compile_threads futex << 'EOT'
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static int word;
static void *run(void *argument) {
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    do
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE));
    return pthread_join(thread, NULL);
}
EOT
    expect_unseen "futexes used directly, as by std::atomic::wait and std::future::wait_for"
    rm -rf trace
    compile_threads timer << 'EOT'
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
static sem_t rung;
static void ring(union sigval unused) {
    (void)unused;
    sem_post(&rung);
}
static void *run(void *argument) {
    sem_wait(&rung);
    return argument;
}
int main(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = ring};
    timer_t timer;
    pthread_t thread;
    sem_init(&rung, 0, 0);
    pthread_create(&thread, NULL, run, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &(struct itimerspec){.it_value = {0, 1000000}}, NULL);
    return pthread_join(thread, NULL);
}
EOT
    expect_unseen "calls in threads that are not recorded, as for timers"
}

@test "Python's switches by time are named, and only these" {
    [ -x /usr/bin/python3 ] || missing "no Python"
    cat > busy.py << 'EOT'
import sys, threading
sys.setswitchinterval(float(sys.argv[1]))
threads = [threading.Thread(target=sum, args=[(i * i for i in range(400000))]) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
EOT
    if ! /usr/bin/python3 -c 'import sys; exit(sys.version_info >= (3, 13))'; then
        launch=(/usr/bin/python3 busy.py 1000)
        expect_unseen "the locks of Python 3.13 and later"
        return
    fi
    launch=(/usr/bin/python3 busy.py 0.001)
    expect_unseen "switches between Python's threads by time"
    rm -rf trace
    launch=(/usr/bin/python3 busy.py 1000)
    record "${launch[@]}"
    expect_status 0
    [ "$(grep -c "not recorded" stderr.text)" -eq 0 ]
    run_apart timeout $PATIENCE "$REFRAIN" replay trace
    expect_status 0
}

@test "a future that is waited for with a limit is named" {
    cat > future.cpp << 'EOT'
#include <chrono>
#include <future>
#include <unistd.h>
int main() {
    std::future<int> future = std::async(std::launch::async, [] { return usleep(20000); });
    while (future.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
        continue;
    return future.get();
}
EOT
    c++ -std=gnu++17 -pthread -o future future.cpp
    launch=("$PWD/future")
    expect_unseen "futexes used directly, as by std::atomic::wait and std::future::wait_for"
}

# ---- what cannot be recorded

@test "a static program" {
    cc -std=gnu17 -D_GNU_SOURCE -static -pthread -o fixed "$SOURCES/tests/programs/threads/spin.c"
    record "$PWD/fixed"
    expect_status 123
    expect_in "$stderr" "statically linked"
    [ -z "$output" ]
    [ ! -e trace ]
}

@test "a program without threads" {
    record true
    expect_status 123
    expect_in "$stderr" "nothing recorded"
    [ ! -e trace ]
}

@test "a threaded program without --threads" {
    threads spin
    run_apart "$REFRAIN" record -o trace "${launch[@]}"
    expect_status 123
    expect_in "$stderr" "nothing recorded"
    [ ! -e trace ]
}

# ---- damage

@test "a damaged log of threads" {
    threads mutex_types
    record -q "${launch[@]}"
    cp -r trace whole
    truncate -s -5 trace/rank-0.threads
    replay trace
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "rank-0.threads: is cut off"
    run_apart "$REFRAIN" check trace
    expect_status 122
    rm trace/rank-0.threads
    replay trace
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "missing"
    run_apart "$REFRAIN" check trace
    expect_status 122
    cp -r whole/. trace
    printf '\377\376\375' | dd of=trace/rank-0.threads bs=1 seek=296 conv=notrunc status=none
    replay trace
    expect_status 122
    [ -z "$output" ]
    expect_in "$stderr" "rank-0.threads: is damaged at byte 296"
}

# From some moment on no file can be made longer, as on a full disk.
@test "a log that cannot be lengthened is named, and played up to there" {
    compile_threads full << 'EOT'
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static unsigned long trail;
static void *run(void *number) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&other);
        trail = (trail ^ (unsigned long)number) * 1099511628211u;
        pthread_mutex_unlock(&other);
    }
    /* Two places in turn: nothing can be folded. */
    for (int i = 0; i < 1000000; i++)
        if (pthread_mutex_trylock(&mutex) == 0 || pthread_mutex_trylock(&mutex) == 0)
            return NULL;
    return number;
}
int main(void) {
    pthread_t threads[2];
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)(i + 1));
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%lx\n", trail);
}
EOT
    record "${launch[@]}"
    expect_status 0
    echo "$output" > recorded.text
    expect_in "$stderr" "rank 0: the order of its threads is recorded only up to a point: its log could not be lengthened"
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" ", not to the end: a log could not be lengthened"
    expect_in "$output" "rank 0 finished"
    replay trace
    expect_status 0
    expect_same
}

# The table of places is full, but what was done there is known.
@test "more places than there is room for" {
    compile_threads places << 'EOT'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#define TEN(what) what what what what what what what what what what
#define TRY tried += pthread_mutex_trylock(&mutex) == EBUSY;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *argument) {
    int tried = 0;
    TEN(TEN(TEN(TRY TRY TRY TRY TRY)))
    pthread_attr_t endless;
    pthread_t thread;
    pthread_attr_init(&endless);
    pthread_attr_setstacksize(&endless, (size_t)1 << 47);
    int code = pthread_create(&thread, &endless, run, NULL);
    printf("%d %d\n", tried, code == EAGAIN);
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, run, NULL);
    return pthread_join(thread, NULL);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    [ "$output" = "5000 1" ]
    echo "$output" > recorded.text
    replay -q trace
    expect_status 0
    expect_same
    run_apart "$REFRAIN" info trace
    [[ $output =~ "  fail "\ +5001 ]]
}

# Which ranks had threads is known only when they have run.
@test "a missing log of the threads of a rank" {
    launch mpich 2 thr_funneled
    record -q "${launch[@]}"
    expect_status 0
    rm trace/rank-0.threads
    for verb in check info dump replay; do
        run_apart timeout -k 5 $PATIENCE "$REFRAIN" $verb trace
        expect_status 122
        expect_in "$output$stderr" "rank-0.threads: is missing"
    done
}

# ---- divergence

# check_branch BRANCH THREAD TEXT...: the thread that matches THREAD is told of, and every TEXT.
check_branch() {
    local branch=$1 thread=$2 text
    shift 2
    threads branch
    record -q "${launch[@]}"
    PROGRAM_BRANCH=$branch replay --stall-timeout 0 trace
    expect_status 121
    [[ $stderr =~ "refrain: the replay diverged: rank 0, "([^$'\n']*)"thread "($thread)", operation "([0-9]+)": " ]]
    operation=${BASH_REMATCH[3]}
    for text in "$@"; do
        expect_in "$stderr" "$text"
    done
    expect_in "$stderr" "hint: refrain dump "
    expect_nothing_left
}

@test "one operation more" {
    check_branch more 2 "  came      pthread_mutex_lock at branch.c:$(line_of branch.c 'pthread_mutex_lock(&')"
    [ "$operation" -eq 61 ]
    expect_in "$stderr" "  expected  the end of the thread"
}

@test "one operation less" {
    check_branch less 2 "the thread ends before its recording does"
    [ "$operation" -eq 60 ]
}

# It may be noticed a little later.
@test "another function" {
    check_branch function 2 "  came      pthread_mutex_"
    [ "$operation" -ge 31 ]
    [ "$operation" -le 64 ]
}

# What the handler does is an operation of the thread that it interrupts. It came before the end of the wait, which
# in the replay must not be told to the next one instead.
@test "a signal that comes in a wait" {
    compile_threads interrupted << 'EOT'
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static sem_t semaphore;
static void post(int number) {
    (void)number;
    sem_post(&semaphore);
}
static void *run(void *argument) { return argument; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    sem_init(&semaphore, 0, 0);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = post}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 200000}}, NULL);
    int first = sem_wait(&semaphore), second = sem_wait(&semaphore);
    printf("%d %d\n", first, second);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    [ "$output" = "-1 0" ]
    replay trace
    expect_status 121
    expect_in "$stderr" "recorded was sem_wait"
    expect_in "$stderr" "  expected  sem_wait at interrupted.c:$(line_in interrupted.c sem_wait)"
    expect_in "$stderr" "  came      sem_post at interrupted.c:$(line_in interrupted.c sem_post)"
}

# There is nothing to be said of either but that it was done.
@test "another function, where a thread has done nothing else, and where the program ends" {
    compile_threads few << 'EOT'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, last = PTHREAD_MUTEX_INITIALIZER;
static void use(pthread_mutex_t *mutex, const char *other) {
    if (access(other, F_OK) == 0)
        pthread_mutex_trylock(mutex);
    else
        pthread_mutex_lock(mutex);
}
static void *run(void *argument) {
    use(&first, "thread");
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    use(&last, "end");
    return 0;
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    for other in thread end; do
        touch $other
        replay trace
        expect_status 121
        expect_in "$stderr" "the operations of the thread up to here are not the recorded ones"
        expect_in "$stderr" "  expected  the operations up to number "
        rm $other
    done
    replay -q trace
    expect_status 0
}

@test "one thread more" {
    check_branch thread 0 "  came      pthread_create at trails.h:$(line_of trails.h 'pthread_create(&job')"
}

# check_before WHAT: the program, which calls begin(), differs in it, before WHAT.
check_before() {
    record -q "${launch[@]}"
    expect_status 0
    touch other
    replay --stall-timeout 0 trace
    expect_status 121
    [[ $stderr =~ "refrain: the replay diverged: rank "[0-9]+", event 0: before $1: thread 0, operation "[0-9]+": " ]]
    expect_in "$stderr" "  expected  sem_trywait at before.h:$(line_in before.h sem_trywait)"
    expect_in "$stderr" "  came      sem_post at before.h:$(line_in before.h sem_post)"
    expect_nothing_left
}

# What such a program does at its beginning.
write_before() {
    cat > before.h << 'EOT'
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static void *run(void *argument) { return argument; }
static void begin(void) {
    pthread_t thread;
    sem_t semaphore;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    sem_init(&semaphore, 0, 0);
    if (access("other", F_OK) == 0)
        sem_post(&semaphore);
    sem_trywait(&semaphore);
}
EOT
}

check_before_mpi() {
    write_before
    compile "$1" before -pthread << 'EOT'
#include <mpi.h>
#include "before.h"
int main(int argc, char **argv) {
    int level;
    begin();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Finalize();
    return 0;
}
EOT
    check_before MPI_Init
}

@test "Open MPI: a thread that differs before MPI_Init" { check_before_mpi openmpi; }
@test "MPICH: a thread that differs before MPI_Init" { check_before_mpi mpich; }

@test "MCAPI: a thread that differs before mcapi_initialize" {
    local built
    built=$(dirname "$REFRAIN")
    write_before
    compile_threads before -I"$SOURCES/runtime/mcapi/include" -L"$built/lib" \
        -Wl,-rpath,"$built/lib",--no-as-needed -lmcapi << 'EOT'
#include <mcapi.h>
#include "before.h"
int main(void) {
    mcapi_info_t info;
    mcapi_status_t status;
    begin();
    mcapi_initialize(0, 0, NULL, NULL, &info, &status);
    mcapi_finalize(&status);
    return 0;
}
EOT
    check_before "there is a node"
}

@test "another program" {
    threads branch
    record -q "${launch[@]}"
    cp "$PROGRAMS/threads/semaphore" other
    replay --stall-timeout 2 trace -- "$PWD/other"
    case $status in 121 | 122 | 123) ;; *) expect_status 121 ;; esac
    expect_in "$stderr" "refrain: "
    expect_nothing_left
}

@test "a thread that cannot be created any more" {
    compile_threads large << 'EOT'
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static void *run(void *argument) { return argument; }
int main(void) {
    pthread_t thread;
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, (size_t)1 << 30);
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    if (access("little", F_OK) == 0)
        setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = 1 << 29, .rlim_max = 1 << 29});
    int code = pthread_create(&thread, &large, run, NULL);
    if (code == 0)
        pthread_join(thread, NULL);
    printf("%d\n", code);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    [ "$output" = 0 ]
    touch little
    replay trace
    expect_status 121
    expect_in "$stderr" "the thread cannot be created, as it was recorded"
    expect_nothing_left
}

# A thread keeps what the others wait for: each is told of, with what it waits for.
@test "a lock that is not given back" {
    threads branch
    local lock
    lock="pthread_mutex_lock at branch.c:$(line_of branch.c 'pthread_mutex_lock(&')"
    # In some orders nobody else has anything left to do.
    for _ in 1 2 3 4 5; do
        rm -rf trace
        record -q "${launch[@]}"
        PROGRAM_BRANCH=keeps replay --stall-timeout 2 trace
        expect_status 121
        if grep -q "waits until thread" <<< "$stderr"; then break; fi
    done
    expect_in "$stderr" "refrain: the replay stands still"
    [[ $stderr =~ "thread 0 "[^$'\n']*"pthread_join at trails.h:" ]]
    [[ $stderr =~ "thread 2 "[^$'\n']*"$lock" ]]
    [[ $stderr =~ $lock": waits until thread "[0-9]+" has done "[0-9]+" operations" ]]
    expect_nothing_left
}

lines() {
    if [ -e "$1" ]; then wc -l < "$1"; else echo 0; fi
}

# The recording is of a program whose first thread waits for ever: so does the replay, without a difference.
@test "an endless wait ends with the stall timeout" {
    threads branch endless
    mkdir log
    PROGRAM_LOG=$PWD/log "$REFRAIN" record --threads -q -o trace "${launch[@]}" > recorded.text 2> recorder.text &
    local recorder=$!
    until [ "$(lines log/thread-0.log)" -ge 1 ]; do
        sleep 0.05
    done
    kill -TERM $recorder
    wait $recorder || [ $? -eq 143 ]
    replay --stall-timeout 3 trace
    expect_status 121
    expect_in "$stderr" "refrain: the replay stands still"
    [[ $stderr =~ "thread 0 "[^$'\n']*"pthread_cond_wait at branch.c:" ]]
    expect_nothing_left
}

# ---- programs that end badly

# What a thread wrote down in the recording is the beginning of what it writes down in the replay.
expect_prefix() {
    local file
    for file in recorded/thread-*.log; do
        cmp -n "$(stat -c %s "$file")" "$file" "replayed/${file#recorded/}"
    done
}

# check_kill SIZE: killed when the threads have written down so many bytes.
check_kill() {
    local size=$1 recorder victim
    rm -rf recorded replayed trace
    mkdir recorded replayed
    threads branch long
    PROGRAM_LOG=$PWD/recorded "$REFRAIN" record --threads -q -o trace "${launch[@]}" > recorded.text &
    recorder=$!
    until [ "$(cat recorded/*.log 2> /dev/null | wc -c)" -ge "$size" ]; do
        kill -0 $recorder
    done
    victim=$(pgrep -f "^$PWD/branch long")
    kill -KILL "$victim"
    status=0
    wait $recorder || status=$?
    expect_status 137
    # The program was not at its end.
    [ ! -s recorded.text ]
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "rank 0 was killed or crashed"
    run_apart "$REFRAIN" check trace
    expect_status 0
    PROGRAM_LOG=$PWD/replayed replay -q trace
    expect_status 0
    expect_prefix
    # It has gone on freely from there.
    expect_in "$output" "all: $((4 * 96000)) steps"
    expect_nothing_left
}

@test "threads that come less far before another one has ended the program are told of" {
    compile_threads sooner << 'EOT'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int times, leaves;
static void *run(void *nothing) {
    for (;; usleep(1000)) {
        while (leaves && getenv("SOONER"))
            pause();
        pthread_mutex_lock(&mutex);
        times++;
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}
static void leave(void) {
    leaves = 1;
    for (int more = times + 50; times < more && !getenv("SOONER");)
        usleep(1000);
}
int main(void) {
    pthread_t thread;
    atexit(leave);
    pthread_create(&thread, NULL, run, NULL);
    while (times < 10)
        usleep(1000);
    exit(0);
}
EOT
    record "${launch[@]}"
    expect_status 0
    recorded=$(grep -o '[0-9]* operations' <<< "$stderr" | cut -d' ' -f1)
    SOONER=1 replay trace
    expect_status 0
    [[ $stderr =~ \ ([0-9]+)\ of\ $recorded\ operations,\ no\ difference\ before\ the\ end,\ which\ came\ sooner ]]
    [ "${BASH_REMATCH[1]}" -lt "$recorded" ]
    SOONER=1 replay --json trace
    python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["operations"] < facts["recorded_operations"] == int(sys.argv[1]), facts' "$recorded" <<< "$stderr"
}

@test "kill -9: the replay comes to where it was killed, and goes on" {
    for size in 100 50000; do
        check_kill $size
    done
}

@test "a thread that crashes is told of" {
    threads crash abort
    record -q "${launch[@]}"
    expect_status 134
    echo "$output" > recorded.text
    run_apart "$REFRAIN" info trace
    expect_status 0
    expect_in "$output" "status 134"
    expect_in "$output" "rank 0 was ended by SIGABRT"
    run_apart "$REFRAIN" check trace
    expect_status 0
    replay -q trace
    expect_status 134
    expect_same
    expect_nothing_left
}

# Those that are still at it come to where they were before it crashes; and a crash that comes too early is
# another one.
@test "a crash comes when the other threads have come to where they were, and not before" {
    write_endless
    compile_threads fall -D_GNU_SOURCE << 'EOT'
#include "endless.h"
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static volatile int *nowhere;
int main(void) {
    pthread_t thread;
    for (long i = 1; i <= 2; i++)
        pthread_create(&thread, NULL, run, (void *)i);
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
        if (i == 1 && access("early", F_OK) == 0)
            return *nowhere;
        usleep(5000);
    }
    return *nowhere;
}
EOT
    record -q "${launch[@]}"
    expect_status 139
    echo "$output" > recorded.text
    replay trace
    expect_status 139
    # Who had the lock at the crash may have been about to write its line.
    [ "$(comm -3 <(sort <<< "$output") <(sort recorded.text) | wc -l)" -le 1 ]
    expect_in "$stderr" "no difference"
    touch early
    replay trace
    expect_status 121
    expect_in "$stderr" "refrain: the replay broke off: rank 0 ended"
    expect_in "$stderr" "thread 0    operation 4 of 5"
}

# The others wait for it, and were cut off there: none of them must take its place.
@test "a crash in what is done once" {
    compile_threads once -D_GNU_SOURCE << 'EOT'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local long self;
static unsigned long random_bits;
static void crash(void) {
    pthread_mutex_lock(&mutex);
    usleep(5000);
    printf("thread %ld\n", self);
    fflush(stdout);
    abort();
}
static void *run(void *number) {
    self = (long)number;
    usleep((random_bits >> self * 10) % 1024);
    pthread_once(&once, crash);
    return number;
}
int main(void) {
    pthread_t threads[3];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    random_bits = (unsigned long)now.tv_nsec * 0x9e3779b97f4a7c15u;
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, (void *)(i + 1));
    return pthread_join(threads[0], NULL);
}
EOT
    for _ in 1 2 3 4; do
        rm -rf trace
        record -q "${launch[@]}"
        expect_status 134
        echo "$output" > recorded.text
        replay -q trace
        expect_status 134
        expect_same
    done
}

# A bug that depends on who came first: once recorded it comes back every time, and a good run stays good.
@test "a crash in some orders comes back in every replay" {
    local wanted ended expected
    threads crash order
    for wanted in bad good; do
        for _ in {1..100}; do
            rm -rf trace
            record -q "${launch[@]}"
            ended=bad
            [ "$status" -ne 0 ] || ended=good
            [ "$ended" != $wanted ] || break
        done
        [ "$ended" = $wanted ]
        expected=$status
        grep '^all: ' <<< "$output" > recorded.text
        for _ in 1 2 3 4 5; do
            replay -q trace
            expect_status "$expected"
            [ "$(grep '^all: ' <<< "$output")" = "$(cat recorded.text)" ]
        done
    done
}

# A library that is slow to return from what everybody can see already: the answer to a message is there, and
# another thread has gone on, before the call that sent it is over.
check_answered_early() {
    compile "$1" early -pthread << 'END_OF_PROGRAM'
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
enum { TIMES = 500 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long trail;
static void leave(unsigned mark) {
    pthread_mutex_lock(&mutex);
    trail = trail * 31 + mark;
    pthread_mutex_unlock(&mutex);
}
static void *ask(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (i % 4 == 0)
            leave(1);
    }
    return unused;
}
static void *hear(void *unused) {
    int word;
    for (int i = 0; i < TIMES; i++) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        leave(2);
    }
    return unused;
}
int main(int argc, char **argv) {
    int level, rank, word;
    pthread_t asker, hearer;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    alarm(60);
    if (rank == 0) {
        pthread_create(&asker, NULL, ask, NULL);
        pthread_create(&hearer, NULL, hear, NULL);
        pthread_join(asker, NULL);
        pthread_join(hearer, NULL);
        printf("trail %lx\n", trail);
    }
    for (int i = 0; rank == 1 && i < TIMES; i++) {
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
END_OF_PROGRAM
    cat > slow.c << 'END_OF_LIBRARY'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>
int PMPI_Isend(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request *request) {
    __typeof__(&PMPI_Isend) real = (__typeof__(&PMPI_Isend))dlsym(RTLD_NEXT, "PMPI_Isend");
    int code = real(data, count, type, dest, tag, comm, request);
    usleep(100);
    return code;
}
END_OF_LIBRARY
    "mpicc.$1" -shared -fPIC -o slow.so slow.c -ldl
    for round in 1 2 3; do
        LD_PRELOAD=$PWD/slow.so run_apart "$REFRAIN" record -o "trace$round" "${launch[@]}"
        expect_status 0
        recorded=$output
        run_apart "$REFRAIN" replay --stall-timeout 5 "trace$round"
        expect_status 0
        [ "$output" = "$recorded" ]
    done
}

@test "Open MPI: a message that is answered before the call that sent it returns" { check_answered_early openmpi; }
@test "MPICH: a message that is answered before the call that sent it returns" { check_answered_early mpich; }

@test "where all threads sleep, and none of them for its turn, the replay says so" {
    compile_threads sleeper -D_GNU_SOURCE << 'EOT'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *argument) {
    if (access("sleep", F_OK) == 0)
        sleep(3);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    return pthread_join(thread, NULL);
}
EOT
    record -q "${launch[@]}"
    expect_status 0
    touch sleep
    replay --stall-timeout 1 trace
    expect_status 0
    expect_in "$stderr" "no thread has got on for 1 second; the replay goes on"
    expect_in "$stderr" "is blocked in pthread_join at sleeper.c"
}
