/* Replay: how a rank that sleeps until its message comes is woken by the rank that sends it.

   Each rank has a bell in a file that all ranks of a host map. A rank that goes to sleep says so; a
   rank that sends rings the bell of its peer. A ring is only a hint: a rank that nobody rings for,
   because its peer is on another host or inside a collective, wakes up by itself after a while. */
#ifndef RF_MPI_BELLS_H
#define RF_MPI_BELLS_H

#include <stdbool.h>

#include "mpi/abi.h"

struct rf_bell {
    _Alignas(64) uint32_t asleep;
    uint32_t rung; /* futex */
};

/* Without a run directory, or on any failure, ranks only sleep and wake by themselves. */
void rf_bells_open(const char *run, int rank, int size);

/* Sleeping takes three steps: say so, look once more, sleep. */
uint32_t rf_bell_listen(void);
/* True if somebody rang after rf_bell_listen returned `heard`. */
bool rf_bell_sleep(uint32_t heard, long nanoseconds);

/* Wakes the rank that is `peer` in this communicator, if it sleeps: before a send, which may not
   return until the peer gets on, and after it, when the peer has something to see. */
void rf_bell_ring(MPI_Comm comm, int peer, bool sent);
/* The communicator is freed. */
void rf_bells_forget(MPI_Comm comm);

#endif
