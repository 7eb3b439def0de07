/* Communicators by small numbers: MPI_COMM_WORLD is 0, MPI_COMM_SELF 1, others get the lowest free
   number when they are first used in an event. The same in every run, unlike the handles. */
#ifndef RF_MPI_CHANNELS_H
#define RF_MPI_CHANNELS_H

#include "engine/handle_map.h"
#include "engine/lock.h"
#include "mpi/abi.h"
#include "trace/event.h"

struct rf_channels {
    struct rf_handle_map map;
    uint64_t last_key; /* most programs use one communicator many times in a row */
    uint32_t last;
    uint8_t taken[RF_MAX_CHANNELS];
    bool concurrent;
    int lock; /* if so */
};

void rf_channels_open(struct rf_channels *channels, bool concurrent);
uint32_t rf_channel_learn(struct rf_channels *channels, uint64_t key);
/* The number of a communicator, without giving it one. */
uint32_t rf_channel_known(const struct rf_channels *channels, MPI_Comm comm);
void rf_channel_forget(struct rf_channels *channels, MPI_Comm comm);

/* Replay: the number that a communicator has, or gets now; another one if this is not to be had. */
uint32_t rf_channel_bind(struct rf_channels *channels, MPI_Comm comm, uint32_t number);
uint32_t rf_channel_of_shared(struct rf_channels *channels, uint64_t key);

RF_STEP uint32_t rf_channel_of(struct rf_channels *channels, MPI_Comm comm) {
    uint64_t key = rf_comm_key(comm);
    if (__builtin_expect(key == channels->last_key, 1))
        return channels->last;
    if (__builtin_expect(channels->concurrent, 0))
        return rf_channel_of_shared(channels, key);
    return rf_channel_learn(channels, key);
}

#endif
