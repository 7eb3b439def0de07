/* 20 microseconds of work, then a lock. */
#include "threads.h"

#define ROUNDS 2000
#define LOCKS 4

static struct {
    _Alignas(64) pthread_mutex_t mutex;
    uint64_t visits;
} locks[LOCKS];

static void *work_and_lock(void *argument) {
    struct worker *worker = argument;
    for (long i = 0; i < worker->size; i++) {
        uint64_t chosen = next_random(&worker->random);
        worker->hash += (uint64_t)(work(chosen, ROUNDS) * 1e6);
        uint64_t which = chosen % LOCKS;
        pthread_mutex_lock(&locks[which].mutex);
        visit(worker, &locks[which].visits);
        pthread_mutex_unlock(&locks[which].mutex);
    }
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i].mutex, NULL);
    return run("coarse", argc, argv, 60000, 4, work_and_lock);
}
