/* Opening and closing one channel from each sender to node 0. KIND is pktchan or sclchan. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include "observed.h"

enum { CHANNEL_PORT = 20 };

#define CHANNELS(kind)                                                                             \
    /* Node 0: the receiving end of the channel from `node`. */                                    \
    static inline mcapi_##kind##_recv_hndl_t open_from(int node) {                                 \
        mcapi_##kind##_recv_hndl_t handle;                                                         \
        mcapi_request_t request;                                                                   \
        mcapi_status_t status;                                                                     \
        mcapi_endpoint_t mine = own_endpoint(CHANNEL_PORT + node);                                 \
        mcapi_endpoint_t theirs = endpoint_of(node, CHANNEL_PORT);                                 \
        mcapi_##kind##_connect_i(theirs, mine, &request, &status);                                 \
        must("connect", status);                                                                   \
        await_request(&request);                                                                   \
        mcapi_##kind##_recv_open_i(&handle, mine, &request, &status);                              \
        must("recv_open", status);                                                                 \
        await_request(&request);                                                                   \
        return handle;                                                                             \
    }                                                                                              \
    /* The others. It can be opened before it is connected. */                                     \
    static inline mcapi_##kind##_send_hndl_t open_to(mcapi_endpoint_t mine) {                      \
        mcapi_##kind##_send_hndl_t handle;                                                         \
        mcapi_request_t request;                                                                   \
        mcapi_status_t status;                                                                     \
        mcapi_##kind##_send_open_i(&handle, mine, &request, &status);                              \
        must("send_open", status);                                                                 \
        await_request(&request);                                                                   \
        return handle;                                                                             \
    }                                                                                              \
    static inline void close_from(mcapi_##kind##_recv_hndl_t handle) {                             \
        mcapi_request_t request;                                                                   \
        mcapi_status_t status;                                                                     \
        mcapi_##kind##_recv_close_i(handle, &request, &status);                                    \
        must("recv_close", status);                                                                \
        await_request(&request);                                                                   \
    }                                                                                              \
    static inline void close_to(mcapi_##kind##_send_hndl_t handle) {                               \
        mcapi_request_t request;                                                                   \
        mcapi_status_t status;                                                                     \
        mcapi_##kind##_send_close_i(handle, &request, &status);                                    \
        must("send_close", status);                                                                \
        await_request(&request);                                                                   \
    }

#endif
