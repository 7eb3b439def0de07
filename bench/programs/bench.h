/* What the benchmark programs share: a unit of computation, a hash, and one line of results.
   The line holds no times, so that two runs with the same message order print the same. */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench {
    const char *name;
    long size_argument; /* how much to do; the first argument */
    int rank, ranks;
    double started;
    double tally;  /* depends on the order in which numbers were added */
    uint64_t hash; /* depends on the order in which messages were seen */
    long receives;
};

static inline double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One step of splitmix64: advances the state, returns the next number. */
static inline uint64_t bench_random(uint64_t *state) {
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* A number in [0, 1). */
static inline double bench_uniform(uint64_t *state) {
    return (double)(bench_random(state) >> 11) * 0x1p-53;
}

static inline void bench_mix(struct bench *bench, uint64_t value) {
    uint64_t state = bench->hash ^ value;
    bench->hash = bench_random(&state);
}

/* Stands for the program's own computation: about 100 rounds per microsecond. */
static inline double bench_work(uint64_t seed, long rounds) {
    double value = 1.0 + (double)(seed & 0xffff) * 0x1p-16;
    for (long round = 0; round < rounds; round++)
        value = sqrt(value * 1.7 + 0.3 / value);
    return value;
}

static inline void bench_start(struct bench *bench, const char *name, int *argc, char ***argv,
                               long default_size) {
    memset(bench, 0, sizeof *bench);
    bench->name = name;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->ranks);
    bench->size_argument = *argc > 1 ? strtol((*argv)[1], NULL, 10) : default_size;
    if (bench->size_argument < 1) {
        if (bench->rank == 0)
            fprintf(stderr, "usage: %s [SIZE]\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bench->started = bench_now();
}

/* Rank 0 gathers and prints, in the order of ranks: a reduction could add in any order. The time
   between MPI_Init and MPI_Finalize goes to the file that BENCH_TIME names, if it is set. */
static inline void bench_finish(struct bench *bench) {
    struct {
        double tally;
        uint64_t hash;
        int64_t receives;
    } mine = {bench->tally, bench->hash, bench->receives}, *all = NULL;
    if (bench->rank == 0)
        all = calloc((size_t)bench->ranks, sizeof *all);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (bench->rank == 0 && all) {
        const char *time_file = getenv("BENCH_TIME");
        double elapsed = bench_now() - bench->started;
        bench->tally = 0;
        bench->hash = 0;
        bench->receives = 0;
        for (int rank = 0; rank < bench->ranks; rank++) {
            bench->tally += all[rank].tally;
            bench_mix(bench, all[rank].hash);
            bench->receives += all[rank].receives;
        }
        printf("%s ranks %d size %ld receives %ld tally %.17g hash %016llx\n", bench->name,
               bench->ranks, bench->size_argument, bench->receives, bench->tally,
               (unsigned long long)bench->hash);
        FILE *file = time_file ? fopen(time_file, "w") : NULL;
        if (file) {
            fprintf(file, "%.9f\n", elapsed);
            fclose(file);
        }
    }
    free(all);
    MPI_Finalize();
}

#endif
