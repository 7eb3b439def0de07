/* Waits that are given up after a while, on both clocks and on the one that the condition was made
   with; a limit that is over already. Those who signal come when they come. */
#include "trails.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, monotonic;
static long tickets;
static struct trail trail;

static int wait_once(int round) {
    struct timespec limit;
    switch (round % 4) {
    case 0:
        limit = from_now(CLOCK_REALTIME, 30000);
        return pthread_cond_timedwait(&changed, &mutex, &limit);
    case 1:
        limit = from_now(CLOCK_MONOTONIC, 60000);
        return pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &limit);
    case 2:
        limit = (struct timespec){1, 0};
        return pthread_cond_timedwait(&changed, &mutex, &limit);
    default:
        limit = from_now(CLOCK_MONOTONIC, 50000);
        return pthread_cond_timedwait(&monotonic, &mutex, &limit);
    }
}

static void take(int number) {
    for (int i = 0; i < ROUNDS / 2; i++) {
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        int code = 0;
        for (int tries = 0; tickets == 0 && tries < 3; tries++) {
            code = wait_once(i + number + tries);
            observe("code", code);
            step_value("woke", &trail, code);
        }
        if (tickets > 0) {
            tickets--;
            step("ticket", &trail);
        }
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        work();
    }
}

static void give(void) {
    for (int i = 0; i < ROUNDS / 2; i++) {
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        tickets++;
        step("gave", &trail);
        must("pthread_cond_signal", pthread_cond_signal(i % 2 ? &monotonic : &changed));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        work();
        work();
    }
}

static void body(int number) {
    if (number % 2)
        take(number);
    else
        give();
}

int main(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    must("pthread_cond_init", pthread_cond_init(&monotonic, &attributes));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("all", &trail);
    observe_write(STDOUT_FILENO, tickets ? "left\n" : "none\n", 5);
    return 0;
}
