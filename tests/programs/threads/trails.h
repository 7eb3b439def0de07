/* What the test programs for threads share: threads with numbers, and trails.

   A trail is the order in which threads came to something; whoever extends it holds what keeps the
   others off, so the programs have no data race. It is printed as a digest and its first steps. */
#ifndef TRAILS_H
#define TRAILS_H

#include "../uneven.h"

#include <errno.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, FIRST_STEPS = 12 };

struct trail {
    uint64_t hash;
    long length;
    long first[FIRST_STEPS];
};

static inline void must(const char *what, int code) {
    if (code != 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(code));
        abort();
    }
}

/* A thread with more stack than there is: what pthread_create says to that. */
static inline int create_in_vain(void *(*start)(void *)) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    must("pthread_attr_setstacksize", pthread_attr_setstacksize(&attributes, (size_t)1 << 46));
    int code = pthread_create(&thread, &attributes, start, NULL);
    pthread_attr_destroy(&attributes);
    return code;
}

/* One step more: of this thread, and `value`, whatever that means to the program. */
static inline void step_value(const char *what, struct trail *trail, long value) {
    long pair[2] = {observer.rank, value};
    trail->hash = observe_mix(trail->hash, pair, sizeof pair);
    if (trail->length < FIRST_STEPS)
        trail->first[trail->length] = pair[0];
    observe(what, trail->length);
    trail->length++;
}

static inline void step(const char *what, struct trail *trail) {
    step_value(what, trail, 0);
}

static inline void trail_print(const char *what, const struct trail *trail) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s: %ld steps, %016llx:", what, trail->length,
                          (unsigned long long)trail->hash);
    for (int i = 0; i < FIRST_STEPS && i < trail->length; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, " %ld", trail->first[i]);
    line[length++] = '\n';
    observe_write(STDOUT_FILENO, line, length);
}

/* So many nanoseconds from now, on that clock. */
static inline struct timespec from_now(clockid_t clock, long nanoseconds) {
    struct timespec moment;
    clock_gettime(clock, &moment);
    moment.tv_nsec += nanoseconds;
    moment.tv_sec += moment.tv_nsec / 1000000000;
    moment.tv_nsec %= 1000000000;
    return moment;
}

#ifndef __cplusplus

struct job {
    pthread_t thread;
    int number;
    void (*body)(int number);
};

static inline void *run_job(void *argument) {
    struct job *job = argument;
    observe_open(job->number);
    job->body(job->number);
    observe_close();
    return NULL;
}

static inline void start_job(struct job *job, int number, void (*body)(int number)) {
    job->number = number;
    job->body = body;
    must("pthread_create", pthread_create(&job->thread, NULL, run_job, job));
}

/* Threads 1 to `count`; the caller is thread 0. */
static inline void run_threads(int count, void (*body)(int number)) {
    struct job jobs[64];
    if (count > 64)
        abort();
    for (int i = 0; i < count; i++)
        start_job(&jobs[i], i + 1, body);
    for (int i = 0; i < count; i++)
        must("pthread_join", pthread_join(jobs[i].thread, NULL));
}

#endif
#endif
