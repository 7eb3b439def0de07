/* Scalar channels. */
#include "api_channel.h"
#include "inbox.h"
#include "send.h"

MC_API void mcapi_sclchan_connect_i(mcapi_endpoint_t send_endpoint,
                                    mcapi_endpoint_t receive_endpoint, mcapi_request_t *request,
                                    mcapi_status_t *status) {
    mc_connect(send_endpoint, receive_endpoint, MC_CHANNEL_SCALAR, request, status);
}

MC_API void mcapi_sclchan_recv_open_i(mcapi_sclchan_recv_hndl_t *receive_handle,
                                      mcapi_endpoint_t receive_endpoint, mcapi_request_t *request,
                                      mcapi_status_t *status) {
    mc_open(receive_handle, receive_endpoint, MC_CHANNEL_SCALAR, MC_CHANNEL_RECEIVE, request,
            status);
}

MC_API void mcapi_sclchan_send_open_i(mcapi_sclchan_send_hndl_t *send_handle,
                                      mcapi_endpoint_t send_endpoint, mcapi_request_t *request,
                                      mcapi_status_t *status) {
    mc_open(send_handle, send_endpoint, MC_CHANNEL_SCALAR, MC_CHANNEL_SEND, request, status);
}

MC_API void mcapi_sclchan_recv_close_i(mcapi_sclchan_recv_hndl_t receive_handle,
                                       mcapi_request_t *request, mcapi_status_t *status) {
    mc_close(receive_handle, MC_CHANNEL_SCALAR, MC_CHANNEL_RECEIVE, request, status);
}

MC_API void mcapi_sclchan_send_close_i(mcapi_sclchan_send_hndl_t send_handle,
                                       mcapi_request_t *request, mcapi_status_t *status) {
    mc_close(send_handle, MC_CHANNEL_SCALAR, MC_CHANNEL_SEND, request, status);
}

static void send_scalar(uint64_t handle, uint64_t value, uint32_t width, mcapi_status_t *status) {
    struct mc_local_endpoint *sender;
    uint64_t word = 0;
    if (!status)
        return;
    *status =
        mc_channel_check(mc_current(), handle, MC_CHANNEL_SCALAR, MC_CHANNEL_SEND, &sender, &word);
    if (*status == MCAPI_SUCCESS)
        *status = mc_channel_sendable(word);
    if (*status != MCAPI_SUCCESS)
        return;
    const struct mc_parcel parcel = {
        .kind = MC_SCALAR, .width = width, .data = &value, .size = sizeof value};
    *status = mc_send(sender, mc_channel_peer(word), &parcel);
    if (*status == MCAPI_ERR_ENDP_INVALID)
        *status = MCAPI_ERR_CHAN_NOTOPEN;
}

static uint32_t check_receive(uint64_t handle, struct mc_local_endpoint **receiver) {
    uint64_t word = 0;
    uint32_t status = mc_channel_check(mc_current(), handle, MC_CHANNEL_SCALAR, MC_CHANNEL_RECEIVE,
                                       receiver, &word);
    return status == MCAPI_SUCCESS ? mc_channel_receivable(word) : status;
}

static uint64_t receive_scalar(uint64_t handle, uint32_t width, mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return 0;
    mc_deliver_nothing();
    *status = check_receive(handle, &receiver);
    if (*status != MCAPI_SUCCESS)
        return 0;
    struct mc_post post;
    mc_post_prepare(&post, MC_SCALAR);
    post.width = width;
    *status = mc_receive(receiver, (uint32_t)handle, &post, receiver->shared->attributes.timeout);
    if (*status == MCAPI_ERR_ENDP_INVALID)
        *status = MCAPI_ERR_CHAN_INVALID;
    if (*status != MCAPI_SUCCESS)
        return 0;
    mc_deliver(&post.origin);
    return post.value;
}

#define SCALAR(bits)                                                                               \
    MC_API void mcapi_sclchan_send_uint##bits(mcapi_sclchan_send_hndl_t send_handle,               \
                                              mcapi_uint##bits##_t dataword,                       \
                                              mcapi_status_t *status) {                            \
        send_scalar(send_handle, dataword, (bits) / 8, status);                                    \
    }                                                                                              \
    MC_API mcapi_uint##bits##_t mcapi_sclchan_recv_uint##bits(                                     \
        mcapi_sclchan_recv_hndl_t receive_handle, mcapi_status_t *status) {                        \
        return (mcapi_uint##bits##_t)receive_scalar(receive_handle, (bits) / 8, status);           \
    }
SCALAR(64)
SCALAR(32)
SCALAR(16)
SCALAR(8)

MC_API mcapi_uint_t mcapi_sclchan_available(mcapi_sclchan_recv_hndl_t receive_handle,
                                            mcapi_status_t *status) {
    struct mc_local_endpoint *receiver;
    if (!status)
        return 0;
    *status = check_receive(receive_handle, &receiver);
    return *status == MCAPI_SUCCESS ? mc_available(receiver, MC_SCALAR) : 0;
}
