/* For programs whose threads call MPI: several threads, each of which observes for itself. */
#ifndef CREW_H
#define CREW_H

#define OBSERVE_STORAGE _Thread_local
#include "messages.h"

#include <pthread.h>

enum { MOST_MEMBERS = 8 };

struct member {
    pthread_t thread;
    int number;
    void (*work)(int number);
    uint64_t hash;
};

static inline void begin_with(int *argc, char ***argv, int level) {
    int provided;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    observe_open(world_rank);
    if (provided < level) {
        fprintf(stderr, "the MPI library does not support enough of threads\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static inline void *run_member(void *argument) {
    struct member *member = (struct member *)argument;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    observer.rank = world_rank;
    observer.random = ((uint64_t)now.tv_nsec * 2654435761u) ^
                      (uint64_t)(member->number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    member->work(member->number);
    member->hash = observer.hash;
    return NULL;
}

/* Runs the work in so many threads at the same time. */
static inline void run_crew(int count, void (*work)(int number)) {
    struct member members[MOST_MEMBERS];
    for (int i = 0; i < count; i++) {
        members[i].number = i;
        members[i].work = work;
        if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0)
            abort();
    }
    for (int i = 0; i < count; i++) {
        pthread_join(members[i].thread, NULL);
        observe("member", (long)members[i].hash);
    }
}

#endif
