#include "channel_word.h"

#include "bell.h"
#include "include/mcapi.h"

#define OPENED (MC_CHANNEL_OPENING | MC_CHANNEL_OPEN)
#define KINDS (MC_CHANNEL_PACKET | MC_CHANNEL_SCALAR)
#define SIDES (MC_CHANNEL_SEND | MC_CHANNEL_RECEIVE)

static void store(struct mc_endpoint *endpoint, uint64_t word) {
    __atomic_store_n(&endpoint->channel, word, __ATOMIC_SEQ_CST);
}

static void change(struct mc_endpoint *endpoint, uint32_t set, uint32_t clear) {
    uint64_t word = endpoint->channel;
    store(endpoint, mc_channel_word(mc_channel_peer(word), mc_channel_generation(word),
                                    (mc_channel_flags(word) | set) & ~clear));
}

/* Handles of the old channel stop to be valid. */
static void reset(struct mc_endpoint *endpoint) {
    store(endpoint, mc_channel_word(0, mc_channel_generation(endpoint->channel) + 1, 0));
}

static uint32_t flags_of(const struct mc_endpoint *endpoint) {
    return mc_channel_flags(endpoint->channel);
}

/* Those who wait for data or for room have to look at the channel again. */
static void tell(struct mc_endpoint *endpoint) {
    mc_bell_wake(&endpoint->arrival);
    mc_bell_wake(&endpoint->space);
}

/* The endpoint at the other end, if it agrees. */
static struct mc_endpoint *peer_of(struct mc_segment *segment, const struct mc_endpoint *endpoint) {
    struct mc_endpoint *peer = mc_endpoint_find(segment, mc_channel_peer(endpoint->channel));
    return peer && mc_channel_peer(peer->channel) == endpoint->handle ? peer : NULL;
}

static bool compatible(const struct mc_attributes *left, const struct mc_attributes *right) {
    return left->max_payload == right->max_payload && left->buffer_type == right->buffer_type &&
           left->memory_type == right->memory_type && left->priorities == right->priorities &&
           left->priority == right->priority;
}

static bool type_allows(const struct mc_endpoint *endpoint, uint32_t kind) {
    uint32_t type = endpoint->attributes.type;
    return type == MCAPI_ENDP_ATTR_TYPE_MESSAGE ||
           type == (kind == MC_CHANNEL_PACKET ? MCAPI_ENDP_ATTR_TYPE_PKTCHAN
                                              : MCAPI_ENDP_ATTR_TYPE_SCLCHAN);
}

/* Why this endpoint cannot become one side of a new channel. */
static uint32_t not_free(const struct mc_endpoint *endpoint, uint32_t kind, uint32_t side) {
    uint32_t flags = flags_of(endpoint);
    if (flags & MC_CHANNEL_CLOSED)
        return MCAPI_ERR_CHAN_CLOSEPENDING;
    if (flags & MC_CHANNEL_OPEN)
        return MCAPI_ERR_CHAN_OPEN;
    if (flags & MC_CHANNEL_CONNECTED)
        return MCAPI_ERR_CHAN_CONNECTED;
    if (flags & KINDS && !(flags & kind))
        return MCAPI_ERR_CHAN_TYPE;
    if (flags & SIDES && !(flags & side))
        return MCAPI_ERR_CHAN_DIRECTION;
    return MCAPI_SUCCESS;
}

/* Both sides have opened it: now data may flow. */
static void open_both(struct mc_endpoint *one, struct mc_endpoint *other) {
    if (flags_of(one) & flags_of(other) & MC_CHANNEL_OPENING) {
        change(one, MC_CHANNEL_OPEN, 0);
        change(other, MC_CHANNEL_OPEN, 0);
    }
}

uint32_t mc_channel_connect(struct mc_segment *segment, struct mc_endpoint *sender,
                            struct mc_endpoint *receiver, uint32_t kind) {
    (void)segment;
    if (sender == receiver)
        return MCAPI_ERR_ENDP_INVALID;
    uint32_t status = not_free(sender, kind, MC_CHANNEL_SEND);
    if (status == MCAPI_SUCCESS)
        status = not_free(receiver, kind, MC_CHANNEL_RECEIVE);
    if (status != MCAPI_SUCCESS)
        return status;
    if (!compatible(&sender->attributes, &receiver->attributes) || !type_allows(sender, kind) ||
        !type_allows(receiver, kind))
        return MCAPI_ERR_ATTR_INCOMPATIBLE;
    uint32_t common = kind | MC_CHANNEL_CONNECTED;
    store(sender, mc_channel_word(receiver->handle, mc_channel_generation(sender->channel),
                                  flags_of(sender) | common | MC_CHANNEL_SEND));
    store(receiver, mc_channel_word(sender->handle, mc_channel_generation(receiver->channel),
                                    flags_of(receiver) | common | MC_CHANNEL_RECEIVE));
    open_both(sender, receiver);
    return MCAPI_SUCCESS;
}

uint32_t mc_channel_open(struct mc_segment *segment, struct mc_endpoint *endpoint, uint32_t kind,
                         uint32_t side) {
    uint32_t flags = flags_of(endpoint);
    if (flags & MC_CHANNEL_CLOSED)
        return MCAPI_ERR_CHAN_CLOSEPENDING;
    if (flags & KINDS && !(flags & kind))
        return MCAPI_ERR_CHAN_TYPE;
    if (flags & SIDES && !(flags & side))
        return MCAPI_ERR_CHAN_DIRECTION;
    if (flags & MC_CHANNEL_OPEN)
        return MCAPI_ERR_CHAN_OPEN;
    if (flags & MC_CHANNEL_OPENING)
        return MCAPI_ERR_CHAN_OPENPENDING;
    if (!type_allows(endpoint, kind))
        return MCAPI_ERR_CHAN_TYPE;
    change(endpoint, kind | side | MC_CHANNEL_OPENING, 0);
    struct mc_endpoint *peer = peer_of(segment, endpoint);
    if (peer)
        open_both(endpoint, peer);
    return flags_of(endpoint) & MC_CHANNEL_OPEN ? MCAPI_SUCCESS : MCAPI_PENDING;
}

void mc_channel_unopen(struct mc_endpoint *endpoint) {
    uint32_t flags = flags_of(endpoint);
    change(endpoint, 0,
           flags & MC_CHANNEL_CONNECTED ? MC_CHANNEL_OPENING : MC_CHANNEL_OPENING | KINDS | SIDES);
}

/* This side is done with it. The other one keeps its half until it has closed it as well. */
static void part(struct mc_endpoint *endpoint, struct mc_endpoint *peer, uint32_t why) {
    uint32_t theirs = peer ? flags_of(peer) : 0;
    if (theirs & MC_CHANNEL_CLOSED || (peer && !(theirs & OPENED))) {
        reset(peer);
        peer = NULL;
    }
    if (peer) {
        change(endpoint, MC_CHANNEL_CLOSED, OPENED);
        change(peer, MC_CHANNEL_PEER_CLOSED | why, 0);
        tell(peer);
    } else {
        reset(endpoint);
    }
    tell(endpoint);
}

void mc_channel_close(struct mc_segment *segment, struct mc_endpoint *endpoint) {
    part(endpoint, peer_of(segment, endpoint), 0);
}

void mc_channel_abandon(struct mc_segment *segment, struct mc_endpoint *endpoint, uint32_t why) {
    if (!flags_of(endpoint))
        return;
    struct mc_endpoint *peer = peer_of(segment, endpoint);
    if (peer && flags_of(peer) & OPENED && !(flags_of(peer) & MC_CHANNEL_PEER_CLOSED)) {
        change(peer, MC_CHANNEL_PEER_CLOSED | why, 0);
        tell(peer);
    } else if (peer && !(flags_of(peer) & OPENED)) {
        reset(peer);
        tell(peer);
    }
    reset(endpoint);
}

void mc_channel_mend(struct mc_segment *segment, struct mc_endpoint *endpoint) {
    uint32_t flags = flags_of(endpoint);
    if (!endpoint->handle || !(flags & MC_CHANNEL_CONNECTED))
        return;
    struct mc_endpoint *peer = peer_of(segment, endpoint);
    if (!peer) {
        if (flags & OPENED)
            change(endpoint, MC_CHANNEL_PEER_CLOSED | MC_CHANNEL_PEER_LOST, 0);
        else
            reset(endpoint);
        tell(endpoint);
        return;
    }
    if (flags & MC_CHANNEL_CLOSED && flags_of(peer) & OPENED &&
        !(flags_of(peer) & MC_CHANNEL_PEER_CLOSED)) {
        change(peer, MC_CHANNEL_PEER_CLOSED, 0);
        tell(peer);
    }
    if (!(flags & MC_CHANNEL_CLOSED))
        open_both(endpoint, peer);
}
