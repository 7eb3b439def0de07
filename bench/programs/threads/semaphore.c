/* A semaphore that lets two in, a spin lock for what they count, and something to be done once by
   whoever comes first. */
#include <semaphore.h>

#include "threads.h"

#define ROUNDS 64

static sem_t entrance;
static pthread_spinlock_t spin;
static uint64_t visits, beginnings;
static pthread_once_t once[ROUNDS];
static _Thread_local struct worker *here;

static void begin(void) {
    beginnings = mixed(beginnings, (uint64_t)here->number);
}

static void *enter(void *argument) {
    struct worker *worker = here = argument;
    for (long i = 0; i < worker->size; i++) {
        pthread_once(&once[i % ROUNDS], begin);
        sem_wait(&entrance);
        pthread_spin_lock(&spin);
        visit(worker, &visits);
        pthread_spin_unlock(&spin);
        sem_post(&entrance);
    }
    worker->hash = mixed(worker->hash, beginnings);
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 0; i < ROUNDS; i++)
        once[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    sem_init(&entrance, 0, 2);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    return run("semaphore", argc, argv, 400000, 4, enter);
}
