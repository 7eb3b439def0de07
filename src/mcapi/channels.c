/* Packet and scalar channels: between two endpoints, first in, first out. What comes is decided by
   the one sender; what varies is when, and how the calls end. */
#include <stdlib.h>

#include "mcapi/posted.h"

/* What receives have taken is the program's, and what nobody has asked for goes with the channel.
 */
static void before_close(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t handle) {
    if (rf_recording(node) || rf_free(node))
        return;
    rf_fetch_taken_packets(node, here, handle);
    rf_packets_drop(node, handle);
}
static void after_close(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t handle,
                        mcapi_status_t status) {
    if (rf_recording(node) && status == MCAPI_SUCCESS)
        rf_record_taken_packets(node, here, handle);
    else if (rf_answering(node) && status == MCAPI_SUCCESS)
        rf_fetch_taken_packets(node, here, handle);
}

/* The body of those that open one. */
#define RF_OPEN(name)                                                                              \
    do {                                                                                           \
        RF_CALL_REQUEST(rf_left_open(node, here.function, endpoint, handle, made, status)          \
                            ? (void)0                                                              \
                            : real->name(handle, endpoint, made, status));                         \
        if (rf_recording(node) || rf_is_failure(*status))                                          \
            break;                                                                                 \
        if (rf_answering(node))                                                                    \
            *handle = ++node->data.handles;                                                        \
        else if (here.function == RF_FN_pktchan_recv_open_i)                                       \
            rf_packets_expect(node, *handle);                                                      \
        rf_request_opens(node, *request, here.function, endpoint, *handle);                        \
    } while (0)

#define RF_CHANNEL(kind)                                                                           \
    RF_WRAPPER(void, kind##_connect_i,                                                             \
               (mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t * request,             \
                mcapi_status_t * status)) {                                                        \
        RF_ENTER_VOID(kind##_connect_i, (from, to, request, status));                              \
        rf_sign(&node->session, &here, rf_endpoint_sign(node, from), rf_endpoint_sign(node, to),   \
                0);                                                                                \
        RF_CALL_REQUEST(real->kind##_connect_i(from, to, made, status));                           \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(void, kind##_recv_open_i,                                                           \
               (mcapi_##kind##_recv_hndl_t * handle, mcapi_endpoint_t endpoint,                    \
                mcapi_request_t * request, mcapi_status_t * status)) {                             \
        RF_ENTER_VOID(kind##_recv_open_i, (handle, endpoint, request, status));                    \
        rf_sign(&node->session, &here, rf_endpoint_sign(node, endpoint), 0, 0);                    \
        RF_OPEN(kind##_recv_open_i);                                                               \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(void, kind##_send_open_i,                                                           \
               (mcapi_##kind##_send_hndl_t * handle, mcapi_endpoint_t endpoint,                    \
                mcapi_request_t * request, mcapi_status_t * status)) {                             \
        RF_ENTER_VOID(kind##_send_open_i, (handle, endpoint, request, status));                    \
        rf_sign(&node->session, &here, rf_endpoint_sign(node, endpoint), 0, 0);                    \
        RF_OPEN(kind##_send_open_i);                                                               \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(                                                                                    \
        void, kind##_recv_close_i,                                                                 \
        (mcapi_##kind##_recv_hndl_t handle, mcapi_request_t * request, mcapi_status_t * status)) { \
        RF_ENTER_VOID(kind##_recv_close_i, (handle, request, status));                             \
        rf_sign(&node->session, &here, 0, 0, 0);                                                   \
        RF_CALL_REQUEST(                                                                           \
            (before_close(node, &here, handle), real->kind##_recv_close_i(handle, made, status))); \
        after_close(node, &here, handle, *status);                                                 \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(                                                                                    \
        void, kind##_send_close_i,                                                                 \
        (mcapi_##kind##_send_hndl_t handle, mcapi_request_t * request, mcapi_status_t * status)) { \
        RF_ENTER_VOID(kind##_send_close_i, (handle, request, status));                             \
        rf_sign(&node->session, &here, 0, 0, 0);                                                   \
        RF_CALL_REQUEST(real->kind##_send_close_i(handle, made, status));                          \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(mcapi_uint_t, kind##_available,                                                     \
               (mcapi_##kind##_recv_hndl_t handle, mcapi_status_t * status)) {                     \
        RF_ENTER(kind##_available, (handle, status));                                              \
        RF_AVAILABLE(real->kind##_available(handle, status), rf_packets_count(node, handle));      \
    }

RF_CHANNEL(pktchan)
RF_CHANNEL(sclchan)

/* Nobody need ask whether a channel is open before he uses it. */
RF_STEP void opened(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t handle) {
    if (!rf_recording(node)) {
        const struct rf_here copy = *here;
        rf_channel_opened(node, &copy, handle);
    }
}

/* ---- packets ---- */

RF_WRAPPER(void, pktchan_send,
           (mcapi_pktchan_send_hndl_t handle, const void *buffer, size_t size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_send, (handle, buffer, size, status));
    rf_sign(&node->session, &here, 0, 0, (int64_t)size);
    rf_line_begin(node, &here, RF_LINE_SENT, handle);
    RF_CALL_SEND((opened(node, &here, handle), real->pktchan_send(handle, buffer, size, status)));
    rf_line_end(node, RF_LINE_SENT, handle, *status);
    rf_leave(node);
}

RF_WRAPPER(void, pktchan_send_i,
           (mcapi_pktchan_send_hndl_t handle, const void *buffer, size_t size,
            mcapi_request_t *request, mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_send_i, (handle, buffer, size, request, status));
    rf_sign(&node->session, &here, 0, 0, (int64_t)size);
    rf_line_begin(node, &here, RF_LINE_SENT, handle);
    RF_CALL_SEND_REQUEST(size, (opened(node, &here, handle),
                                real->pktchan_send_i(handle, buffer, size, made, status)));
    rf_line_end(node, RF_LINE_SENT, handle, *status);
    rf_leave(node);
}

static void replay_packet(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t handle,
                          void **buffer, size_t *size, mcapi_status_t *status) {
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    if (*status != MCAPI_SUCCESS)
        return;
    uint32_t number = rf_packet_number(node, here, handle);
    if (rf_answering(node)) {
        *buffer = rf_answer_packet(node, here, size);
        return;
    }
    if (rf_free(node))
        rf_endpoints_stop_ticking(node);
    rf_packet_get(node, here, handle, rf_free(node) ? NULL : &number, MCAPI_TIMEOUT_INFINITE,
                  buffer, size, status);
}

RF_WRAPPER(void, pktchan_recv,
           (mcapi_pktchan_recv_hndl_t handle, void **buffer, size_t *size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_recv, (handle, buffer, size, status));
    rf_sign(&node->session, &here, 0, 0, 0);
    rf_line_begin(node, &here, RF_LINE_PACKETS, handle);
    if (rf_recording(node)) {
        real->pktchan_recv(handle, buffer, size, status);
        rf_record_status(node, &here, *status);
        if (*status == MCAPI_SUCCESS) {
            if (rf_reals.origin && !node->session.shared)
                rf_record_packet_number(node, &here, handle, rf_delivered(NULL, 0, false).sequence);
            rf_keep(node, *buffer, *size, false);
        }
    } else {
        const struct rf_here copy = here;
        replay_packet(node, &copy, handle, buffer, size, status);
    }
    rf_line_end(node, RF_LINE_PACKETS, handle, *status);
    rf_leave(node);
}

RF_WRAPPER(void, pktchan_recv_i,
           (mcapi_pktchan_recv_hndl_t handle, void **buffer, mcapi_request_t *request,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_recv_i, (handle, buffer, request, status));
    rf_sign(&node->session, &here, 0, 0, 0);
    if (rf_recording(node)) {
        real->pktchan_recv_i(handle, buffer, request, status);
        rf_record_status(node, &here, *status);
        if (!rf_is_failure(*status))
            rf_record_packet(node, *request, buffer, handle);
    } else {
        const struct rf_here copy = here;
        *status = rf_recorded_status(node, &copy, MCAPI_SUCCESS);
        if (rf_free(node) && !rf_answering(node)) { /* can anything come? */
            real->pktchan_available(handle, status);
            *status = *status == MCAPI_SUCCESS ? MCAPI_PENDING : *status;
        }
        const struct rf_request what = {
            .kind = RF_REQUEST_PACKET, .packet = buffer, .handle = handle};
        if (!rf_is_failure(*status))
            *request = rf_request_new(node, &what);
        if (*status == MCAPI_SUCCESS)
            rf_request_complete(node, &copy, *request);
    }
    rf_leave(node);
}

RF_WRAPPER(void, pktchan_release, (void *buffer, mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_release, (buffer, status));
    rf_sign(&node->session, &here, 0, 0, 0);
    RF_CALL(real->pktchan_release(buffer, status));
    if (rf_answering(node) && *status == MCAPI_SUCCESS)
        free(buffer);
    rf_leave(node);
}

RF_WRAPPER(mcapi_boolean_t, pktchan_release_test, (void *buffer, mcapi_status_t *status)) {
    RF_ENTER(pktchan_release_test, (buffer, status));
    mcapi_boolean_t released = 0;
    if (!rf_answering(node))
        released = real->pktchan_release_test(buffer, status);
    uint32_t both = (uint32_t)rf_value(node, &here, (int32_t)(*status << 1 | (released != 0)));
    *status = both >> 1;
    rf_leave(node);
    return both & 1;
}

/* ---- scalars ---- */

#define RF_SCALARS(bits)                                                                           \
    RF_WRAPPER(                                                                                    \
        void, sclchan_send_uint##bits,                                                             \
        (mcapi_sclchan_send_hndl_t handle, mcapi_uint##bits##_t word, mcapi_status_t * status)) {  \
        RF_ENTER_VOID(sclchan_send_uint##bits, (handle, word, status));                            \
        rf_sign(&node->session, &here, 0, 0, 0);                                                   \
        rf_line_begin(node, &here, RF_LINE_SENT, handle);                                          \
        RF_CALL_SEND(                                                                              \
            (opened(node, &here, handle), real->sclchan_send_uint##bits(handle, word, status)));   \
        rf_line_end(node, RF_LINE_SENT, handle, *status);                                          \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(mcapi_uint##bits##_t, sclchan_recv_uint##bits,                                      \
               (mcapi_sclchan_recv_hndl_t handle, mcapi_status_t * status)) {                      \
        RF_ENTER(sclchan_recv_uint##bits, (handle, status));                                       \
        rf_sign(&node->session, &here, 0, 0, 0);                                                   \
        mcapi_uint##bits##_t word = 0;                                                             \
        rf_line_begin(node, &here, RF_LINE_RECEIVED, handle);                                      \
        RF_CALL(                                                                                   \
            (opened(node, &here, handle), word = real->sclchan_recv_uint##bits(handle, status)));  \
        rf_line_end(node, RF_LINE_RECEIVED, handle, *status);                                      \
        if (*status == MCAPI_SUCCESS)                                                              \
            rf_through(node, &here, &word, sizeof word);                                           \
        rf_leave(node);                                                                            \
        return word;                                                                               \
    }

RF_SCALARS(64)
RF_SCALARS(32)
RF_SCALARS(16)
RF_SCALARS(8)
