/* Connectionless messages. */
#include "api.h"
#include "inbox.h"
#include "request.h"
#include "send.h"

/* What can be wrong with a send; the sending endpoint otherwise. */
static uint32_t check_send(struct mc_local_node *node, mcapi_endpoint_t from, mcapi_endpoint_t to,
                           const void *buffer, size_t size, mcapi_priority_t priority,
                           struct mc_local_endpoint **sender) {
    const struct mc_segment *segment = mc_the_job.segment;
    if (!node)
        return MCAPI_ERR_NODE_NOTINIT;
    const struct mc_endpoint *receiver = mc_endpoint_find(segment, to);
    *sender = mc_own_endpoint(node, from);
    if (!*sender || !receiver)
        return MCAPI_ERR_ENDP_INVALID;
    if (!buffer && size)
        return MCAPI_ERR_PARAMETER;
    if (size > receiver->attributes.max_payload)
        return MCAPI_ERR_MSG_SIZE;
    if (priority >= segment->limits.priorities)
        return MCAPI_ERR_PRIORITY;
    if (mc_channel_flags(mc_channel_load(receiver)) |
        mc_channel_flags(mc_channel_load((*sender)->shared)))
        return MCAPI_ERR_CHAN_CONNECTED;
    return MCAPI_SUCCESS;
}

MC_API void mcapi_msg_send_i(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint,
                             const void *buffer, size_t buffer_size, mcapi_priority_t priority,
                             mcapi_request_t *request, mcapi_status_t *status) {
    struct mc_local_endpoint *sender;
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    *status =
        check_send(node, send_endpoint, receive_endpoint, buffer, buffer_size, priority, &sender);
    if (*status == MCAPI_SUCCESS && !request)
        *status = MCAPI_ERR_PARAMETER;
    if (*status != MCAPI_SUCCESS)
        return;
    struct mc_request *sent = mc_request_new(node, MC_REQUEST_SENT);
    if (!sent) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    sent->post.size = buffer_size;
    const struct mc_parcel parcel = {
        .kind = MC_MESSAGE, .priority = priority, .data = buffer, .size = buffer_size};
    *status = mc_try_send(sender, receive_endpoint, &parcel);
    if (*status == MCAPI_SUCCESS)
        mc_request_complete(node, sent, request);
    else
        mc_request_drop(node, sent);
}

MC_API void mcapi_msg_send(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint,
                           const void *buffer, size_t buffer_size, mcapi_priority_t priority,
                           mcapi_status_t *status) {
    struct mc_local_endpoint *sender;
    if (!status)
        return;
    *status = check_send(mc_current(), send_endpoint, receive_endpoint, buffer, buffer_size,
                         priority, &sender);
    const struct mc_parcel parcel = {
        .kind = MC_MESSAGE, .priority = priority, .data = buffer, .size = buffer_size};
    if (MC_LIKELY(*status == MCAPI_SUCCESS))
        *status = mc_send(sender, receive_endpoint, &parcel);
}

/* What can be wrong with a receive; the receiving endpoint otherwise. */
static uint32_t check_receive(struct mc_local_node *node, mcapi_endpoint_t endpoint,
                              struct mc_local_endpoint **receiver) {
    if (!node)
        return MCAPI_ERR_NODE_NOTINIT;
    *receiver = mc_own_endpoint(node, endpoint);
    if (!*receiver)
        return MCAPI_ERR_ENDP_INVALID;
    return mc_channel_flags(mc_channel_load((*receiver)->shared)) ? MCAPI_ERR_CHAN_CONNECTED
                                                                  : MCAPI_SUCCESS;
}

MC_API void mcapi_msg_recv_i(mcapi_endpoint_t receive_endpoint, void *buffer, size_t buffer_size,
                             mcapi_request_t *request, mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    *status = check_receive(node, receive_endpoint, &receiver);
    if (*status == MCAPI_SUCCESS && (!request || (!buffer && buffer_size)))
        *status = MCAPI_ERR_PARAMETER;
    if (*status != MCAPI_SUCCESS)
        return;
    struct mc_request *receive = mc_request_new(node, MC_REQUEST_RECEIVE);
    if (!receive) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    receive->endpoint = receiver;
    receive->endpoint_handle = receive_endpoint;
    receive->post.kind = MC_MESSAGE;
    receive->post.cancellable = true;
    receive->post.buffer = buffer;
    receive->post.room = buffer_size;
    mc_lock(&receiver->lock);
    bool there = receiver->handle == receive_endpoint;
    if (there)
        mc_post(receiver, &receive->post);
    mc_unlock(&receiver->lock);
    if (there) {
        *request = receive->handle;
        *status = MCAPI_PENDING;
    } else {
        mc_request_drop(node, receive);
        *status = MCAPI_ERR_ENDP_INVALID;
    }
}

MC_API void mcapi_msg_recv(mcapi_endpoint_t receive_endpoint, void *buffer, size_t buffer_size,
                           size_t *received_size, mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return;
    mc_deliver_nothing();
    *status = check_receive(mc_current(), receive_endpoint, &receiver);
    if (*status == MCAPI_SUCCESS && (!received_size || (!buffer && buffer_size)))
        *status = MCAPI_ERR_PARAMETER;
    if (*status != MCAPI_SUCCESS)
        return;
    struct mc_post post;
    mc_post_prepare(&post, MC_MESSAGE);
    post.buffer = buffer;
    post.room = buffer_size;
    *status = mc_receive(receiver, receive_endpoint, &post, receiver->shared->attributes.timeout);
    if (*status == MCAPI_SUCCESS || *status == MCAPI_ERR_MSG_TRUNCATED) {
        *received_size = post.size;
        mc_deliver(&post.origin);
    }
}

MC_API mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t receive_endpoint, mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return 0;
    *status = check_receive(mc_current(), receive_endpoint, &receiver);
    return *status == MCAPI_SUCCESS ? mc_available(receiver, MC_MESSAGE) : 0;
}
