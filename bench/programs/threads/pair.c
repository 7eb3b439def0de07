/* What one uncontended lock/unlock pair costs: pair [ITERATIONS [BATCHES]]. A second thread exists
   but sleeps. Prints the nanoseconds of a pair, the median over all batches, and those of batches
   beside them which call the C library past everything that stands in front of it. The loop is a
   function of its own so that its instructions can be counted. */
#include <dlfcn.h>
#include <semaphore.h>

#include "threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t end;

static void *sleep_until_the_end(void *argument) {
    sem_wait(argument);
    return NULL;
}

/* Both are called alike. */
typedef int function(pthread_mutex_t *);
static function *volatile lock_linked = pthread_mutex_lock;
static function *volatile unlock_linked = pthread_mutex_unlock;
static function *volatile lock_past;
static function *volatile unlock_past;

#define LOOP(name, lock, unlock)                                                                   \
    __attribute__((noinline)) void loop_##name(long iterations);                                   \
    void loop_##name(long iterations) {                                                            \
        for (long i = 0; i < iterations; i++) {                                                    \
            lock(&mutex);                                                                          \
            unlock(&mutex);                                                                        \
        }                                                                                          \
    }
LOOP(pair, lock_linked, unlock_linked)
LOOP(past, lock_past, unlock_past)

static int compare(const void *one, const void *other) {
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

static double nanoseconds(void (*loop)(long), long iterations) {
    double started = now();
    loop(iterations);
    return (now() - started) / (double)iterations * 1e9;
}

static double median(double *times, long count) {
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

int main(int argc, char **argv) {
    long iterations = argument(argc, argv, 1, 100000);
    long batches = argument(argc, argv, 2, 101);
    double *times = calloc(2 * (size_t)batches, sizeof *times);
    pthread_t sleeper;
    sem_init(&end, 0, 0);
    void *library = dlopen("libc.so.6", RTLD_NOW);
    *(void *volatile *)&lock_past = library ? dlsym(library, "pthread_mutex_lock") : NULL;
    *(void *volatile *)&unlock_past = library ? dlsym(library, "pthread_mutex_unlock") : NULL;
    if (!times || !lock_past || !unlock_past ||
        pthread_create(&sleeper, NULL, sleep_until_the_end, &end) != 0) {
        free(times);
        return 1;
    }
    double *past = times + batches;
    for (long batch = 0; batch < batches; batch++) {
        times[batch] = nanoseconds(loop_pair, iterations);
        past[batch] = nanoseconds(loop_past, iterations);
    }
    sem_post(&end);
    pthread_join(sleeper, NULL);
    printf("nanoseconds %.3f past %.3f\n", median(times, batches), median(past, batches));
    free(times);
    return 0;
}
