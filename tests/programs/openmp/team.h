/* What the test programs for OpenMP share: every thread of the first team has a number, and keeps
   what it saw. */
#ifndef TEAM_H
#define TEAM_H

#include "../uneven.h"

#include <omp.h>

enum { THREADS = 4, ROUNDS = 60 };

/* In the order in which threads came; whoever extends it keeps the others off. */
struct trail {
    uint64_t hash;
    long length;
};

static inline void step(struct trail *trail, long value) {
    long pair[2] = {observer.rank, value};
    trail->hash = observe_mix(trail->hash, pair, sizeof pair);
    trail->length++;
}

static inline void trail_print(const char *what, const struct trail *trail) {
    char line[160];
    observe_write(STDOUT_FILENO, line,
                  snprintf(line, sizeof line, "trail: %s: %ld steps, %016llx\n", what,
                           trail->length, (unsigned long long)trail->hash));
}

/* The first team has all the threads that later ones use again. */
static inline void team_open(void) {
    omp_set_dynamic(0);
    omp_set_num_threads(THREADS);
#pragma omp parallel
    observe_open(omp_get_thread_num());
}

static inline void team_close(void) {
    omp_set_num_threads(THREADS);
#pragma omp parallel
    observe_close();
}

#endif
