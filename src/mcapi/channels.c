/* Packet and scalar channels: between two endpoints, first in, first out. What comes is decided by
   the one sender; what varies is when, and how the calls end. */
#include <stdlib.h>

#include "mcapi/adapter.h"

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
        RF_CALL_REQUEST(real->kind##_recv_close_i(handle, made, status));                          \
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
        RF_AVAILABLE(real->kind##_available(handle, status));                                      \
    }

RF_CHANNEL(pktchan)
RF_CHANNEL(sclchan)

/* ---- packets ---- */

RF_WRAPPER(void, pktchan_send,
           (mcapi_pktchan_send_hndl_t handle, const void *buffer, size_t size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_send, (handle, buffer, size, status));
    rf_sign(&node->session, &here, 0, 0, (int64_t)size);
    rf_line_begin(node, &here, RF_LINE_SENT, handle);
    RF_CALL_SEND(real->pktchan_send(handle, buffer, size, status));
    rf_line_end(node, RF_LINE_SENT, handle, *status);
    rf_leave(node);
}

RF_WRAPPER(void, pktchan_send_i,
           (mcapi_pktchan_send_hndl_t handle, const void *buffer, size_t size,
            mcapi_request_t *request, mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_send_i, (handle, buffer, size, request, status));
    rf_sign(&node->session, &here, 0, 0, (int64_t)size);
    rf_line_begin(node, &here, RF_LINE_SENT, handle);
    RF_CALL_SEND_REQUEST(size, real->pktchan_send_i(handle, buffer, size, made, status));
    rf_line_end(node, RF_LINE_SENT, handle, *status);
    rf_leave(node);
}

RF_WRAPPER(void, pktchan_recv,
           (mcapi_pktchan_recv_hndl_t handle, void **buffer, size_t *size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_recv, (handle, buffer, size, status));
    rf_sign(&node->session, &here, 0, 0, 0);
    rf_line_begin(node, &here, RF_LINE_RECEIVED, handle);
    RF_CALL(real->pktchan_recv(handle, buffer, size, status));
    rf_line_end(node, RF_LINE_RECEIVED, handle, *status);
    if (*status == MCAPI_SUCCESS && rf_answering(node))
        *buffer = rf_answer_packet(node, &here, size);
    else if (*status == MCAPI_SUCCESS)
        rf_keep(node, *buffer, *size, false);
    rf_leave(node);
}

RF_WRAPPER(void, pktchan_recv_i,
           (mcapi_pktchan_recv_hndl_t handle, void **buffer, mcapi_request_t *request,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(pktchan_recv_i, (handle, buffer, request, status));
    rf_sign(&node->session, &here, 0, 0, 0);
    RF_CALL_REQUEST(real->pktchan_recv_i(handle, buffer, made, status));
    if (rf_is_failure(*status))
        ;
    else if (rf_recording(node))
        rf_record_packet(node, *request, buffer);
    else
        rf_request_packet(node, *request, buffer);
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
        RF_CALL_SEND(real->sclchan_send_uint##bits(handle, word, status));                         \
        rf_line_end(node, RF_LINE_SENT, handle, *status);                                          \
        rf_leave(node);                                                                            \
    }                                                                                              \
    RF_WRAPPER(mcapi_uint##bits##_t, sclchan_recv_uint##bits,                                      \
               (mcapi_sclchan_recv_hndl_t handle, mcapi_status_t * status)) {                      \
        RF_ENTER(sclchan_recv_uint##bits, (handle, status));                                       \
        rf_sign(&node->session, &here, 0, 0, 0);                                                   \
        mcapi_uint##bits##_t word = 0;                                                             \
        rf_line_begin(node, &here, RF_LINE_RECEIVED, handle);                                      \
        RF_CALL(word = real->sclchan_recv_uint##bits(handle, status));                             \
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
