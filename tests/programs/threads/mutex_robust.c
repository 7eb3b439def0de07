/* Threads die with a robust mutex in their hands; who comes next learns of it, and mends it.
   Another mutex is not mended, and from then on nobody gets it. */
#include "trails.h"

enum { LIVES = 6, TURNS = 8 };

static pthread_mutex_t mended, lost;
static struct trail trail;

/* By lock or by trying; returns what the call did. */
static int take(int turn) {
    for (;;) {
        int code = turn % 3 == 0 ? pthread_mutex_trylock(&mended) : pthread_mutex_lock(&mended);
        if (code != EBUSY)
            return code;
        observe("busy", 0);
        sched_yield();
    }
}

static void *live(void *argument) {
    observe_open(*(int *)argument);
    for (int turn = 0; turn < TURNS; turn++) {
        work();
        int code = take(turn);
        observe("code", code);
        if (code == EOWNERDEAD)
            must("pthread_mutex_consistent", pthread_mutex_consistent(&mended));
        else
            must("take", code);
        step_value("took", &trail, code);
        if (turn < TURNS - 1)
            must("pthread_mutex_unlock", pthread_mutex_unlock(&mended));
    }
    /* The first one dies with this one too, the second one gives it back as it is. */
    int code = pthread_mutex_lock(&lost);
    observe("lost", code);
    if (code == EOWNERDEAD)
        must("pthread_mutex_unlock", pthread_mutex_unlock(&lost));
    observe_close();
    return NULL;
}

/* Each has one thread after the other. */
static void body(int number) {
    for (int i = 0; i < LIVES; i++) {
        pthread_t thread;
        int name = number * 10 + i;
        must("pthread_create", pthread_create(&thread, NULL, live, &name));
        must("pthread_join", pthread_join(thread, NULL));
    }
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    must("pthread_mutex_init", pthread_mutex_init(&mended, &attributes));
    must("pthread_mutex_init", pthread_mutex_init(&lost, &attributes));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("mended", &trail);
    return 0;
}
