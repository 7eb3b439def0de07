/* Threads that are cancelled while they work; how far each one came varies. They look for it with
   pthread_testcancel only, with the mutex or without. */
#include "trails.h"

enum { VICTIMS = 8, MOST = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static void clean_up(void *argument) {
    (void)argument;
    step("cleaned up", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void look(void) {
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void *victim(void *argument) {
    observe_open((int)(intptr_t)argument);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int i = 0; i < MOST; i++) {
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        pthread_cleanup_push(clean_up, NULL);
        step("worked", &trail);
        if (i % 2)
            look();
        pthread_cleanup_pop(1);
        look();
    }
    return argument;
}

int main(void) {
    pthread_t victims[VICTIMS];
    observe_open(0);
    for (int i = 0; i < VICTIMS; i++)
        must("pthread_create",
             pthread_create(&victims[i], NULL, victim, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < VICTIMS; i++) {
        for (int k = 0; k < 20; k++)
            work();
        must("pthread_cancel", pthread_cancel(victims[i]));
    }
    for (int i = 0; i < VICTIMS; i++) {
        void *result;
        must("pthread_join", pthread_join(victims[i], &result));
        observe("cancelled", result == PTHREAD_CANCELED);
    }
    trail_print("all", &trail);
    observe_close();
    return 0;
}
