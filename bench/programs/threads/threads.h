/* What the benchmark programs with threads share: running some threads, a unit of computation, a
   hash of what each of them saw, and one line of results. The line holds no times, so that two runs
   with the same order of locks print the same. */
#ifndef THREADS_H
#define THREADS_H

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MOST 64

struct worker {
    int number, threads;
    long size;       /* how much to do */
    uint64_t random; /* state of its generator, the same in every run */
    uint64_t hash;   /* depends on the order in which the threads came */
    pthread_t thread;
    void *(*function)(void *);
    pthread_barrier_t *start;
};

static inline double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline double now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

/* Seconds of the processor, all threads together. */
static inline double spent(void) {
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* One step of splitmix64: advances the state, returns the next number. */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

static inline uint64_t mixed(uint64_t hash, uint64_t value) {
    uint64_t state = hash ^ value;
    return next_random(&state);
}

/* What a lock protects: who came, in which order. The thread remembers what it found. */
static inline void visit(struct worker *worker, uint64_t *shared) {
    *shared = *shared * 0x9e3779b97f4a7c15u + (uint64_t)worker->number + 1;
    worker->hash = worker->hash * 31 + *shared;
}

/* Stands for the program's own computation: about 100 rounds per microsecond. */
static inline double work(uint64_t seed, long rounds) {
    double value = 1.0 + (double)(seed & 0xffff) * 0x1p-16;
    for (long round = 0; round < rounds; round++)
        value = sqrt(value * 1.7 + 0.3 / value);
    return value;
}

/* The first argument is the size, the second the number of threads. */
static inline long argument(int argc, char **argv, int number, long other) {
    long value = argc > number ? strtol(argv[number], NULL, 10) : other;
    if (value < 1) {
        fprintf(stderr, "usage: %s [SIZE [THREADS]]\n", argv[0]);
        exit(2);
    }
    return value;
}

/* Prints the result; the time, and that of the processor, go to the file that BENCH_TIME names, if
   it is set. */
static inline void report(const char *name, long size, long threads, uint64_t hash, double seconds,
                          double processor) {
    printf("%s size %ld threads %ld hash %016llx\n", name, size, threads, (unsigned long long)hash);
    const char *path = getenv("BENCH_TIME");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%.9f %.9f\n", seconds, processor);
        fclose(file);
    }
}

/* All begin together, else the first would be through before the last one is there. */
static inline void *begin_together(void *argument) {
    struct worker *worker = (struct worker *)argument;
    pthread_barrier_wait(worker->start);
    return worker->function(worker);
}

/* Runs `function` in as many threads as the arguments say, each with its share of the size. */
static inline int run(const char *name, int argc, char **argv, long size, long threads,
                      void *(*function)(void *)) {
    static struct worker workers[THREADS_MOST];
    size = argument(argc, argv, 1, size);
    threads = argument(argc, argv, 2, threads);
    if (threads > THREADS_MOST)
        threads = THREADS_MOST;
    static pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    double started = now(), spent_before = spent();
    for (int i = 0; i < threads; i++) {
        struct worker *worker = &workers[i];
        worker->number = i;
        worker->threads = (int)threads;
        worker->size = size / threads;
        worker->random = (uint64_t)i;
        worker->function = function;
        worker->start = &start;
        if (pthread_create(&worker->thread, NULL, begin_together, worker) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    uint64_t hash = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        hash = mixed(hash, workers[i].hash);
    }
    report(name, size, threads, hash, now() - started, spent() - spent_before);
    return 0;
}

#endif
