/* Recording: the wildcard receives whose match is not known yet, in the order of their posts, and
   the persistent ones that may be started again. */
#ifndef RF_MPI_PENDING_H
#define RF_MPI_PENDING_H

#include "mpi/abi.h"
#include "mpi/handle_map.h"
#include "trace/recorder.h"

struct rf_pending_receive {
    MPI_Request handle;
    struct rf_post post;
    uint32_t late;  /* packed word, should the match become known late */
    uint32_t older; /* neighbours in the list of unknown matches, RF_NOWHERE at its ends */
    uint32_t newer;
    uint32_t channel;
    bool persistent;
    bool active;
    bool unknown; /* in the list */
};

struct rf_pending {
    struct rf_handle_map map;
    struct rf_pending_receive *receives;
    uint32_t size, unused; /* `unused` heads a list of free places, linked by `newer` */
    uint32_t oldest, newest;
};

struct rf_here;

void rf_pending_open(struct rf_pending *pending);

static inline bool rf_pending_any(const struct rf_pending *pending) {
    return pending->map.used != 0;
}

/* Irecv and its kin: the request was posted here. */
void rf_pending_post(const struct rf_here *here, MPI_Request request, MPI_Comm comm);
/* Recv_init: a receive that will be started. */
void rf_pending_persistent(MPI_Request request, MPI_Comm comm);
/* Start: a new post, if the request is a wildcard receive. */
void rf_pending_start(const struct rf_here *here, MPI_Request request);
/* The library reported this request complete. */
void rf_pending_complete(MPI_Request request, const MPI_Status *status);
/* The program gave the request up. */
void rf_pending_forget(MPI_Request request);
/* Asks the library, without completing anything, for matches it knows but has not reported. */
void rf_pending_sweep(uint32_t until);

#endif
