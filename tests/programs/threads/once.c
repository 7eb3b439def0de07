/* What is done once is done by whoever comes first; it takes a lock of its own while the others
 * wait. */
#include "trails.h"

enum { THINGS = 40 };

static pthread_once_t controls[THINGS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;
static long made_by[THINGS];
static _Thread_local int current;

static void make(void) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    made_by[current] = observer.rank;
    step_value("made", &trail, current);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    work();
}

static void body(int number) {
    for (int i = 0; i < THINGS; i++) {
        work();
        /* Neighbours in pairs, in two directions, so that they meet. */
        current = number % 2 ? i : i ^ 1;
        must("pthread_once", pthread_once(&controls[current], make));
        observe("made by", made_by[current]);
    }
}

int main(void) {
    for (int i = 0; i < THINGS; i++)
        controls[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("made", &trail);
    return 0;
}
