/* Destructors of thread-specific data that take locks, and set their data again so that they are
   called once more. */
#include "trails.h"

enum { COUNT = 40, KEYS = 3 };

static pthread_key_t keys[KEYS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

struct life {
    int key, left;
};

static void destroy(void *argument) {
    struct life *life = (struct life *)argument;
    work();
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step_value("destroyed", &trail, life->key * 10 + life->left);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    if (life->left-- > 0)
        must("pthread_setspecific", pthread_setspecific(keys[life->key], life));
    else
        free(life);
}

static void *run(void *argument) {
    observe_open((int)(intptr_t)argument);
    for (int i = 0; i < KEYS; i++) {
        struct life *life = (struct life *)malloc(sizeof *life);
        *life = (struct life){i, i % 2};
        must("pthread_setspecific", pthread_setspecific(keys[i], life));
    }
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step("ran", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    return NULL;
}

int main(void) {
    pthread_t threads[COUNT];
    observe_open(0);
    for (int i = 0; i < KEYS; i++)
        must("pthread_key_create", pthread_key_create(&keys[i], destroy));
    for (int i = 0; i < COUNT; i++)
        must("pthread_create", pthread_create(&threads[i], NULL, run, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < COUNT; i++)
        must("pthread_join", pthread_join(threads[i], NULL));
    trail_print("all", &trail);
    return 0;
}
