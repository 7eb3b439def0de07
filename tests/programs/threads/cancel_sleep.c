/* Threads that are cancelled in calls that nobody records: how often each came through before
   varies, and whether it came to its end in time. */
#include "trails.h"

#include <stdbool.h>

enum { VICTIMS = 6 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

/* It cannot be cancelled but while it sleeps. */
static void nap(long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    nanosleep(&time, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void *go_on(void *argument) {
    observe_open((int)(intptr_t)argument);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (;;) {
        nap(100000);
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("came through", &trail);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static void *come_to_end(void *argument) {
    nap((intptr_t)argument);
    if ((intptr_t)argument % 2)
        pthread_exit(NULL);
    return NULL;
}

static bool cancel(pthread_t thread) {
    void *result;
    must("pthread_cancel", pthread_cancel(thread));
    must("pthread_join", pthread_join(thread, &result));
    return result == PTHREAD_CANCELED;
}

int main(void) {
    pthread_t victims[VICTIMS];
    observe_open(0);
    for (int i = 0; i < VICTIMS; i++)
        must("pthread_create", pthread_create(&victims[i], NULL, go_on, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < VICTIMS; i++) {
        pthread_t short_lived;
        must("pthread_create", pthread_create(&short_lived, NULL, come_to_end,
                                              (void *)((intptr_t)dice(300) * 1000 + i)));
        struct timespec time = {0, (long)dice(600) * 1000};
        nanosleep(&time, NULL);
        observe("cancelled", cancel(short_lived));
        observe("cancelled", cancel(victims[i]));
    }
    trail_print("all", &trail);
    observe_close();
    return 0;
}
