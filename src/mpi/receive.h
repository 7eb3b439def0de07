/* Receives and probes that may name no source: what they have in common. */
#ifndef RF_MPI_RECEIVE_H
#define RF_MPI_RECEIVE_H

#include "mpi/adapter.h"

/* True if the library has a choice. A receive from MPI_PROC_NULL involves no message at all. */
static inline bool rf_is_wild(int source, int tag) {
    return source == MPI_ANY_SOURCE || (tag == MPI_ANY_TAG && source != MPI_PROC_NULL);
}

/* A blocking call that takes or shows one message. */
struct rf_blocking {
    enum rf_kind kind;
    MPI_Comm comm;
    int source, tag;    /* what to ask the library for; replay puts in what was recorded */
    MPI_Status *caller; /* the caller's status, may be MPI_STATUS_IGNORE */
    MPI_Status *status; /* the status to pass to the library */
    bool wild;          /* it enters the stream */
};

/* Before the library's call: replay names the message, recording provides a status. */
void rf_blocking_begin(const struct rf_here *here, struct rf_blocking *call);
/* After it: recording writes the match down. */
void rf_blocking_end(const struct rf_here *here, struct rf_blocking *call, int code);

/* What a wildcard receive that is posted now is going to take, according to the recording. */
enum rf_naming { RF_NAME_FREE, RF_NAME_KNOWN, RF_NAME_HELD };
enum rf_naming rf_name_post(const struct rf_here *here, MPI_Comm comm, int *source, int *tag);

/* Posts a wildcard receive: recording notes the post, replay names or parks it. */
int rf_receive_wild(const struct rf_here *here, const struct rf_receive *receive,
                    MPI_Request *request);

#endif
