/* MCAPI 1.063 over the library of MCAPI 2: names, orders of arguments and status names as the
   Multicore Association's reference implementation 1.x had them. Every call is one call of the
   second version, so that whatever watches that one sees this one, too. All nodes are in domain 0.
   Programs that include <mcapi.h> and mean this take their flags from `pkg-config mcapi1`. */
#ifndef MCAPI1_H
#define MCAPI1_H

#ifdef MCAPI1_INCLUDE_PARENT
#    include "../mcapi.h"
#else
#    include <mcapi.h>
#endif
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 is MCAPI_SUCCESS, as in version 2. */
typedef enum {
    MCAPI_INCOMPLETE = 0,
    MCAPI_ENO_INIT = 2,
    MCAPI_ENO_FINAL,
    MCAPI_ENOT_ENDP,
    MCAPI_EMESS_LIMIT,
    MCAPI_ENO_BUFFER,
    MCAPI_ENO_REQUEST,
    MCAPI_ENO_MEM,
    MCAPI_ENODE_NOTINIT,
    MCAPI_EEP_NOTALLOWED,
    MCAPI_EPORT_NOTVALID,
    MCAPI_ENODE_NOTVALID,
    MCAPI_ENO_ENDPOINT,
    MCAPI_ENOT_OWNER,
    MCAPI_ECHAN_OPEN,
    MCAPI_ECONNECTED,
    MCAPI_EATTR_INCOMP,
    MCAPI_ECHAN_TYPE,
    MCAPI_EDIR,
    MCAPI_ENOT_HANDLE,
    MCAPI_EPACK_LIMIT,
    MCAPI_ENOT_VALID_BUF,
    MCAPI_ENOT_OPEN,
    MCAPI_EREQ_CANCELED,
    MCAPI_ENOTREQ_HANDLE,
    MCAPI_EENDP_ISCREATED,
    MCAPI_EENDP_LIMIT,
    MCAPI_ENOT_CONNECTED,
    MCAPI_ESCL_SIZE,
    MCAPI_EPRIO,
    MCAPI_INITIALIZED,
    MCAPI_EPARAM,
    MCAPI_ETRUNCATED,
    MCAPI_EREQ_TIMEOUT
} mcapi_status_flags;

typedef char mcapi_version_t[20];
#define MCAPI_INFINITE MCAPI_TIMEOUT_INFINITE
/* In version 1 the name of the lowest priority. */
#undef MCAPI_MAX_PRIORITY
#define MCAPI_MAX_PRIORITY 3

/* What version 1 calls a status of version 2. A call that was accepted has succeeded there; only a
   test tells that something is not complete. */
static inline mcapi_status_t mcapi1_status(mcapi_status_t status) {
    switch (status) {
    case MCAPI_SUCCESS:
    case MCAPI_PENDING:
        return MCAPI_SUCCESS;
    case MCAPI_TIMEOUT:
        return MCAPI_EREQ_TIMEOUT;
    case MCAPI_ERR_DOMAIN_INVALID:
    case MCAPI_ERR_NODE_INVALID:
        return MCAPI_ENODE_NOTVALID;
    case MCAPI_ERR_NODE_INITFAILED:
        return MCAPI_ENO_INIT;
    case MCAPI_ERR_NODE_INITIALIZED:
        return MCAPI_INITIALIZED;
    case MCAPI_ERR_NODE_NOTINIT:
        return MCAPI_ENODE_NOTINIT;
    case MCAPI_ERR_NODE_FINALFAILED:
        return MCAPI_ENO_FINAL;
    case MCAPI_ERR_PORT_INVALID:
        return MCAPI_EPORT_NOTVALID;
    case MCAPI_ERR_ENDP_INVALID:
        return MCAPI_ENOT_ENDP;
    case MCAPI_ERR_ENDP_EXISTS:
        return MCAPI_EENDP_ISCREATED;
    case MCAPI_ERR_ENDP_DELETED:
        return MCAPI_ENO_ENDPOINT;
    case MCAPI_ERR_ENDP_NOTOWNER:
    case MCAPI_ERR_ENDP_REMOTE:
        return MCAPI_ENOT_OWNER;
    case MCAPI_ERR_ENDP_GET_LIMIT:
    case MCAPI_ERR_ENDP_NOPORTS:
    case MCAPI_ERR_ENDP_LIMIT:
        return MCAPI_EENDP_LIMIT;
    case MCAPI_ERR_ATTR_INCOMPATIBLE:
        return MCAPI_EATTR_INCOMP;
    case MCAPI_ERR_MSG_LIMIT:
    case MCAPI_ERR_MSG_SIZE:
        return MCAPI_EMESS_LIMIT;
    case MCAPI_ERR_MSG_TRUNCATED:
        return MCAPI_ETRUNCATED;
    case MCAPI_ERR_CHAN_OPEN:
    case MCAPI_ERR_CHAN_OPENPENDING:
        return MCAPI_ECHAN_OPEN;
    case MCAPI_ERR_CHAN_TYPE:
        return MCAPI_ECHAN_TYPE;
    case MCAPI_ERR_CHAN_DIRECTION:
        return MCAPI_EDIR;
    case MCAPI_ERR_CHAN_CONNECTED:
        return MCAPI_ECONNECTED;
    case MCAPI_ERR_CHAN_CLOSEPENDING:
    case MCAPI_ERR_CHAN_NOTOPEN:
        return MCAPI_ENOT_OPEN;
    case MCAPI_ERR_CHAN_INVALID:
        return MCAPI_ENOT_HANDLE;
    case MCAPI_ERR_PKT_SIZE:
        return MCAPI_EPACK_LIMIT;
    case MCAPI_ERR_SCL_SIZE:
        return MCAPI_ESCL_SIZE;
    case MCAPI_ERR_TRANSMISSION:
        return MCAPI_ENOT_CONNECTED;
    case MCAPI_ERR_PRIORITY:
        return MCAPI_EPRIO;
    case MCAPI_ERR_BUF_INVALID:
        return MCAPI_ENOT_VALID_BUF;
    case MCAPI_ERR_MEM_LIMIT:
        return MCAPI_ENO_BUFFER;
    case MCAPI_ERR_REQUEST_INVALID:
        return MCAPI_ENOTREQ_HANDLE;
    case MCAPI_ERR_REQUEST_LIMIT:
        return MCAPI_ENO_REQUEST;
    case MCAPI_ERR_REQUEST_CANCELLED:
        return MCAPI_EREQ_CANCELED;
    default: /* attributes, a second waiter */
        return MCAPI_EPARAM;
    }
}

/* Runs CALL, which sets its status in `inner`, and hands the translation out. No status, no call:
   version 1 takes that for a wrong parameter that it cannot report. */
#define MCAPI1_VIA(call)                                                                           \
    mcapi_status_t inner = MCAPI_ERR_PARAMETER;                                                    \
    if (mcapi_status) {                                                                            \
        call;                                                                                      \
        *mcapi_status = mcapi1_status(inner);                                                      \
    }
/* The same for a call that returns something. */
#define MCAPI1_VALUE(type, call)                                                                   \
    type value = 0;                                                                                \
    MCAPI1_VIA(value = call)                                                                       \
    return value

/* ---- node and endpoints --------------------------------------------------------------------- */

static inline void mcapi1_initialize(mcapi_node_t node_id, mcapi_version_t *mcapi_version,
                                     mcapi_status_t *mcapi_status) {
    mcapi_info_t info;
    if (!mcapi_version) {
        if (mcapi_status)
            *mcapi_status = MCAPI_EPARAM;
        return;
    }
    snprintf(*mcapi_version, sizeof *mcapi_version, "1.063 over %u", MCAPI_VERSION);
    MCAPI1_VIA(mcapi_initialize(0, node_id, NULL, NULL, &info, &inner))
}

static inline void mcapi1_finalize(mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_finalize(&inner))
}

static inline mcapi_uint_t mcapi1_get_node_id(mcapi_status_t *mcapi_status) {
    MCAPI1_VALUE(mcapi_uint_t, mcapi_node_id_get(&inner));
}

static inline mcapi_endpoint_t mcapi1_create_endpoint(mcapi_port_t port_id,
                                                      mcapi_status_t *mcapi_status) {
    MCAPI1_VALUE(mcapi_endpoint_t, mcapi_endpoint_create(port_id, &inner));
}

static inline void mcapi1_get_endpoint_i(mcapi_node_t node_id, mcapi_port_t port_id,
                                         mcapi_endpoint_t *endpoint, mcapi_request_t *request,
                                         mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_endpoint_get_i(0, node_id, port_id, endpoint, request, &inner))
}

static inline mcapi_endpoint_t mcapi1_get_endpoint(mcapi_node_t node_id, mcapi_port_t port_id,
                                                   mcapi_status_t *mcapi_status) {
    MCAPI1_VALUE(mcapi_endpoint_t,
                 mcapi_endpoint_get(0, node_id, port_id, MCAPI_TIMEOUT_INFINITE, &inner));
}

static inline void mcapi1_delete_endpoint(mcapi_endpoint_t endpoint, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_endpoint_delete(endpoint, &inner))
}

static inline void mcapi1_get_endpoint_attribute(mcapi_endpoint_t endpoint,
                                                 mcapi_uint_t attribute_num, void *attribute,
                                                 size_t attribute_size,
                                                 mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(
        mcapi_endpoint_get_attribute(endpoint, attribute_num, attribute, attribute_size, &inner))
}

static inline void mcapi1_set_endpoint_attribute(mcapi_endpoint_t endpoint,
                                                 mcapi_uint_t attribute_num, const void *attribute,
                                                 size_t attribute_size,
                                                 mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(
        mcapi_endpoint_set_attribute(endpoint, attribute_num, attribute, attribute_size, &inner))
}

/* ---- messages ------------------------------------------------------------------------------- */

static inline void mcapi1_msg_send_i(mcapi_endpoint_t send_endpoint,
                                     mcapi_endpoint_t receive_endpoint, const void *buffer,
                                     size_t buffer_size, mcapi_priority_t priority,
                                     mcapi_request_t *request, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_msg_send_i(send_endpoint, receive_endpoint, buffer, buffer_size, priority,
                                request, &inner))
}

static inline void mcapi1_msg_send(mcapi_endpoint_t send_endpoint,
                                   mcapi_endpoint_t receive_endpoint, const void *buffer,
                                   size_t buffer_size, mcapi_priority_t priority,
                                   mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(
        mcapi_msg_send(send_endpoint, receive_endpoint, buffer, buffer_size, priority, &inner))
}

static inline void mcapi1_msg_recv_i(mcapi_endpoint_t receive_endpoint, void *buffer,
                                     size_t buffer_size, mcapi_request_t *request,
                                     mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_msg_recv_i(receive_endpoint, buffer, buffer_size, request, &inner))
}

static inline void mcapi1_msg_recv(mcapi_endpoint_t receive_endpoint, void *buffer,
                                   size_t buffer_size, size_t *received_size,
                                   mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_msg_recv(receive_endpoint, buffer, buffer_size, received_size, &inner))
}

static inline mcapi_uint_t mcapi1_msg_available(mcapi_endpoint_t receive_endpoint,
                                                mcapi_status_t *mcapi_status) {
    MCAPI1_VALUE(mcapi_uint_t, mcapi_msg_available(receive_endpoint, &inner));
}

/* ---- packet channels ------------------------------------------------------------------------ */

static inline void mcapi1_connect_pktchan_i(mcapi_endpoint_t send_endpoint,
                                            mcapi_endpoint_t receive_endpoint,
                                            mcapi_request_t *request,
                                            mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_connect_i(send_endpoint, receive_endpoint, request, &inner))
}

static inline void mcapi1_open_pktchan_recv_i(mcapi_pktchan_recv_hndl_t *recv_handle,
                                              mcapi_endpoint_t receive_endpoint,
                                              mcapi_request_t *request,
                                              mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_recv_open_i(recv_handle, receive_endpoint, request, &inner))
}

static inline void mcapi1_open_pktchan_send_i(mcapi_pktchan_send_hndl_t *send_handle,
                                              mcapi_endpoint_t send_endpoint,
                                              mcapi_request_t *request,
                                              mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_send_open_i(send_handle, send_endpoint, request, &inner))
}

static inline void mcapi1_pktchan_send_i(mcapi_pktchan_send_hndl_t send_handle, const void *buffer,
                                         size_t size, mcapi_request_t *request,
                                         mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_send_i(send_handle, buffer, size, request, &inner))
}

static inline void mcapi1_pktchan_send(mcapi_pktchan_send_hndl_t send_handle, const void *buffer,
                                       size_t size, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_send(send_handle, buffer, size, &inner))
}

static inline void mcapi1_pktchan_recv_i(mcapi_pktchan_recv_hndl_t receive_handle, void **buffer,
                                         mcapi_request_t *request, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_recv_i(receive_handle, buffer, request, &inner))
}

static inline void mcapi1_pktchan_recv(mcapi_pktchan_recv_hndl_t receive_handle, void **buffer,
                                       size_t *received_size, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_recv(receive_handle, buffer, received_size, &inner))
}

static inline mcapi_uint_t mcapi1_pktchan_available(mcapi_pktchan_recv_hndl_t receive_handle,
                                                    mcapi_status_t *mcapi_status) {
    MCAPI1_VALUE(mcapi_uint_t, mcapi_pktchan_available(receive_handle, &inner));
}

static inline void mcapi1_pktchan_free(void *buffer, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_release(buffer, &inner))
}

static inline void mcapi1_pktchan_recv_close_i(mcapi_pktchan_recv_hndl_t receive_handle,
                                               mcapi_request_t *request,
                                               mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_recv_close_i(receive_handle, request, &inner))
}

static inline void mcapi1_pktchan_send_close_i(mcapi_pktchan_send_hndl_t send_handle,
                                               mcapi_request_t *request,
                                               mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_pktchan_send_close_i(send_handle, request, &inner))
}

/* ---- scalar channels ------------------------------------------------------------------------ */

static inline void mcapi1_connect_sclchan_i(mcapi_endpoint_t send_endpoint,
                                            mcapi_endpoint_t receive_endpoint,
                                            mcapi_request_t *request,
                                            mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_sclchan_connect_i(send_endpoint, receive_endpoint, request, &inner))
}

static inline void mcapi1_open_sclchan_recv_i(mcapi_sclchan_recv_hndl_t *recv_handle,
                                              mcapi_endpoint_t receive_endpoint,
                                              mcapi_request_t *request,
                                              mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_sclchan_recv_open_i(recv_handle, receive_endpoint, request, &inner))
}

static inline void
mcapi1_open_sclchan_send_i(mcapi_sclchan_send_hndl_t *send_handle, mcapi_endpoint_t send_endpoint,
                           mcapi_request_t *request, mcapi_status_t *mcapi_status){
    MCAPI1_VIA(mcapi_sclchan_send_open_i(send_handle, send_endpoint, request, &inner))}

#define MCAPI1_SCALAR(bits)                                                                        \
    static inline void mcapi1_sclchan_send_uint##bits(mcapi_sclchan_send_hndl_t send_handle,       \
                                                      mcapi_uint##bits##_t dataword,               \
                                                      mcapi_status_t *mcapi_status) {              \
        MCAPI1_VIA(mcapi_sclchan_send_uint##bits(send_handle, dataword, &inner))                   \
    }                                                                                              \
    static inline mcapi_uint##bits##_t mcapi1_sclchan_recv_uint##bits(                             \
        mcapi_sclchan_recv_hndl_t receive_handle, mcapi_status_t *mcapi_status) {                  \
        MCAPI1_VALUE(mcapi_uint##bits##_t, mcapi_sclchan_recv_uint##bits(receive_handle, &inner)); \
    }
MCAPI1_SCALAR(64) MCAPI1_SCALAR(32) MCAPI1_SCALAR(16) MCAPI1_SCALAR(8)

    static inline mcapi_uint_t mcapi1_sclchan_available(mcapi_sclchan_recv_hndl_t receive_handle,
                                                        mcapi_status_t *mcapi_status) {
    MCAPI1_VALUE(mcapi_uint_t, mcapi_sclchan_available(receive_handle, &inner));
}

static inline void mcapi1_sclchan_recv_close_i(mcapi_sclchan_recv_hndl_t receive_handle,
                                               mcapi_request_t *request,
                                               mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_sclchan_recv_close_i(receive_handle, request, &inner))
}

static inline void mcapi1_sclchan_send_close_i(mcapi_sclchan_send_hndl_t send_handle,
                                               mcapi_request_t *request,
                                               mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_sclchan_send_close_i(send_handle, request, &inner))
}

/* ---- requests ------------------------------------------------------------------------------- */

static inline mcapi_boolean_t mcapi1_test(mcapi_request_t *request, size_t *size,
                                          mcapi_status_t *mcapi_status) {
    mcapi_boolean_t done = MCAPI_FALSE;
    MCAPI1_VIA(done = mcapi_test(request, size, &inner))
    if (mcapi_status && inner == MCAPI_PENDING)
        *mcapi_status = MCAPI_INCOMPLETE;
    return done;
}

static inline mcapi_boolean_t mcapi1_wait(mcapi_request_t *request, size_t *size,
                                          mcapi_status_t *mcapi_status, mcapi_timeout_t timeout) {
    MCAPI1_VALUE(mcapi_boolean_t, mcapi_wait(request, size, timeout, &inner));
}

/* Returns 0 on an error as well: only the status tells. */
static inline mcapi_int_t mcapi1_wait_any(size_t number, mcapi_request_t **requests, size_t *size,
                                          mcapi_status_t *mcapi_status, mcapi_timeout_t timeout) {
    mcapi_uint_t index = 0;
    MCAPI1_VIA(index = mcapi_wait_any(number, requests, size, timeout, &inner))
    return index == MCAPI_RETURN_VALUE_INVALID ? 0 : (mcapi_int_t)index;
}

static inline void mcapi1_cancel(mcapi_request_t *request, mcapi_status_t *mcapi_status) {
    MCAPI1_VIA(mcapi_cancel(request, &inner))
}

#ifdef __cplusplus
}
#endif

/* From here on the program's calls mean version 1. */
#define mcapi_initialize mcapi1_initialize
#define mcapi_finalize mcapi1_finalize
#define mcapi_get_node_id mcapi1_get_node_id
#define mcapi_create_endpoint mcapi1_create_endpoint
#define mcapi_get_endpoint_i mcapi1_get_endpoint_i
#define mcapi_get_endpoint mcapi1_get_endpoint
#define mcapi_delete_endpoint mcapi1_delete_endpoint
#define mcapi_get_endpoint_attribute mcapi1_get_endpoint_attribute
#define mcapi_set_endpoint_attribute mcapi1_set_endpoint_attribute
#define mcapi_msg_send_i mcapi1_msg_send_i
#define mcapi_msg_send mcapi1_msg_send
#define mcapi_msg_recv_i mcapi1_msg_recv_i
#define mcapi_msg_recv mcapi1_msg_recv
#define mcapi_msg_available mcapi1_msg_available
#define mcapi_connect_pktchan_i mcapi1_connect_pktchan_i
#define mcapi_open_pktchan_recv_i mcapi1_open_pktchan_recv_i
#define mcapi_open_pktchan_send_i mcapi1_open_pktchan_send_i
#define mcapi_pktchan_send_i mcapi1_pktchan_send_i
#define mcapi_pktchan_send mcapi1_pktchan_send
#define mcapi_pktchan_recv_i mcapi1_pktchan_recv_i
#define mcapi_pktchan_recv mcapi1_pktchan_recv
#define mcapi_pktchan_available mcapi1_pktchan_available
#define mcapi_pktchan_free mcapi1_pktchan_free
#define mcapi_pktchan_recv_close_i mcapi1_pktchan_recv_close_i
#define mcapi_pktchan_send_close_i mcapi1_pktchan_send_close_i
#define mcapi_packetchan_recv_close_i mcapi1_pktchan_recv_close_i
#define mcapi_packetchan_send_close_i mcapi1_pktchan_send_close_i
#define mcapi_connect_sclchan_i mcapi1_connect_sclchan_i
#define mcapi_open_sclchan_recv_i mcapi1_open_sclchan_recv_i
#define mcapi_open_sclchan_send_i mcapi1_open_sclchan_send_i
#define mcapi_sclchan_send_uint64 mcapi1_sclchan_send_uint64
#define mcapi_sclchan_send_uint32 mcapi1_sclchan_send_uint32
#define mcapi_sclchan_send_uint16 mcapi1_sclchan_send_uint16
#define mcapi_sclchan_send_uint8 mcapi1_sclchan_send_uint8
#define mcapi_sclchan_recv_uint64 mcapi1_sclchan_recv_uint64
#define mcapi_sclchan_recv_uint32 mcapi1_sclchan_recv_uint32
#define mcapi_sclchan_recv_uint16 mcapi1_sclchan_recv_uint16
#define mcapi_sclchan_recv_uint8 mcapi1_sclchan_recv_uint8
#define mcapi_sclchan_available mcapi1_sclchan_available
#define mcapi_sclchan_recv_close_i mcapi1_sclchan_recv_close_i
#define mcapi_sclchan_send_close_i mcapi1_sclchan_send_close_i
#define mcapi_test mcapi1_test
#define mcapi_wait mcapi1_wait
#define mcapi_wait_any mcapi1_wait_any
#define mcapi_cancel mcapi1_cancel

#endif
