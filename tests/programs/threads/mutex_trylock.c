/* A pool of things, each with a mutex; a thread tries one after the other until it gets one. */
#include "trails.h"

enum { THINGS = 3 };

static pthread_mutex_t mutexes[THINGS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                          PTHREAD_MUTEX_INITIALIZER};
static struct trail trails[THINGS];

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        int which = number % THINGS, code;
        long failed = 0;
        while ((code = pthread_mutex_trylock(&mutexes[which])) == EBUSY) {
            which = (which + 1) % THINGS;
            if (++failed % THINGS == 0)
                sched_yield();
        }
        must("pthread_mutex_trylock", code);
        step_value("thing", &trails[which], failed);
        observe("failed", failed);
        work();
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutexes[which]));
        work();
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    for (int i = 0; i < THINGS; i++)
        trail_print("thing", &trails[i]);
    return 0;
}
