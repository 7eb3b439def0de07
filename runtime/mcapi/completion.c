#include "completion.h"

#include "inbox.h"

struct mc_request *mc_request_find(struct mc_local_node *node, mcapi_request_t handle) {
    uint64_t index = handle & 0xffff;
    if (!handle || index >= node->capacity || node->requests[index].handle != handle)
        return NULL;
    return &node->requests[index];
}

static void complete(struct mc_local_node *node, struct mc_request *request, uint32_t status) {
    mc_lock(&node->lock);
    if (request->state == MC_PENDING) {
        request->status = status;
        __atomic_store_n(&request->state, MC_COMPLETE, __ATOMIC_RELEASE);
    }
    mc_unlock(&node->lock);
}

static void poll_receive(struct mc_local_node *node, struct mc_request *request) {
    struct mc_local_endpoint *endpoint = request->endpoint;
    struct mc_post *post = &request->post;
    uint32_t ended = MCAPI_SUCCESS;
    if (!__atomic_load_n(&post->done, __ATOMIC_ACQUIRE)) {
        if (post->kind != MC_MESSAGE)
            ended = mc_channel_ended(endpoint);
        mc_progress(endpoint);
    }
    if (__atomic_load_n(&post->done, __ATOMIC_ACQUIRE)) {
        complete(node, request, post->status);
    } else if (ended != MCAPI_SUCCESS) {
        mc_lock(&endpoint->lock);
        bool withdrawn = mc_withdraw(endpoint, post);
        mc_unlock(&endpoint->lock);
        complete(node, request, withdrawn ? ended : post->status);
    }
}

static void poll_get(struct mc_local_node *node, struct mc_request *request) {
    struct mc_segment *segment = mc_the_job.segment;
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        struct mc_endpoint *endpoint = mc_endpoint_at(segment, i);
        uint32_t handle = __atomic_load_n(&endpoint->handle, __ATOMIC_ACQUIRE);
        if (!handle || endpoint->domain != request->domain || endpoint->node != request->node ||
            endpoint->port != request->port)
            continue;
        uint32_t life = endpoint->life;
        /* Somebody may have deleted it meanwhile, and made another one in its place. */
        if (__atomic_load_n(&endpoint->handle, __ATOMIC_ACQUIRE) != handle)
            continue;
        mc_lock(&node->lock);
        if (request->state == MC_PENDING) {
            *request->found = handle;
            request->life = life;
            __atomic_add_fetch(&endpoint->get_count, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&endpoint->get_source, (uint64_t)node->domain << 32 | node->node,
                             __ATOMIC_RELAXED);
            __atomic_store_n(&request->state, MC_COMPLETE, __ATOMIC_RELEASE);
        }
        mc_unlock(&node->lock);
        return;
    }
}

static void poll_open(struct mc_local_node *node, struct mc_request *request) {
    const struct mc_endpoint *endpoint = request->endpoint->shared;
    uint64_t word = mc_channel_load(endpoint);
    uint32_t flags = mc_channel_flags(word);
    if (__atomic_load_n(&endpoint->handle, __ATOMIC_ACQUIRE) != request->endpoint_handle)
        complete(node, request, MCAPI_ERR_ENDP_DELETED);
    else if (mc_channel_generation(word) != request->generation || flags & MC_CHANNEL_CLOSED)
        complete(node, request, MCAPI_ERR_CHAN_NOTOPEN);
    else if (flags & MC_CHANNEL_OPEN)
        complete(node, request, MCAPI_SUCCESS);
    else if (flags & MC_CHANNEL_PEER_CLOSED)
        complete(node, request,
                 flags & MC_CHANNEL_PEER_LOST ? MCAPI_ERR_TRANSMISSION : MCAPI_ERR_ENDP_DELETED);
}

enum mc_request_state mc_request_poll(struct mc_local_node *node, struct mc_request *request) {
    if (__atomic_load_n(&request->state, __ATOMIC_ACQUIRE) == MC_PENDING) {
        if (request->kind == MC_REQUEST_RECEIVE)
            poll_receive(node, request);
        else if (request->kind == MC_REQUEST_GET)
            poll_get(node, request);
        else if (request->kind == MC_REQUEST_OPEN)
            poll_open(node, request);
    }
    return (enum mc_request_state)__atomic_load_n(&request->state, __ATOMIC_ACQUIRE);
}
