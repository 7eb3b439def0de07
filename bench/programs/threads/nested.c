/* Two locks at once, the lower one first, as in a bank that moves money between accounts. */
#include "threads.h"

#define ACCOUNTS 16

static struct {
    _Alignas(64) pthread_mutex_t mutex;
    uint64_t visits;
} accounts[ACCOUNTS];

static void *move(void *argument) {
    struct worker *worker = argument;
    for (long i = 0; i < worker->size; i++) {
        uint64_t chosen = next_random(&worker->random);
        uint64_t low = chosen % (ACCOUNTS - 1);
        uint64_t high = low + 1 + (chosen >> 32) % (ACCOUNTS - 1 - low);
        pthread_mutex_lock(&accounts[low].mutex);
        pthread_mutex_lock(&accounts[high].mutex);
        visit(worker, &accounts[low].visits);
        visit(worker, &accounts[high].visits);
        pthread_mutex_unlock(&accounts[high].mutex);
        pthread_mutex_unlock(&accounts[low].mutex);
    }
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_mutex_init(&accounts[i].mutex, NULL);
    return run("nested", argc, argv, 1000000, 4, move);
}
