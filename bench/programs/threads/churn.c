/* Threads that come, take a lock a few times, and go. */
#include "threads.h"

#define TIMES 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t visits;

static void *pass(void *argument) {
    struct worker *worker = argument;
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&mutex);
        visit(worker, &visits);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *bring_up(void *argument) {
    struct worker *worker = argument;
    for (long i = 0; i < worker->size; i++) {
        struct worker child = {.number = worker->number};
        if (pthread_create(&child.thread, NULL, pass, &child) != 0)
            continue;
        pthread_join(child.thread, NULL);
        worker->hash = mixed(worker->hash, child.hash);
    }
    return NULL;
}

int main(int argc, char **argv) {
    return run("churn", argc, argv, 2400, 4, bring_up);
}
