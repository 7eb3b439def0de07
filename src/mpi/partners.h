/* MPI_Isendrecv: one request for a send and a receive.

   MPICH 4.0 does not say in the status which message such a request received, or how long it was,
   so with a wildcard nothing could be recorded, and no contents kept. Then the two halves are
   posted one by one: the program holds the receive, and the send is its partner until it
   is complete, which for small messages it is at once. From the first one on, the calls of the
   library that complete requests are ours: they wait for the send too, or leave out a receive whose
   send is not complete. */
#ifndef RF_MPI_PARTNERS_H
#define RF_MPI_PARTNERS_H

#include <stdbool.h>

#include "mpi/abi.h"

struct rf_partner {
    MPI_Request receive, send;
    void *copy; /* what is being sent, if the program's buffer is overwritten; or NULL */
};

struct rf_partners {
    struct rf_partner *entries;
    int count, size;
    int lock; /* where threads may call at the same time */
};

#ifdef RF_DECLARES_Isendrecv
extern struct rf_partners rf_partners RF_OURS;
void rf_partner_wait(MPI_Request receive);

/* Waits for the send of such a request, too. */
RF_STEP void rf_partner_settle(MPI_Request receive) {
    if (__builtin_expect(rf_partners.count != 0, 0))
        rf_partner_wait(receive);
}
#else
/* A library without the call: no request ever has a partner. */
static inline void rf_partner_settle(MPI_Request receive) {
    (void)receive;
}
#endif

#endif
