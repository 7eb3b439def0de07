/* Figure 7 of paper 004: a thread ends after two operations, and who has joined it then does its
   first one, on something that nobody else uses. If the end and the join move no clock, that
   operation gets the time stamp 1 and comes before the second one of the thread, for which the join
   still waits. */
#include "trails.h"

enum { PARENTS = 3, LIVES = 25 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static void *child(void *argument) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    observe_open((int)(intptr_t)argument);
    for (int i = 0; i < 2; i++) {
        must("pthread_mutex_lock", pthread_mutex_lock(&own));
        work();
        must("pthread_mutex_unlock", pthread_mutex_unlock(&own));
    }
    must("pthread_mutex_lock", pthread_mutex_lock(&shared));
    step("child", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&shared));
    return NULL;
}

static void body(int number) {
    for (int i = 0; i < LIVES; i++) {
        pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
        pthread_t thread;
        must("pthread_create",
             pthread_create(&thread, NULL, child, (void *)(intptr_t)(number * 100 + i)));
        must("pthread_join", pthread_join(thread, NULL));
        must("pthread_mutex_lock", pthread_mutex_lock(&own));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&own));
    }
}

int main(void) {
    observe_open(0);
    run_threads(PARENTS, body);
    trail_print("all", &trail);
    return 0;
}
