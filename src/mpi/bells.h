/* Replay: how a rank that sleeps until its message comes is woken by the rank that sends it.

   Each rank has a bell in a file that all ranks of a host map. A rank that goes to sleep says so,
   and for whom it waits; that rank rings the bell when it has sent to the sleeper or received from
   it. A ring is only a hint: a rank that nobody rings for, because its peer is on another host or
   inside a collective, wakes up by itself after a while. */
#ifndef RF_MPI_BELLS_H
#define RF_MPI_BELLS_H

#include <stdbool.h>

#include "mpi/abi.h"

struct rf_bell {
    _Alignas(64) uint32_t asleep; /* 0: no; 1: until anybody rings; else 2 + the rank waited for */
    uint32_t rung;                /* futex */
};

#define RF_ANYBODY (-1)

/* Without a run directory, or on any failure, ranks only sleep and wake by themselves. */
void rf_bells_open(const char *run, int rank, int size);

/* The rank in MPI_COMM_WORLD of a peer in a communicator; RF_ANYBODY if that is not known. Only
   communicators in which a call has succeeded are `known` to be one. */
int rf_bell_owner(MPI_Comm comm, int peer, bool known);

/* A receive was posted: who is waited for when this request is. */
void rf_bell_expect(MPI_Request request, MPI_Comm comm, int source);
/* That rank, or RF_ANYBODY. It is forgotten. */
int rf_bell_expected(MPI_Request request);

/* Sleeping takes three steps: say so, look once more, sleep. */
uint32_t rf_bell_listen(int owner);
/* True if somebody rang after rf_bell_listen returned `heard`. */
bool rf_bell_sleep(uint32_t heard, long nanoseconds);

/* Wakes this rank of MPI_COMM_WORLD if it sleeps and waits for the calling one. */
void rf_bell_ring(int owner);
/* The communicator is freed. */
void rf_bells_forget(MPI_Comm comm);

#endif
