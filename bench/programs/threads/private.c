/* Every thread has a lock of its own, and all of them together the same number of operations: what
   one of them does is nothing to the others. */
#include "threads.h"

static void *take_own_lock(void *argument) {
    struct worker *worker = argument;
    _Alignas(64) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint64_t visits = 0;
    for (long i = 0; i < worker->size; i++) {
        pthread_mutex_lock(&mutex);
        visit(worker, &visits);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(int argc, char **argv) {
    return run("private", argc, argv, 4000000, 4, take_own_lock);
}
