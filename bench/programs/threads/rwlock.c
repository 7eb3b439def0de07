/* Nine readers to one writer of a small table. */
#include "threads.h"

#define ENTRIES 4

static struct {
    _Alignas(64) pthread_rwlock_t lock;
    uint64_t visits;
} entries[ENTRIES];

static void *read_and_write(void *argument) {
    struct worker *worker = argument;
    for (long i = 0; i < worker->size; i++) {
        uint64_t chosen = next_random(&worker->random);
        uint64_t which = chosen % ENTRIES;
        if (chosen >> 32 < UINT64_C(0x1999999a)) {
            pthread_rwlock_wrlock(&entries[which].lock);
            visit(worker, &entries[which].visits);
        } else {
            pthread_rwlock_rdlock(&entries[which].lock);
            worker->hash = mixed(worker->hash, entries[which].visits);
        }
        pthread_rwlock_unlock(&entries[which].lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 0; i < ENTRIES; i++)
        pthread_rwlock_init(&entries[i].lock, NULL);
    return run("rwlock", argc, argv, 1000000, 4, read_and_write);
}
