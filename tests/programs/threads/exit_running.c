/* The first thread calls exit() while the others are still at it; what runs at exit locks as well.
 */
#include "trails.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static struct trail trail;

static void visit(const char *what) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step(what, &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static _Noreturn void *run(void *argument) {
    int number = (int)(intptr_t)argument;
    observe_open(number);
    for (int i = 0; number < THREADS || i < 50; i++) {
        work();
        visit("ran");
    }
    /* One waits for ever. */
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    for (;;)
        must("pthread_cond_wait", pthread_cond_wait(&never, &mutex));
}

static void at_exit(void) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step("exits", &trail);
    trail_print("all", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

int main(void) {
    pthread_t thread;
    observe_open(0);
    atexit(at_exit);
    for (int i = 1; i <= THREADS; i++)
        must("pthread_create", pthread_create(&thread, NULL, run, (void *)(intptr_t)i));
    for (int i = 0; i < ROUNDS; i++) {
        work();
        visit("first");
    }
    exit(3);
}
