/* Threads that are cancelled while they wait for what never comes: a condition, a semaphore, a
   read. Their clean-up takes part in the order. */
#include "trails.h"

#include <semaphore.h>

enum { VICTIMS = 12 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static sem_t nothing;
static int silent_pipe[2];
static int waiting;
static struct trail trail;

/* A cancelled wait for a condition has the mutex again. */
static void clean_up_locked(void *argument) {
    (void)argument;
    step("cleaned up", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void clean_up(void *argument) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    clean_up_locked(argument);
}

static void *wait_for_ever(void *argument) {
    int number = (int)(intptr_t)argument;
    observe_open(number);
    work();
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step("waits", &trail);
    waiting++;
    must("pthread_cond_signal", pthread_cond_signal(&ready));
    if (number % 3 == 0) {
        pthread_cleanup_push(clean_up_locked, NULL);
        for (;;)
            must("pthread_cond_wait", pthread_cond_wait(&never, &mutex));
        pthread_cleanup_pop(0);
    }
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    pthread_cleanup_push(clean_up, NULL);
    for (char byte;;)
        if (number % 3 == 1)
            sem_wait(&nothing);
        else if (read(silent_pipe[0], &byte, 1) < 0)
            abort();
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    pthread_t victims[VICTIMS];
    observe_open(0);
    if (sem_init(&nothing, 0, 0) || pipe(silent_pipe))
        must("pipe", errno);
    for (int i = 0; i < VICTIMS; i++)
        must("pthread_create",
             pthread_create(&victims[i], NULL, wait_for_ever, (void *)(intptr_t)(i + 1)));
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    while (waiting < VICTIMS)
        must("pthread_cond_wait", pthread_cond_wait(&ready, &mutex));
    step("cancels", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    for (int i = 0; i < VICTIMS; i++) {
        must("pthread_cancel", pthread_cancel(victims[i]));
        if (i % 4 == 0)
            work();
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
