/* Two thousand threads, most of which live for some microseconds. */
#include "trails.h"

enum { CREATORS = 4, SHORT_LIVES = 500, AT_ONCE = 5 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static void *live(void *argument) {
    observer.rank = (int)(intptr_t)argument;
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step("lived", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    return argument;
}

static void body(int number) {
    for (int i = 0; i < SHORT_LIVES; i += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++)
            must("pthread_create", pthread_create(&threads[k], NULL, live,
                                                  (void *)(intptr_t)(number * 1000 + i + k)));
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("created", &trail);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        for (int k = 0; k < AT_ONCE; k++)
            must("pthread_join", pthread_join(threads[k], NULL));
    }
}

int main(void) {
    observe_open(0);
    run_threads(CREATORS, body);
    trail_print("all", &trail);
    return 0;
}
