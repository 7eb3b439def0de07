/* Packet channels. */
#include "api_channel.h"
#include "inbox.h"
#include "request.h"
#include "send.h"

MC_API void mcapi_pktchan_connect_i(mcapi_endpoint_t send_endpoint,
                                    mcapi_endpoint_t receive_endpoint, mcapi_request_t *request,
                                    mcapi_status_t *status) {
    mc_connect(send_endpoint, receive_endpoint, MC_CHANNEL_PACKET, request, status);
}

MC_API void mcapi_pktchan_recv_open_i(mcapi_pktchan_recv_hndl_t *recv_handle,
                                      mcapi_endpoint_t receive_endpoint, mcapi_request_t *request,
                                      mcapi_status_t *status) {
    mc_open(recv_handle, receive_endpoint, MC_CHANNEL_PACKET, MC_CHANNEL_RECEIVE, request, status);
}

MC_API void mcapi_pktchan_send_open_i(mcapi_pktchan_send_hndl_t *send_handle,
                                      mcapi_endpoint_t send_endpoint, mcapi_request_t *request,
                                      mcapi_status_t *status) {
    mc_open(send_handle, send_endpoint, MC_CHANNEL_PACKET, MC_CHANNEL_SEND, request, status);
}

MC_API void mcapi_pktchan_recv_close_i(mcapi_pktchan_recv_hndl_t receive_handle,
                                       mcapi_request_t *request, mcapi_status_t *status) {
    mc_close(receive_handle, MC_CHANNEL_PACKET, MC_CHANNEL_RECEIVE, request, status);
}

MC_API void mcapi_pktchan_send_close_i(mcapi_pktchan_send_hndl_t send_handle,
                                       mcapi_request_t *request, mcapi_status_t *status) {
    mc_close(send_handle, MC_CHANNEL_PACKET, MC_CHANNEL_SEND, request, status);
}

/* ---- sending ------------------------------------------------------------------------------ */

static uint32_t check_send(struct mc_local_node *node, uint64_t handle, const void *buffer,
                           size_t size, struct mc_local_endpoint **sender, uint32_t *to) {
    uint64_t word = 0;
    uint32_t status =
        mc_channel_check(node, handle, MC_CHANNEL_PACKET, MC_CHANNEL_SEND, sender, &word);
    if (status == MCAPI_SUCCESS)
        status = mc_channel_sendable(word);
    if (status != MCAPI_SUCCESS)
        return status;
    *to = mc_channel_peer(word);
    if (!buffer && size)
        return MCAPI_ERR_PARAMETER;
    return size > (*sender)->shared->attributes.max_payload ? MCAPI_ERR_PKT_SIZE : MCAPI_SUCCESS;
}

/* A receiver that went away just now has closed the channel. */
static uint32_t translate(uint32_t status) {
    return status == MCAPI_ERR_ENDP_INVALID ? MCAPI_ERR_CHAN_NOTOPEN : status;
}

MC_API void mcapi_pktchan_send_i(mcapi_pktchan_send_hndl_t send_handle, const void *buffer,
                                 size_t size, mcapi_request_t *request, mcapi_status_t *status) {
    struct mc_local_endpoint *sender;
    uint32_t to;
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    *status = check_send(node, send_handle, buffer, size, &sender, &to);
    if (*status == MCAPI_SUCCESS && !request)
        *status = MCAPI_ERR_PARAMETER;
    if (*status != MCAPI_SUCCESS)
        return;
    struct mc_request *sent = mc_request_new(node, MC_REQUEST_SENT);
    if (!sent) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    sent->post.size = size;
    const struct mc_parcel parcel = {.kind = MC_PACKET, .data = buffer, .size = size};
    *status = translate(mc_try_send(sender, to, &parcel));
    if (*status == MCAPI_SUCCESS)
        mc_request_complete(node, sent, request);
    else
        mc_request_drop(node, sent);
}

MC_API void mcapi_pktchan_send(mcapi_pktchan_send_hndl_t send_handle, const void *buffer,
                               size_t size, mcapi_status_t *status) {
    struct mc_local_endpoint *sender;
    uint32_t to;
    if (!status)
        return;
    *status = check_send(mc_current(), send_handle, buffer, size, &sender, &to);
    const struct mc_parcel parcel = {.kind = MC_PACKET, .data = buffer, .size = size};
    if (MC_LIKELY(*status == MCAPI_SUCCESS))
        *status = translate(mc_send(sender, to, &parcel));
}

/* ---- receiving ---------------------------------------------------------------------------- */

static uint32_t check_receive(struct mc_local_node *node, uint64_t handle,
                              struct mc_local_endpoint **receiver) {
    uint64_t word = 0;
    uint32_t status =
        mc_channel_check(node, handle, MC_CHANNEL_PACKET, MC_CHANNEL_RECEIVE, receiver, &word);
    return status == MCAPI_SUCCESS ? mc_channel_receivable(word) : status;
}

MC_API void mcapi_pktchan_recv_i(mcapi_pktchan_recv_hndl_t receive_handle, void **buffer,
                                 mcapi_request_t *request, mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    *status = check_receive(node, receive_handle, &receiver);
    if (*status == MCAPI_SUCCESS && (!buffer || !request))
        *status = MCAPI_ERR_PARAMETER;
    if (*status != MCAPI_SUCCESS)
        return;
    struct mc_request *receive = mc_request_new(node, MC_REQUEST_RECEIVE);
    if (!receive) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    receive->endpoint = receiver;
    receive->endpoint_handle = (uint32_t)receive_handle;
    receive->post.kind = MC_PACKET;
    receive->post.cancellable = true;
    receive->post.packet = buffer;
    mc_lock(&receiver->lock);
    bool there = receiver->handle == (uint32_t)receive_handle;
    if (there)
        mc_post(receiver, &receive->post);
    mc_unlock(&receiver->lock);
    if (there) {
        *request = receive->handle;
        *status = MCAPI_PENDING;
    } else {
        mc_request_drop(node, receive);
        *status = MCAPI_ERR_CHAN_INVALID;
    }
}

MC_API void mcapi_pktchan_recv(mcapi_pktchan_recv_hndl_t receive_handle, void **buffer,
                               size_t *received_size, mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return;
    mc_deliver_nothing();
    *status = check_receive(mc_current(), receive_handle, &receiver);
    if (*status == MCAPI_SUCCESS && (!buffer || !received_size))
        *status = MCAPI_ERR_PARAMETER;
    if (*status != MCAPI_SUCCESS)
        return;
    struct mc_post post;
    mc_post_prepare(&post, MC_PACKET);
    post.packet = buffer;
    *status =
        mc_receive(receiver, (uint32_t)receive_handle, &post, receiver->shared->attributes.timeout);
    if (*status == MCAPI_SUCCESS) {
        *received_size = post.size;
        mc_deliver(&post.origin);
    } else if (*status == MCAPI_ERR_ENDP_INVALID) {
        *status = MCAPI_ERR_CHAN_INVALID;
    }
}

MC_API mcapi_uint_t mcapi_pktchan_available(mcapi_pktchan_recv_hndl_t receive_handle,
                                            mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return 0;
    *status = check_receive(mc_current(), receive_handle, &receiver);
    return *status == MCAPI_SUCCESS ? mc_available(receiver, MC_PACKET) : 0;
}

/* ---- buffers ------------------------------------------------------------------------------ */

MC_API void mcapi_pktchan_release(void *buffer, mcapi_status_t *status) {
    if (!status)
        return;
    if (!mc_current()) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_buffer *held = buffer ? mc_pool_find(segment, buffer) : NULL;
    uint32_t mine = mc_owner_word(mc_the_job.process) | MC_HELD;
    *status = held && __atomic_compare_exchange_n(&held->owner, &mine, 0, false, __ATOMIC_RELEASE,
                                                  __ATOMIC_RELAXED)
                  ? MCAPI_SUCCESS
                  : MCAPI_ERR_BUF_INVALID;
    if (*status == MCAPI_SUCCESS)
        mc_bell_ring(&segment->buffers_free);
}

MC_API mcapi_boolean_t mcapi_pktchan_release_test(void *buffer, mcapi_status_t *status) {
    if (!status)
        return MCAPI_FALSE;
    if (!mc_current()) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return MCAPI_FALSE;
    }
    const struct mc_buffer *held = buffer ? mc_pool_find(mc_the_job.segment, buffer) : NULL;
    if (!held) {
        *status = MCAPI_ERR_BUF_INVALID;
        return MCAPI_FALSE;
    }
    bool pending = __atomic_load_n(&held->owner, __ATOMIC_ACQUIRE) ==
                   (mc_owner_word(mc_the_job.process) | MC_HELD);
    *status = pending ? MCAPI_PENDING : MCAPI_SUCCESS;
    return pending ? MCAPI_FALSE : MCAPI_TRUE;
}
