/* MPI_Isendrecv with a wildcard: one request for a send and a receive.

   MPICH 4.0 does not say in the status which message such a request received, so nothing could be
   recorded. The two halves are therefore posted one by one: the program holds the receive, and the
   send is its partner until it is complete, which for small messages it is at once. */
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

/* Takes charge of a send. Returns when it is known, or complete already. */
int rf_partner_add(MPI_Request receive, MPI_Request send, void *copy);
#ifdef RF_ABI_LARGE_COUNTS
extern struct rf_partners rf_partners RF_OURS;
bool rf_partner_ask(MPI_Request receive);
void rf_partner_wait(MPI_Request receive);

/* True if there are requests of two halves. */
RF_STEP bool rf_partners_any(void) {
    return __builtin_expect(rf_partners.count != 0, 0);
}
/* True if the request has no partner any more. */
RF_STEP bool rf_partner_done(MPI_Request receive) {
    return __builtin_expect(rf_partners.count == 0, 1) || rf_partner_ask(receive);
}
/* The receive is complete: waits for the send. */
RF_STEP void rf_partner_settle(MPI_Request receive) {
    if (__builtin_expect(rf_partners.count != 0, 0))
        rf_partner_wait(receive);
}

/* Test-any (wait-any without a flag) and test-some or wait-some, where there are requests of two
   halves: those whose send is not complete are left out. */
int rf_partner_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status);
int rf_partner_some(bool wait, int count, MPI_Request *requests, int *done, int *indices,
                    MPI_Status *statuses);
#else
/* A library without the call: no request ever has a partner. */
static inline bool rf_partners_any(void) {
    return false;
}
static inline bool rf_partner_done(MPI_Request receive) {
    (void)receive;
    return true;
}
static inline void rf_partner_settle(MPI_Request receive) {
    (void)receive;
}
#endif

#endif
