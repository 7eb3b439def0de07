#include "mpi/channels.h"

#define OTHERS                                                                                     \
    (RF_MAX_CHANNELS - 1) /* shared by all communicators once the numbers are used up              \
                           */

void rf_channels_open(struct rf_channels *channels, bool concurrent) {
    memset(channels, 0, sizeof *channels);
    channels->concurrent = concurrent;
    rf_channel_learn(channels, rf_comm_key(MPI_COMM_WORLD));
    rf_channel_learn(channels, rf_comm_key(MPI_COMM_SELF));
}

uint32_t rf_channel_learn(struct rf_channels *channels, uint64_t key) {
    uint32_t number = rf_handle_find(&channels->map, key);
    if (number == RF_NOWHERE) {
        number = 0;
        while (number < OTHERS && channels->taken[number])
            number++;
        if (number == OTHERS || !rf_handle_add(&channels->map, key, number))
            return OTHERS;
        channels->taken[number] = 1;
    }
    /* Two words cannot be read at once while another thread writes them. */
    if (!channels->concurrent) {
        channels->last_key = key;
        channels->last = number;
    }
    return number;
}

uint32_t rf_channel_known(const struct rf_channels *channels, MPI_Comm comm) {
    uint32_t number = rf_handle_find(&channels->map, rf_comm_key(comm));
    return number == RF_NOWHERE ? OTHERS : number;
}

uint32_t rf_channel_of_shared(struct rf_channels *channels, uint64_t key) {
    rf_lock(&channels->lock);
    uint32_t number = rf_channel_learn(channels, key);
    rf_unlock(&channels->lock);
    return number;
}

uint32_t rf_channel_bind(struct rf_channels *channels, MPI_Comm comm, uint32_t number) {
    uint64_t key = rf_comm_key(comm);
    if (number == OTHERS)
        return number;
    rf_lock(&channels->lock);
    uint32_t bound = rf_handle_find(&channels->map, key);
    /* A thread may still have to give up what had the number before. */
    if (bound == RF_NOWHERE && channels->taken[number] && !channels->concurrent)
        bound = rf_channel_learn(channels, key);
    if (bound == RF_NOWHERE && rf_handle_add(&channels->map, key, number)) {
        channels->taken[number] = 1;
        bound = number;
    }
    rf_unlock(&channels->lock);
    return bound;
}

void rf_channel_forget(struct rf_channels *channels, MPI_Comm comm) {
    uint64_t key = rf_comm_key(comm);
    if (channels->concurrent)
        rf_lock(&channels->lock);
    uint32_t number = rf_handle_find(&channels->map, key);
    if (number != RF_NOWHERE) {
        rf_handle_remove(&channels->map, key);
        channels->taken[number] = 0;
        channels->last_key = 0;
    }
    if (channels->concurrent)
        rf_unlock(&channels->lock);
}
