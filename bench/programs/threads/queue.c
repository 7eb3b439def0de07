/* Producers and consumers around a short queue; consumers wait with a time limit, and how often
   they waited in vain is part of the result. */
#include <errno.h>

#include "threads.h"

#define ROOM 8
#define PATIENCE 50000 /* nanoseconds */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static uint64_t items[ROOM];
static int first, count;

static void put(uint64_t item) {
    pthread_mutex_lock(&mutex);
    while (count == ROOM)
        pthread_cond_wait(&emptied, &mutex);
    items[(first + count++) % ROOM] = item;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&mutex);
}

static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += PATIENCE;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static uint64_t get(uint64_t *in_vain) {
    pthread_mutex_lock(&mutex);
    while (count == 0) {
        struct timespec until = soon();
        if (pthread_cond_timedwait(&filled, &mutex, &until) == ETIMEDOUT)
            ++*in_vain;
    }
    uint64_t item = items[first];
    first = (first + 1) % ROOM;
    count--;
    pthread_cond_signal(&emptied);
    pthread_mutex_unlock(&mutex);
    return item;
}

static void *serve(void *argument) {
    struct worker *worker = argument;
    uint64_t in_vain = 0;
    for (long i = 0; i < worker->size; i++) {
        if (worker->number % 2 == 0)
            put((uint64_t)worker->number << 32 | (uint64_t)i);
        else
            worker->hash = mixed(worker->hash, get(&in_vain));
    }
    worker->hash = mixed(worker->hash, in_vain);
    return NULL;
}

int main(int argc, char **argv) {
    return run("queue", argc, argv, 100000, 4, serve);
}
