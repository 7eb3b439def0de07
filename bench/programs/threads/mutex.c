/* Threads that take one of eight locks after the other, at random. */
#include "threads.h"

#define LOCKS 8

static struct {
    _Alignas(64) pthread_mutex_t mutex;
    uint64_t visits;
} locks[LOCKS];

static void *take_locks(void *argument) {
    struct worker *worker = argument;
    for (long i = 0; i < worker->size; i++) {
        uint64_t which = next_random(&worker->random) % LOCKS;
        pthread_mutex_lock(&locks[which].mutex);
        visit(worker, &locks[which].visits);
        pthread_mutex_unlock(&locks[which].mutex);
    }
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i].mutex, NULL);
    return run("mutex", argc, argv, 2000000, 4, take_locks);
}
