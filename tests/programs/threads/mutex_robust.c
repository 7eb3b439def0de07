/* Threads die with a robust mutex in their hands; who comes next learns of it, and mends it. At
   last somebody does not, and from then on nobody gets it. */
#include "trails.h"

enum { LIVES = 6, TURNS = 8 };

static pthread_mutex_t robust;
static struct trail trail;
static long deaths;

/* Takes it by lock or by trying; returns what the call did. */
static int take(int turn) {
    for (;;) {
        int code = turn % 3 == 0 ? pthread_mutex_trylock(&robust) : pthread_mutex_lock(&robust);
        if (code != EBUSY)
            return code;
        observe("busy", 0);
        sched_yield();
    }
}

static void *live(void *argument) {
    int number = *(int *)argument;
    observe_open(number);
    for (int turn = 0; turn < TURNS; turn++) {
        work();
        int code = take(turn);
        if (code == ENOTRECOVERABLE) {
            observe("lost", turn);
            break;
        }
        if (code == EOWNERDEAD) {
            step("mended", &trail);
            if (deaths < (long)THREADS * LIVES / 2)
                must("pthread_mutex_consistent", pthread_mutex_consistent(&robust));
        } else {
            must("take", code);
            step("took", &trail);
        }
        if (turn == TURNS - 1) {
            deaths++;
            break; /* with it */
        }
        must("pthread_mutex_unlock", pthread_mutex_unlock(&robust));
    }
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
    must("pthread_mutex_init", pthread_mutex_init(&robust, &attributes));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("robust", &trail);
    return 0;
}
