/* The state of a channel, kept at both of its endpoints. All changes are made with the segment's
   lock; each is a store of one word, and what is missing when somebody dies between two of them can
   be told from the other one. */
#ifndef MC_CHANNEL_WORD_H
#define MC_CHANNEL_WORD_H

#include "segment.h"

static inline uint32_t mc_channel_peer(uint64_t word) {
    return (uint32_t)word;
}

static inline uint32_t mc_channel_generation(uint64_t word) {
    return (uint32_t)(word >> 32) & 0xffff;
}

static inline uint32_t mc_channel_flags(uint64_t word) {
    return (uint32_t)(word >> 48);
}

static inline uint64_t mc_channel_word(uint32_t peer, uint32_t generation, uint32_t flags) {
    return (uint64_t)peer | (uint64_t)(generation & 0xffff) << 32 | (uint64_t)flags << 48;
}

static inline uint64_t mc_channel_load(const struct mc_endpoint *endpoint) {
    return __atomic_load_n(&endpoint->channel, __ATOMIC_ACQUIRE);
}

/* NULL if the endpoint is not there, or not any more. */
static inline struct mc_endpoint *mc_endpoint_find(const struct mc_segment *segment,
                                                   uint32_t handle) {
    uint32_t place = handle & MC_INDEX_MASK;
    if (!handle || place >= segment->limits.endpoints)
        return NULL;
    struct mc_endpoint *endpoint = mc_endpoint_at(segment, place);
    return __atomic_load_n(&endpoint->handle, __ATOMIC_ACQUIRE) == handle ? endpoint : NULL;
}

/* Each returns an MCAPI status. `kind` is MC_CHANNEL_PACKET or _SCALAR, `side` _SEND or _RECEIVE.
 */
uint32_t mc_channel_connect(struct mc_segment *segment, struct mc_endpoint *sender,
                            struct mc_endpoint *receiver, uint32_t kind);
uint32_t mc_channel_open(struct mc_segment *segment, struct mc_endpoint *endpoint, uint32_t kind,
                         uint32_t side);
void mc_channel_close(struct mc_segment *segment, struct mc_endpoint *endpoint);

/* Takes an open back that the other side has not answered yet. */
void mc_channel_unopen(struct mc_endpoint *endpoint);

/* The endpoint goes away; `why` is added to what its peer is told. */
void mc_channel_abandon(struct mc_segment *segment, struct mc_endpoint *endpoint, uint32_t why);

/* Puts right what somebody who died has left half done. */
void mc_channel_mend(struct mc_segment *segment, struct mc_endpoint *endpoint);

#endif
