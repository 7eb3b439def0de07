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
/* The forms for several requests are given the library's function, as there are those that complete
   the requests and those that only ask: then they stay. */
typedef int rf_all_function(int, MPI_Request *, int *, MPI_Status *);
typedef int rf_any_function(int, MPI_Request *, int *, int *, MPI_Status *);
typedef int rf_some_function(int, MPI_Request *, int *, int *, MPI_Status *);
int rf_replay_all(const struct rf_here *here, rf_all_function *real, bool stay, int count,
                  MPI_Request *requests, int *flag, MPI_Status *statuses);
/* Wait-any if `real` and `flag` are NULL. */
int rf_replay_any(const struct rf_here *here, rf_any_function *real, bool stay, int count,
                  MPI_Request *requests, int *index, int *flag, MPI_Status *status);
/* Wait-some comes back with something, which the library and the recording know by themselves. */
int rf_replay_some(const struct rf_here *here, rf_some_function *real, bool stay, int count,
                   MPI_Request *requests, int *done, int *indices, MPI_Status *statuses);

#endif
