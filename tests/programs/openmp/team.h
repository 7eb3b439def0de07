/* What the test programs for OpenMP share: every thread of the first team has a number, keeps what
   it saw, and does uneven work. What is random here changes when a thread comes somewhere, never
   what it does there. */
#ifndef TEAM_H
#define TEAM_H

#ifdef __cplusplus
#    define OBSERVE_STORAGE thread_local
#else
#    define OBSERVE_STORAGE _Thread_local
#endif
#define OBSERVE_WHO "thread"

#include "../observe.h"

#include <omp.h>
#include <sched.h>

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

static inline unsigned dice(unsigned sides) {
    observer.random ^= observer.random << 13;
    observer.random ^= observer.random >> 7;
    observer.random ^= observer.random << 17;
    return (unsigned)(observer.random >> 20) % sides;
}

/* Mostly a microsecond or two, now and then long enough for others to run. */
static inline void work(void) {
    unsigned thrown = dice(16);
    if (thrown == 0)
        dawdle();
    else if (thrown == 1)
        sched_yield();
    for (unsigned i = dice(2048); i > 0; i--)
        __asm__ volatile(""); /* so that the compiler leaves the loop alone */
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
