/* Threads that create threads, which are joined by others than their creators. The order of
   creation among creators varies, the names of the created must not. Some cannot be created. */
#include "trails.h"

enum { CHILDREN = 8 };

struct child {
    pthread_t thread;
    int number;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct child children[THREADS][CHILDREN];
static struct trail trail;

static void visit(const char *what, long value) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step_value(what, &trail, value);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void *grandchild(void *argument) {
    observe_open(*(int *)argument);
    visit("grandchild", 0);
    return argument;
}

static void *run_child(void *argument) {
    struct child *child = (struct child *)argument;
    pthread_t thread;
    int number = child->number * 10;
    observe_open(child->number);
    work();
    visit("child", 0);
    if (child->number % 3 == 0) {
        must("pthread_create", pthread_create(&thread, NULL, grandchild, &number));
        must("pthread_join", pthread_join(thread, NULL));
        visit("joined", number);
    }
    if (child->number % 2)
        pthread_exit((void *)(intptr_t)child->number);
    return (void *)(intptr_t)child->number;
}

static void body(int number) {
    visit("not created", create_in_vain(grandchild));
    for (int i = 0; i < CHILDREN; i++) {
        struct child *child = &children[number - 1][i];
        child->number = number * 100 + i;
        must("pthread_create", pthread_create(&child->thread, NULL, run_child, child));
        work();
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    for (int i = 0; i < THREADS * CHILDREN; i++) {
        void *result;
        must("pthread_join", pthread_join(children[i % THREADS][i / THREADS].thread, &result));
        visit("end of", (long)(intptr_t)result);
    }
    trail_print("all", &trail);
    observe_close();
    return 0;
}
