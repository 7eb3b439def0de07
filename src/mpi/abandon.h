/* Requests that the program gives up before they are complete.

   Replay: whether a cancel won is recorded with the call. Where nobody saw that, because the
   recording was cut off before, the library is told only when the recording is over: until then
   the request may have to take a message that later receives must not get. */
#ifndef RF_MPI_ABANDON_H
#define RF_MPI_ABANDON_H

#include <stdbool.h>

#include "mpi/abi.h"

struct rf_undecided {
    struct rf_undecided_cancel {
        MPI_Request request;
        bool freed; /* by the program */
    } * entries;
    int count, size;
    int lock; /* where threads may call at the same time */
};

/* True if the program wants to cancel this request and the library does not know yet. */
bool rf_undecided_has(MPI_Request request);
/* The recording is over: tells the library. */
void rf_undecided_release(void);

#endif
