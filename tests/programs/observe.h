/* What a test program saw, in order: hashed, and with PROGRAM_LOG also written down as it happens.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct observer {
    uint64_t hash;
    uint64_t random;
    int rank;
    int log;
};

/* Programs whose nodes are threads have one for each. */
#ifndef OBSERVE_STORAGE
#    define OBSERVE_STORAGE
#endif
#ifndef OBSERVE_WHO
#    define OBSERVE_WHO "rank"
#endif

static OBSERVE_STORAGE struct observer observer = {UINT64_C(14695981039346656037), 1, 0, -1};

static inline uint64_t observe_mix(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = (const unsigned char *)data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* One write() per line, so that a killed rank leaves whole lines and ranks do not mix. */
static inline void observe_write(int file, const char *text, int length) {
    if (length < 0 || write(file, text, (size_t)length) != length)
        abort();
}

static inline void observe_open(int rank) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    observer.rank = rank;
    observer.random =
        (uint64_t)now.tv_nsec * 2654435761u ^ (uint64_t)getpid() << 32 ^ 88172645463325252u;
    const char *directory = getenv("PROGRAM_LOG");
    if (directory) {
        char path[4096];
        snprintf(path, sizeof path, "%s/" OBSERVE_WHO "-%d.log", directory, rank);
        observer.log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (observer.log < 0) {
            perror(path);
            exit(1);
        }
    }
}

static inline void observe(const char *what, long value) {
    observer.hash = observe_mix(observer.hash, what, strlen(what));
    observer.hash = observe_mix(observer.hash, &value, sizeof value);
    if (observer.log >= 0) {
        char line[128];
        observe_write(observer.log, line, snprintf(line, sizeof line, "%s %ld\n", what, value));
    }
}

static inline void observe_data(const char *what, const void *data, size_t size) {
    observe(what, (long)observe_mix(UINT64_C(14695981039346656037), data, size));
}

static inline void observe_close(void) {
    char line[64];
    observe_write(STDOUT_FILENO, line,
                  snprintf(line, sizeof line, OBSERVE_WHO " %d: %016llx\n", observer.rank,
                           (unsigned long long)observer.hash));
}

/* Up to a third of a millisecond: long enough to change who comes first. */
static inline void dawdle(void) {
    observer.random ^= observer.random << 13;
    observer.random ^= observer.random >> 7;
    observer.random ^= observer.random << 17;
    struct timespec pause = {0, (long)(observer.random % 300000)};
    if (pause.tv_nsec > 60000)
        nanosleep(&pause, NULL);
}

#endif
