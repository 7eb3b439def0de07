/* Steps that all threads begin together; in each they meet at one lock, and one of them is told
   that it came last. */
#include "threads.h"

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned members;
static uint64_t visits;

static void prepare(void) {
    pthread_barrier_init(&barrier, NULL, members);
}

static void *step(void *argument) {
    struct worker *worker = argument;
    pthread_once(&once, prepare);
    for (long i = 0; i < worker->size; i++) {
        pthread_mutex_lock(&mutex);
        visit(worker, &visits);
        pthread_mutex_unlock(&mutex);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            worker->hash = mixed(worker->hash, (uint64_t)i);
    }
    return NULL;
}

int main(int argc, char **argv) {
    members = (unsigned)argument(argc, argv, 2, 4);
    return run("barrier", argc, argv, 80000, 4, step);
}
