/* Replay: how a rank that sleeps until its message comes is woken by the rank that sends it.

   Each rank has a bell in a file that all ranks of a host map. A rank that goes to sleep says so,
   and what it waits for: for a message of that rank, or until that rank has taken one. That rank
   rings the bell when it has done so. A ring is only a hint: a rank that nobody rings for, because
   its peer is on another host or inside a collective, wakes up by itself after a while. */
#ifndef RF_MPI_BELLS_H
#define RF_MPI_BELLS_H

#include <stdbool.h>

#include "mpi/abi.h"

struct rf_bell {
    _Alignas(64) uint32_t asleep; /* 0: no; else what rf_bell_listen was told */
    uint32_t rung;                /* futex */
};

#define RF_ANYBODY (-1)

/* What is waited for; also why a bell rings. */
enum rf_bell_reason {
    RF_BELL_SENT = 1,  /* a message */
    RF_BELL_TAKEN = 2, /* that a message is taken */
    RF_BELL_LOOKED = RF_BELL_SENT | RF_BELL_TAKEN,
};

/* Whom a rank waits for and why. Where it is not known whom, any ring will do. */
struct rf_bell_wait {
    int owner;
    enum rf_bell_reason reason;
};
#define RF_BELL_ANYBODY ((struct rf_bell_wait){RF_ANYBODY, RF_BELL_LOOKED})

/* Without a run directory, or on any failure, ranks only sleep and wake by themselves. */
void rf_bells_open(const char *run, int rank, int size);

/* The rank in MPI_COMM_WORLD of a peer in a communicator; RF_ANYBODY if that is not known. Only
   communicators in which a call has succeeded are `known` to be one. */
int rf_bell_owner(MPI_Comm comm, int peer, bool known);

/* A receive was posted, or a send started: what is waited for when this request is. */
void rf_bell_expect(MPI_Request request, MPI_Comm comm, int peer, enum rf_bell_reason reason);
/* That; RF_BELL_ANYBODY if it is not known. It is forgotten. */
struct rf_bell_wait rf_bell_expected(MPI_Request request);

/* Sleeping takes three steps: say so, look once more, sleep. */
uint32_t rf_bell_listen(struct rf_bell_wait wait);
/* True if somebody rang after rf_bell_listen returned `heard`. */
bool rf_bell_sleep(uint32_t heard, long nanoseconds);

/* Wakes this rank of MPI_COMM_WORLD if it sleeps and waits for this of the calling one. */
void rf_bell_ring(int owner, enum rf_bell_reason reason);
/* The communicator is freed. */
void rf_bells_forget(MPI_Comm comm);

#endif
