/* A pool of places: a thread tries one after the other until it has one. How often it failed is
   part of the result. */
#include "threads.h"

#define PLACES 3

static struct {
    _Alignas(64) pthread_mutex_t mutex;
    uint64_t visits;
} places[PLACES];

static void *use_places(void *argument) {
    struct worker *worker = argument;
    uint64_t failures = 0;
    for (long i = 0; i < worker->size; i++) {
        uint64_t which = next_random(&worker->random) % PLACES;
        while (pthread_mutex_trylock(&places[which].mutex) != 0) {
            which = (which + 1) % PLACES;
            failures++;
        }
        visit(worker, &places[which].visits);
        pthread_mutex_unlock(&places[which].mutex);
    }
    worker->hash = mixed(worker->hash, failures);
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 0; i < PLACES; i++)
        pthread_mutex_init(&places[i].mutex, NULL);
    return run("pool", argc, argv, 2000000, 4, use_places);
}
