/* The wait and test families as a replay answers them. */
#ifndef RF_MPI_COMPLETE_REPLAY_H
#define RF_MPI_COMPLETE_REPLAY_H

#include "mpi/adapter.h"

int rf_replay_wait(const struct rf_here *here, MPI_Request *request, MPI_Status *status);
int rf_replay_test(const struct rf_here *here, MPI_Request *request, int *flag, MPI_Status *status);
int rf_replay_get_status(const struct rf_here *here, MPI_Request request, int *flag,
                         MPI_Status *status);
int rf_replay_waitall(const struct rf_here *here, int count, MPI_Request *requests,
                      MPI_Status *statuses);
int rf_replay_testall(const struct rf_here *here, int count, MPI_Request *requests, int *flag,
                      MPI_Status *statuses);
/* Wait-any if `flag` is NULL, else test-any. */
int rf_replay_any(const struct rf_here *here, int count, MPI_Request *requests, int *index,
                  int *flag, MPI_Status *status);
/* Wait-some or test-some: they differ in whether they may come back with nothing, which the library
   and the recording know by themselves. */
typedef int rf_some_function(int, MPI_Request *, int *, int *, MPI_Status *);
int rf_replay_some(const struct rf_here *here, rf_some_function *real, int count,
                   MPI_Request *requests, int *done, int *indices, MPI_Status *statuses);

#endif
