/* The sending side: one way for messages, packets and scalars. */
#ifndef MC_SEND_H
#define MC_SEND_H

#include "job.h"

struct mc_parcel {
    enum mc_kind kind;
    uint32_t width; /* of a scalar */
    uint32_t priority;
    const void *data;
    size_t size;
};

/* Sends it, or returns why not. A full queue, or no buffer, is MCAPI_ERR_MEM_LIMIT. */
uint32_t mc_try_send(struct mc_local_endpoint *from, uint32_t to, const struct mc_parcel *parcel);

/* The same, but waits for room as the sending endpoint's attributes say. */
uint32_t mc_send(struct mc_local_endpoint *from, uint32_t to, const struct mc_parcel *parcel);

#endif
