#!/usr/bin/env bats
# Threads that use one stream of the C library. What each function does is the matter of
# tests/programs/threads/streams.c.

load common

record() {
    run_apart timeout -k 5 $PATIENCE "$REFRAIN" record --threads -o trace "$@"
    expect_status 0
    echo "$output" > recorded.text
}

replay() {
    run_apart timeout -k 5 $PATIENCE "$REFRAIN" replay "$@"
}

# expect_order: plain runs print in different orders, and each replay in that of its recording.
expect_order() {
    local first other round
    first=$("$@")
    for ((round = 0; round < 20; round++)); do
        other=$("$@")
        [ "$other" = "$first" ] || break
    done
    [ "$other" != "$first" ]
    [ "$(sort <<< "$other")" = "$(sort <<< "$first")" ]
    for ((round = 0; round < 5; round++)); do
        rm -rf trace
        record "$@"
        for ((other = 0; other < 4; other++)); do
            replay trace
            expect_status 0
            [ "$output" = "$(cat recorded.text)" ]
        done
    done
}

# Threads that print lines without any lock of their own. With -DMORE they print some more, with -DLESS fewer.
write_lines() {
    cat > lines.c << 'EOT'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static void *run(void *argument) {
    long thread = (long)argument;
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
#ifdef MORE
        if (i % 3 == 0)
            printf("more: %d of thread %ld\n", i, thread);
#endif
#ifdef LESS
        if (i % 3 != 0)
#endif
            printf("thread %ld: %d\n", thread, i);
        for (volatile int k = 0; k < 20000; k++)
            ;
    }
#ifdef MORE
    puts("more: the end");
#endif
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    puts("all");
    return 0;
}
EOT
    cc -std=gnu17 -g -O1 -pthread "$@" lines.c
}

@test "lines come in the recorded order" {
    write_lines -o lines
    expect_order ./lines
    run_apart "$REFRAIN" dump trace
    expect_in "$output" "stdio                    lines.c:"
}

@test "fortified, too" {
    write_lines -O2 -D_FORTIFY_SOURCE=2 -o lines
    nm -D lines | grep -q __printf_chk
    expect_order ./lines
}

@test "std::cout" {
    cat > lines.cpp << 'EOT'
#include <iostream>
#include <string>
#include <thread>
#include <vector>
int main() {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; thread++)
        threads.emplace_back([thread] {
            for (int i = 0; i < 30; i++) {
                std::cout << "thread " + std::to_string(thread) + "\n";
                for (volatile int k = 0; k < 20000; k++)
                    ;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}
EOT
    c++ -std=gnu++17 -pthread -o lines lines.cpp
    expect_order ./lines
}

@test "OpenMP" {
    cat > hello.c << 'EOT'
#include <omp.h>
#include <stdio.h>
int main(void) {
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 20; i++) {
        printf("hello from %d\n", omp_get_thread_num());
        for (volatile int k = 0; k < 20000; k++)
            ;
    }
    return 0;
}
EOT
    cc -fopenmp -o hello hello.c
    expect_order ./hello
}

@test "a line more, or a line less, is no difference" {
    write_lines -o lines
    record ./lines
    mkdir more less
    write_lines -DMORE -o more/lines
    write_lines -DLESS -o less/lines
    for ((i = 0; i < 5; i++)); do
        replay trace -- more/lines
        expect_status 0
        expect_in "$stderr" "no difference"
        [ "$(grep -v more <<< "$output" | sort)" = "$(sort recorded.text)" ]
        [ "$(grep -c more <<< "$output")" -eq 44 ]
        replay trace -- less/lines
        expect_status 0
        expect_in "$stderr" "no difference"
        [ "$output" = "$(awk '!/^thread/ || $3 % 3' recorded.text)" ]
    done
}

@test "a thread that waits for input when the program ends" {
    cat > waits.c << 'EOT'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static sem_t has_read;
static void *run(void *unused) {
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        printf("read: %s", line);
        sem_post(&has_read);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    sem_wait(&has_read);
    usleep(100000);
    puts("ends");
    exit(0);
}
EOT
    cc -pthread -o waits waits.c
    mkfifo input
    for step in record replay; do
        (
            echo "one line"
            sleep 20
        ) > input &
        writer=$!
        if [ $step = record ]; then
            record ./waits < input
        else
            replay trace < input
        fi
        expect_status 0
        kill $writer
        [ "$output" = "$(printf 'read: one line\nends')" ]
    done
}

@test "a thread that is cancelled while it waits for input" {
    cat > cancelled.c << 'EOT'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *run(void *stream) {
    char line[100];
    printf("reads\n");
    fgets(line, sizeof line, stream);
    return NULL;
}
int main(void) {
    int ends[2];
    void *result;
    pthread_t thread;
    if (pipe(ends))
        return 1;
    FILE *stream = fdopen(ends[0], "r");
    pthread_create(&thread, NULL, run, stream);
    usleep(200000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    /* Nobody has the lock of the stream. */
    printf("%s, %d\n", result == PTHREAD_CANCELED ? "cancelled" : "not", ftrylockfile(stream));
    return 0;
}
EOT
    cc -pthread -o cancelled cancelled.c
    record ./cancelled
    [ "$output" = "$(printf 'reads\ncancelled, 0')" ]
    replay trace
    expect_status 0
    [ "$output" = "$(cat recorded.text)" ]
}

@test "a line before a crash" {
    cat > crash.c << 'EOT'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
#ifdef MORE
    fprintf(stderr, "more: %p\n", nothing);
#endif
    *(volatile int *)nothing = 1;
    return NULL;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    return 0;
}
EOT
    cc -g -pthread -o crash crash.c
    mkdir more
    cc -g -pthread -DMORE -o more/crash crash.c
    run_apart timeout -k 5 $PATIENCE "$REFRAIN" record --threads -o trace ./crash
    expect_status 139
    replay trace -- more/crash
    expect_status 139
    expect_in "$stderr" "more: (nil)"
}
