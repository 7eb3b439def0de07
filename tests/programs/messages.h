/* The parts that most test programs share: start, end, phases, senders, one observed message. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "observe.h"

#include <mpi.h>

enum { MOST_WORDS = 1 << 16, ROUNDS = 8 };

static int world_rank, world_size;

static inline void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    observe_open(world_rank);
}

static inline void end(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    observe_close();
    MPI_Finalize();
}

/* Nothing of one phase can match in the next. */
static inline void phase(const char *name) {
    MPI_Barrier(MPI_COMM_WORLD);
    observe(name, 0);
}

static inline int error_class(int code) {
    int class_number = 0;
    MPI_Error_class(code, &class_number);
    return class_number;
}

static inline void fill(int *words, int count, int message) {
    for (int i = 0; i < count; i++)
        words[i] = world_rank * 1000000 + message * 1000 + i % 1000;
}

/* COUNT messages of WORDS integers to DESTINATION, with the tags 0 to TAGS-1 in turn. */
static inline void send_stream(MPI_Comm comm, int destination, int count, int words, int tags) {
    static int buffer[MOST_WORDS];
    for (int i = 0; i < count; i++) {
        dawdle();
        fill(buffer, words, i);
        MPI_Send(buffer, words, MPI_INT, destination, i % tags, comm);
    }
}

static inline void observe_message(const MPI_Status *status, const int *words) {
    int count;
    observe("source", status->MPI_SOURCE);
    observe("tag", status->MPI_TAG);
    MPI_Get_count(status, MPI_INT, &count);
    observe("count", count);
    if (count > 0 && count != MPI_UNDEFINED)
        observe_data("data", words, (size_t)count * sizeof *words);
}

#endif
