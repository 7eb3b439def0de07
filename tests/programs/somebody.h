/* What the programs with windows share: partners that are others from run to run. */
#ifndef SOMEBODY_H
#define SOMEBODY_H

#include <mpi.h>

#include "observe.h"

static int rank, ranks;

/* The next rank that has something to say: another one from run to run. */
static int somebody(int round) {
    MPI_Status status;
    int word = rank;
    MPI_Request request;
    dawdle();
    MPI_Isend(&word, 1, MPI_INT, (rank + 1 + round) % ranks, round, MPI_COMM_WORLD, &request);
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    observe("somebody", status.MPI_SOURCE);
    return status.MPI_SOURCE;
}

#endif
