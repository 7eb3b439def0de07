/* Channels: connecting, opening and closing them, the same for packets and scalars. */
#include "api_channel.h"

#include "inbox.h"
#include "request.h"

/* A handle: the endpoint's, the channel's generation, what it may be used for. */
#define HANDLE_MARK 0xcu

static uint64_t handle_of(uint32_t endpoint, uint64_t word, uint32_t use) {
    return (uint64_t)HANDLE_MARK << 60 | (uint64_t)use << 48 |
           (uint64_t)mc_channel_generation(word) << 32 | endpoint;
}

uint32_t mc_channel_check(struct mc_local_node *node, uint64_t handle, uint32_t kind, uint32_t side,
                          struct mc_local_endpoint **endpoint, uint64_t *word) {
    if (!node)
        return MCAPI_ERR_NODE_NOTINIT;
    if (handle >> 60 != HANDLE_MARK)
        return MCAPI_ERR_CHAN_INVALID;
    uint32_t use = (uint32_t)(handle >> 48) & 0xfff;
    *endpoint = mc_own_endpoint(node, (uint32_t)handle);
    if (!*endpoint)
        return MCAPI_ERR_CHAN_INVALID;
    *word = mc_channel_load((*endpoint)->shared);
    if (mc_channel_generation(*word) != ((handle >> 32) & 0xffff))
        return MCAPI_ERR_CHAN_INVALID;
    if (!(use & kind))
        return MCAPI_ERR_CHAN_TYPE;
    return use & side ? MCAPI_SUCCESS : MCAPI_ERR_CHAN_DIRECTION;
}

/* A request for something that was done at once. */
static void complete_at_once(struct mc_local_node *node, struct mc_request *done,
                             mcapi_request_t *request, mcapi_status_t *status) {
    if (*status == MCAPI_SUCCESS)
        mc_request_complete(node, done, request);
    else
        mc_request_drop(node, done);
}

void mc_connect(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint, uint32_t kind,
                mcapi_request_t *request, mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    if (!request) {
        *status = MCAPI_ERR_PARAMETER;
        return;
    }
    struct mc_request *connected = mc_request_new(node, MC_REQUEST_SENT);
    if (!connected) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    mc_segment_lock(segment);
    struct mc_endpoint *sender = mc_endpoint_find(segment, send_endpoint);
    struct mc_endpoint *receiver = mc_endpoint_find(segment, receive_endpoint);
    *status = sender && receiver ? mc_channel_connect(segment, sender, receiver, kind)
                                 : MCAPI_ERR_ENDP_INVALID;
    if (*status == MCAPI_SUCCESS)
        mc_tell_everybody(segment);
    mc_segment_unlock(segment);
    complete_at_once(node, connected, request, status);
}

void mc_open(uint64_t *handle, mcapi_endpoint_t endpoint, uint32_t kind, uint32_t side,
             mcapi_request_t *request, mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    if (!request || !handle) {
        *status = MCAPI_ERR_PARAMETER;
        return;
    }
    struct mc_local_endpoint *local = mc_own_endpoint(node, endpoint);
    if (!local) {
        *status = MCAPI_ERR_ENDP_INVALID;
        return;
    }
    struct mc_request *open = mc_request_new(node, MC_REQUEST_OPEN);
    if (!open) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    mc_segment_lock(segment);
    *status = mc_channel_open(segment, local->shared, kind, side);
    uint64_t word = mc_channel_load(local->shared);
    if (*status == MCAPI_SUCCESS)
        mc_tell_everybody(segment);
    mc_segment_unlock(segment);
    open->endpoint = local;
    open->endpoint_handle = endpoint;
    open->generation = mc_channel_generation(word);
    if (*status == MCAPI_SUCCESS || *status == MCAPI_PENDING)
        *handle = handle_of(endpoint, word, kind | side);
    if (*status == MCAPI_PENDING)
        *request = open->handle;
    else
        complete_at_once(node, open, request, status);
}

void mc_close(uint64_t handle, uint32_t kind, uint32_t side, mcapi_request_t *request,
              mcapi_status_t *status) {
    struct mc_local_endpoint *local;
    uint64_t word;
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    *status = mc_channel_check(node, handle, kind, side, &local, &word);
    if (*status != MCAPI_SUCCESS)
        return;
    if (!request) {
        *status = MCAPI_ERR_PARAMETER;
        return;
    }
    struct mc_request *closed = mc_request_new(node, MC_REQUEST_SENT);
    if (!closed) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    mc_lock(&local->lock);
    bool there = local->handle == (uint32_t)handle;
    if (there)
        mc_segment_lock(segment);
    word = there ? mc_channel_load(local->shared) : 0;
    uint32_t flags = mc_channel_flags(word);
    if (!there || mc_channel_generation(word) != ((handle >> 32) & 0xffff)) {
        *status = MCAPI_ERR_CHAN_INVALID;
    } else if (flags & MC_CHANNEL_CLOSED) {
        *status = MCAPI_ERR_CHAN_CLOSEPENDING;
    } else if (!(flags & (MC_CHANNEL_OPENING | MC_CHANNEL_OPEN))) {
        *status = MCAPI_ERR_CHAN_NOTOPEN;
    } else {
        if (side == MC_CHANNEL_RECEIVE) {
            mc_end_posts(local, &local->channel, MCAPI_ERR_CHAN_NOTOPEN);
            mc_drop_returned(local, MC_PACKET);
            mc_drain_channel(segment, (uint32_t)handle & MC_INDEX_MASK);
        }
        mc_channel_close(segment, local->shared);
        mc_tell_everybody(segment);
    }
    if (there)
        mc_segment_unlock(segment);
    mc_unlock(&local->lock);
    complete_at_once(node, closed, request, status);
}

uint32_t mc_channel_sendable(uint64_t word) {
    uint32_t flags = mc_channel_flags(word);
    if (flags & MC_CHANNEL_CLOSED)
        return MCAPI_ERR_CHAN_CLOSEPENDING;
    if (flags & MC_CHANNEL_PEER_LOST)
        return MCAPI_ERR_TRANSMISSION;
    return flags & MC_CHANNEL_OPEN && !(flags & MC_CHANNEL_PEER_CLOSED) ? MCAPI_SUCCESS
                                                                        : MCAPI_ERR_CHAN_NOTOPEN;
}

uint32_t mc_channel_receivable(uint64_t word) {
    uint32_t flags = mc_channel_flags(word);
    if (flags & MC_CHANNEL_CLOSED)
        return MCAPI_ERR_CHAN_CLOSEPENDING;
    return flags & MC_CHANNEL_OPEN ? MCAPI_SUCCESS : MCAPI_ERR_CHAN_NOTOPEN;
}
