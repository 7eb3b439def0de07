/* Threads that ask for values, and do what these say. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

enum { THREADS = 4, ROUNDS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long trail = 1;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void *work(void *argument) {
    unsigned long long *own = argument;
    for (int i = 0; i < ROUNDS; i++) {
        uint16_t number;
        MUST(getrandom(&number, sizeof number, 0) == sizeof number);
        for (long long until = now() + number % 10000; now() < until;)
            (*own)++;
        if (number & 1) {
            pthread_mutex_lock(&lock);
            trail = trail * 31 + (unsigned long long)now() * number + (unsigned long long)gettid();
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    unsigned long long own[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, work, &own[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        MUST(pthread_join(threads[i], NULL) == 0);
        SAY("thread %d: %llu rounds", i, own[i]);
    }
    SAY("trail: %016llx", trail);
    return 0;
}
