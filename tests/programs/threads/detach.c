/* Detached threads, by attribute, by others and by themselves; who is last says so with a
 * condition. */
#include "trails.h"

enum { COUNT = 32 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int running = COUNT;
static struct trail trail;

static void *run(void *argument) {
    int number = 1 + (int)(intptr_t)argument;
    observe_open(number);
    if (number % 3 == 0)
        must("pthread_detach", pthread_detach(pthread_self()));
    for (int i = 0; i < 4; i++) {
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("ran", &trail);
        if (i == 3 && --running == 0)
            must("pthread_cond_signal", pthread_cond_signal(&done));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

int main(void) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    observe_open(0);
    for (int i = 0; i < COUNT; i++) {
        pthread_t thread;
        int by_attribute = i % 3 == 0;
        must("pthread_create",
             pthread_create(&thread, by_attribute ? &detached : NULL, run, (void *)(intptr_t)i));
        if (i % 3 == 1)
            must("pthread_detach", pthread_detach(thread));
    }
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    while (running > 0)
        must("pthread_cond_wait", pthread_cond_wait(&done, &mutex));
    trail_print("all", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    return 0;
}
