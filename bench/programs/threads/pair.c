/* What one uncontended lock/unlock pair costs: pair [ITERATIONS [BATCHES]]. A second thread exists
   but sleeps. Prints the nanoseconds of a pair, the median over all batches. The loop is a function
   of its own so that its instructions can be counted. */
#include <semaphore.h>

#include "threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t end;

static void *sleep_until_the_end(void *argument) {
    sem_wait(argument);
    return NULL;
}

__attribute__((noinline)) void loop_pair(long iterations);
void loop_pair(long iterations) {
    for (long i = 0; i < iterations; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static int compare(const void *one, const void *other) {
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    long iterations = argument(argc, argv, 1, 100000);
    long batches = argument(argc, argv, 2, 101);
    double *times = calloc((size_t)batches, sizeof *times);
    pthread_t sleeper;
    sem_init(&end, 0, 0);
    if (!times || pthread_create(&sleeper, NULL, sleep_until_the_end, &end) != 0)
        return 1;
    for (long batch = 0; batch < batches; batch++) {
        double started = now();
        loop_pair(iterations);
        times[batch] = (now() - started) / (double)iterations * 1e9;
    }
    sem_post(&end);
    pthread_join(sleeper, NULL);
    qsort(times, (size_t)batches, sizeof *times, compare);
    printf("nanoseconds %.3f\n", times[batches / 2]);
    free(times);
    return 0;
}
