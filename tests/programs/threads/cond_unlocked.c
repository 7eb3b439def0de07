/* Signals by threads that do not hold the mutex: after it, and also long after it. */
#include "trails.h"

enum { STEPS = 80 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static long items, given;
static struct trail trail;

static void give(int number) {
    for (int i = 0; i < STEPS; i++) {
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        items++;
        given++;
        step("gave", &trail);
        int last = given == 2 * STEPS;
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        if ((i + number) % 3 == 0)
            work();
        if (last || i % 7 == 0)
            must("pthread_cond_broadcast", pthread_cond_broadcast(&more));
        else
            must("pthread_cond_signal", pthread_cond_signal(&more));
        if (i % 5 == 0)
            work();
    }
}

static void take(void) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    for (;;) {
        while (items == 0 && given < 2 * STEPS) {
            must("pthread_cond_wait", pthread_cond_wait(&more, &mutex));
            step("woke", &trail);
        }
        if (items == 0)
            break;
        items--;
        step("took", &trail);
        if (trail.length % 4 == 0) {
            must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
            work();
            must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        }
    }
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void body(int number) {
    if (number <= 2)
        give(number);
    else
        take();
}

int main(void) {
    observe_open(0);
    run_threads(5, body);
    trail_print("all", &trail);
    return 0;
}
