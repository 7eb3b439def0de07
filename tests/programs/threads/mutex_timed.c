/* A mutex that is waited for with a limit, on both clocks, with limits that are over already, and
   with one that is none. */
#include "trails.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static int take(int round) {
    struct timespec limit;
    switch (round % 4) {
    case 0:
        limit = from_now(CLOCK_REALTIME, 20000);
        return pthread_mutex_timedlock(&mutex, &limit);
    case 1:
        limit = from_now(CLOCK_MONOTONIC, 20000);
        return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit);
    case 2:
        limit = (struct timespec){1, 0};
        return pthread_mutex_timedlock(&mutex, &limit);
    default:
        limit = (struct timespec){0, -1};
        return pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &limit);
    }
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        int code = take(i + number);
        /* A limit that makes no sense matters to those only who have to wait. */
        observe("code", code);
        if (code == 0) {
            step("took", &trail);
            work();
            must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        }
        work();
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("mutex", &trail);
    return 0;
}
