/* Joins that do not wait, and joins that wait for a while, by either clock. */
#include "trails.h"

enum { COUNT = 32 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static void *run(void *argument) {
    observe_open(1 + (int)(intptr_t)argument);
    work();
    work();
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step("ran", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    work();
    return argument;
}

static int join(pthread_t thread, int way, void **result) {
    struct timespec limit;
    switch (way) {
    case 0:
        sched_yield();
        return pthread_tryjoin_np(thread, result);
    case 1:
        limit = from_now(CLOCK_REALTIME, 50000);
        return pthread_timedjoin_np(thread, result, &limit);
    case 2:
        limit = from_now(CLOCK_MONOTONIC, 50000);
        return pthread_clockjoin_np(thread, result, CLOCK_MONOTONIC, &limit);
    default:
        return pthread_join(thread, result);
    }
}

int main(void) {
    pthread_t threads[COUNT];
    observe_open(0);
    for (int i = 0; i < COUNT; i++)
        must("pthread_create", pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i));
    for (int i = 0; i < COUNT; i++) {
        void *result = NULL;
        long failed = 0;
        int code;
        while ((code = join(threads[i], (i + (int)failed / 4) % 4, &result)) == EBUSY ||
               code == ETIMEDOUT)
            failed++;
        must("join", code);
        observe("failed", failed);
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step_value("joined", &trail, failed + (long)(intptr_t)result);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
    trail_print("all", &trail);
    observe_close();
    return 0;
}
