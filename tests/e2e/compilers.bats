#!/usr/bin/env bats
# refrain cc and refrain fc: compilers that leave no atomic operation inline.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat > counter.c <<'END'
#include <stdatomic.h>
#include <stdio.h>
static atomic_int counter;
static atomic_flag flag = ATOMIC_FLAG_INIT;
static volatile long older;
int main(void) {
    counter++;
    int set = atomic_flag_test_and_set(&flag);
    atomic_flag_clear(&flag);
    __sync_bool_compare_and_swap(&older, 0, 7);
    long before = __sync_val_compare_and_swap(&older, 7, 8);
    printf("%d %d %ld %ld\n", counter, set, before, __sync_add_and_fetch(&older, 1));
    return 0;
}
END
    cat > twice.cpp <<'END'
#include <atomic>
#include <cstdio>
static std::atomic<int> counter;
static std::atomic_flag flag = ATOMIC_FLAG_INIT;
int main() {
    counter += 2;
    std::printf("%d %d\n", counter.load(), flag.test_and_set());
}
END
    cat > total.f90 <<'END'
program total
  real(8) :: sum
  integer :: i
  sum = 0
  !$omp parallel do reduction(+:sum)
  do i = 1, 4
    sum = sum + i
  end do
  print '(f4.1)', sum
end program
END
}

@test "cc: a program whose atomic operations are all calls" {
    run_apart "$REFRAIN" cc -Wall -Wextra -Werror -O2 counter.c -o counter
    expect_status 0
    [ -z "$output$stderr" ]
    run_apart ./counter
    [ "$output" = "1 0 7 9" ]
    nm -D counter > names
    for name in fetch_add_4 exchange_1 store_1 compare_exchange_8 fetch_add_8; do
        grep -q "__atomic_$name" names
    done
    if objdump -d counter | grep -q -E '\slock\s|xchg .*\('; then return 1; fi
}

@test "cc: objects first, the program later; the compiler of \$CC with its own words" {
    CC="gcc -g" "$REFRAIN" cc -c counter.c
    "$REFRAIN" cc counter.o -o counter
    run_apart ./counter
    [ "$output" = "1 0 7 9" ]
    readelf -S counter.o | grep -q debug_info
}

@test "cc --cxx and fc" {
    "$REFRAIN" cc --cxx -Wall -Wextra -Werror -O2 twice.cpp -o twice
    run_apart ./twice
    [ "$output" = "2 0" ]
    nm -D twice > names
    grep -q __atomic_exchange_1 names
    "$REFRAIN" fc -Wall -Werror -O2 -fopenmp total.f90 -o total
    run_apart ./total
    [ "$output" = "10.0" ]
    nm -D total > names
    grep -q __atomic_compare_exchange_8 names
}

@test "cc passes on what is none of its business, and the compiler's status" {
    run_apart "$REFRAIN" cc --version
    expect_status 0
    expect_in "$output" "Free Software Foundation"
    run_apart "$REFRAIN" cc -- --help
    expect_status 0
    expect_in "$output" "Usage: "
    run_apart "$REFRAIN" cc -dumpversion
    expect_status 0
    [[ $output =~ ^[0-9.]+$ ]]
    echo 'int main(void) { return oops; }' > bad.c
    run_apart "$REFRAIN" cc bad.c
    expect_status 1
    expect_in "$stderr" "oops"
}

@test "cc: a compiler that is not there, or not GCC: 123" {
    run_apart env CC=no-such-compiler "$REFRAIN" cc counter.c
    expect_status 123
    [ "$stderr" = "refrain: cannot run no-such-compiler: no such program" ]
    printf '#!/bin/sh\necho "unknown argument" >&2\nexit 1\n' > other
    chmod +x other
    run_apart env CC=./other "$REFRAIN" cc counter.c
    expect_status 123
    expect_in "$stderr" "./other does not know -fno-inline-atomics: only GCC does"
}

# The handler may come while the thread that it interrupts is in the middle of such an operation.
@test "a signal handler with atomic operations does not stop the recording" {
    cat > ticks.c << 'EOT'
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
static atomic_int ticks, stop;
static void tick(int number) { ticks += number != 0; }
static void *run(void *argument) {
    while (!stop)
        continue;
    return argument;
}
int main(void) {
    pthread_t thread;
    signal(SIGALRM, tick);
    pthread_create(&thread, NULL, run, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 200}, {0, 200}}, NULL);
    while (ticks < 300)
        continue;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    stop = 1;
    return pthread_join(thread, NULL);
}
EOT
    "$REFRAIN" cc -O1 -pthread -o ticks ticks.c
    run_apart timeout -k 5 $PATIENCE "$REFRAIN" record -q --threads -o trace ./ticks
    expect_status 0
}
