/* MCAPI 2.015, the Multicore Communications API: nodes that send each other messages, packets and
   scalars. Link with -lmcapi. What this implementation decides where the specification leaves it
   open is written in docs/mcapi-runtime.md. */
#ifndef MCAPI_H
#define MCAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MCAPI_VERSION 2015
#define MCAPI_IN const
#define MCAPI_OUT

typedef int mcapi_int_t;
typedef int8_t mcapi_int8_t;
typedef int16_t mcapi_int16_t;
typedef int32_t mcapi_int32_t;
typedef int64_t mcapi_int64_t;
typedef unsigned int mcapi_uint_t;
typedef uint8_t mcapi_uint8_t;
typedef uint16_t mcapi_uint16_t;
typedef uint32_t mcapi_uint32_t;
typedef uint64_t mcapi_uint64_t;
typedef unsigned char mcapi_boolean_t;

typedef unsigned int mcapi_domain_t;
typedef unsigned int mcapi_node_t;
typedef unsigned int mcapi_port_t;
typedef unsigned int mcapi_status_t;
typedef unsigned int mcapi_timeout_t; /* milliseconds */
typedef unsigned int mcapi_priority_t;

/* Handles are numbers with a generation in them: one that outlives its object is noticed. An
   endpoint's means the same in every node of the job and may be sent in a message; a request or a
   channel belongs to the node that got it. */
typedef uint32_t mcapi_endpoint_t;
typedef uint64_t mcapi_request_t;
typedef uint64_t mcapi_pktchan_send_hndl_t;
typedef uint64_t mcapi_pktchan_recv_hndl_t;
typedef uint64_t mcapi_sclchan_send_hndl_t;
typedef uint64_t mcapi_sclchan_recv_hndl_t;

#define MCAPI_TRUE 1
#define MCAPI_FALSE 0
#define MCAPI_NULL 0
#define MCAPI_PORT_ANY (~0u)
#define MCAPI_TIMEOUT_INFINITE (~0u)
#define MCAPI_TIMEOUT_IMMEDIATE 0u
#define MCAPI_NODE_INVALID (~0u)
#define MCAPI_DOMAIN_INVALID (~0u)
#define MCAPI_RETURN_VALUE_INVALID (~0u)
#define MCAPI_MAX_PRORITY 0u /* the specification's spelling */
#define MCAPI_MAX_PRIORITY 0u
#define MCAPI_MAX_STATUS_MSG_LEN 32
#define MCAPI_MAX_STATUS_SIZE MCAPI_MAX_STATUS_MSG_LEN
#define MCAPI_MAX_ID 0x7fffffffu /* of domains, nodes and ports */

enum mcapi_status_codes {
    MCAPI_SUCCESS = 1,
    MCAPI_PENDING = 2,
    MCAPI_TIMEOUT = 3,
    MCAPI_ERR_PARAMETER = 4,
    MCAPI_ERR_DOMAIN_INVALID = 5,
    MCAPI_ERR_NODE_INVALID = 6,
    MCAPI_ERR_NODE_INITFAILED = 7,
    MCAPI_ERR_NODE_INITIALIZED = 8,
    MCAPI_ERR_NODE_NOTINIT = 9,
    MCAPI_ERR_NODE_FINALFAILED = 10,
    MCAPI_ERR_PORT_INVALID = 11,
    MCAPI_ERR_ENDP_INVALID = 12,
    MCAPI_ERR_ENDP_EXISTS = 13,
    MCAPI_ERR_ENDP_GET_LIMIT = 14,
    MCAPI_ERR_ENDP_DELETED = 15,
    MCAPI_ERR_ENDP_NOTOWNER = 16,
    MCAPI_ERR_ENDP_REMOTE = 17,
    MCAPI_ERR_ENDP_NOPORTS = 18,
    MCAPI_ERR_ENDP_LIMIT = 19,
    MCAPI_ERR_ATTR_INCOMPATIBLE = 20,
    MCAPI_ERR_ATTR_SIZE = 21,
    MCAPI_ERR_ATTR_NUM = 22,
    MCAPI_ERR_ATTR_VALUE = 23,
    MCAPI_ERR_ATTR_NOTSUPPORTED = 24,
    MCAPI_ERR_ATTR_READONLY = 25,
    MCAPI_ERR_MSG_LIMIT = 26,
    MCAPI_ERR_MSG_TRUNCATED = 27,
    MCAPI_ERR_MSG_SIZE = 28,
    MCAPI_ERR_CHAN_OPEN = 29,
    MCAPI_ERR_CHAN_TYPE = 30,
    MCAPI_ERR_CHAN_DIRECTION = 31,
    MCAPI_ERR_CHAN_CONNECTED = 32,
    MCAPI_ERR_CHAN_OPENPENDING = 33,
    MCAPI_ERR_CHAN_CLOSEPENDING = 34,
    MCAPI_ERR_CHAN_NOTOPEN = 35,
    MCAPI_ERR_CHAN_INVALID = 36,
    MCAPI_ERR_PKT_SIZE = 37,
    MCAPI_ERR_SCL_SIZE = 38,
    MCAPI_ERR_TRANSMISSION = 39,
    MCAPI_ERR_PRIORITY = 40,
    MCAPI_ERR_BUF_INVALID = 41,
    MCAPI_ERR_MEM_LIMIT = 42,
    MCAPI_ERR_REQUEST_INVALID = 43,
    MCAPI_ERR_REQUEST_LIMIT = 44,
    MCAPI_ERR_REQUEST_CANCELLED = 45,
    MCAPI_ERR_WAIT_PENDING = 46,
    MCAPI_ERR_GENERAL = 47,
    MCAPI_STATUSCODE_END = 48
};
#define MCAPI_ERR_PKT_LIMIT MCAPI_ERR_PKT_SIZE /* another header's name */

/* ---- attributes ---------------------------------------------------------------------------- */

enum mcapi_node_attribute_numbers { MCAPI_NODE_ATTR_TYPE, MCAPI_NODE_ATTR_END };
typedef mcapi_uint_t mcapi_node_attr_type_t;
enum mcapi_node_attribute_types { MCAPI_NODE_ATTR_TYPE_REGULAR, MCAPI_NODE_ATTR_TYPE_END };

/* Filled in by mcapi_node_init_attributes. */
typedef struct {
    mcapi_uint_t marker;
    mcapi_node_attr_type_t type;
    mcapi_uint_t reserved[6];
} mcapi_node_attributes_t;

enum mcapi_endp_attribute_numbers {
    MCAPI_ENDP_ATTR_TYPE,
    MCAPI_ENDP_ATTR_GET_COUNT,
    MCAPI_ENDP_ATTR_GET_SOURCE,
    MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE,
    MCAPI_ENDP_ATTR_BUFFER_TYPE,
    MCAPI_ENDP_ATTR_MEMORY_TYPE,
    MCAPI_ENDP_ATTR_NUM_PRIORITIES,
    MCAPI_ENDP_ATTR_PRIORITY,
    MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS,
    MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS,
    MCAPI_ENDP_ATTR_ENDP_STATUS,
    MCAPI_ENDP_ATTR_TIMEOUT,
    MCAPI_ENDP_ATTR_END
};

typedef mcapi_uint_t mcapi_endp_attr_type_t;
#define MCAPI_ENDP_ATTR_TYPE_MESSAGE 1u
#define MCAPI_ENDP_ATTR_TYPE_PKTCHAN 2u
#define MCAPI_ENDP_ATTR_TYPE_SCLCHAN 4u

typedef mcapi_uint_t mcapi_endp_attr_get_count_t;
typedef struct {
    mcapi_domain_t domain_id;
    mcapi_node_t node_id;
} mcapi_endp_attr_get_source_t;
typedef mcapi_int_t mcapi_endp_attr_max_payload_size_t;
typedef mcapi_uint_t mcapi_endp_attr_buffer_type_t;
enum mcapi_buffer_type { MCAPI_ENDP_ATTR_FIFO_BUFFER };
typedef mcapi_uint_t mcapi_endp_attr_memory_type_t;
enum mcapi_memory_type {
    MCAPI_ENDP_ATTR_LOCAL_MEMORY,
    MCAPI_ENDP_ATTR_SHARED_MEMORY,
    MCAPI_ENDP_ATTR_REMOTE_MEMORY
};
/* Added to the memory type: what a blocking send does when there is no memory. */
#define MCAPI_ENDP_ATTR_BLOCK_ON_MEM_LIMIT 0x00000000u
#define MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT 0x00010000u
typedef mcapi_int_t mcapi_endp_attr_num_priorities_t;
typedef mcapi_uint_t mcapi_endp_attr_priority_t;
typedef mcapi_int_t mcapi_endp_attr_num_send_buffers_t;
typedef mcapi_uint_t mcapi_endp_attr_num_recv_buffers_t;
typedef mcapi_uint_t mcapi_endp_attr_status_t;
#define MCAPI_ENDP_ATTR_STATUS_CONNECTED 0x00000001u
#define MCAPI_ENDP_ATTR_STATUS_OPEN 0x00000002u
#define MCAPI_ENDP_ATTR_STATUS_OPEN_PENDING 0x00000004u
#define MCAPI_ENDP_ATTR_STATUS_CLOSE_PENDING 0x00000008u
#define MCAPI_ENDP_ATTR_STATUS_PKTCHAN 0x00000010u
#define MCAPI_ENDP_ATTR_STATUS_SCLCHAN 0x00000020u
#define MCAPI_ENDP_ATTR_STATUS_SEND 0x00000040u
#define MCAPI_ENDP_ATTR_STATUS_RECEIVE 0x00000080u
#define MCAPI_ENDP_ATTR_STATUS_GET_PENDING 0x00000100u
typedef mcapi_timeout_t mcapi_endp_attr_timeout_t;

/* ---- starting ------------------------------------------------------------------------------ */

/* Limits of the job, taken from the node that starts it; 0 leaves one as it is. Begin with
   MCAPI_PARAM_DEFAULTS: a structure without the marker is not looked at, since portable programs
   pass one that nobody has filled in. */
typedef struct {
    mcapi_uint_t marker;
    mcapi_uint_t nodes;
    mcapi_uint_t endpoints;
    mcapi_uint_t priorities;
    mcapi_uint_t queue_length;     /* messages per endpoint and priority */
    mcapi_uint_t max_message_size; /* and of a packet, in bytes */
    mcapi_uint_t buffers;          /* of the largest size, for the whole job */
    mcapi_uint_t requests;         /* per node */
} mcapi_param_t;
#define MCAPI_PARAM_MARKER 0x6d63706du
/* clang-format off */
#define MCAPI_PARAM_DEFAULTS {MCAPI_PARAM_MARKER, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

typedef struct {
    mcapi_uint_t mcapi_version;
    mcapi_uint_t organization_id;
    mcapi_uint_t implementation_version;
    mcapi_uint_t number_of_domains; /* that have a node now */
    mcapi_uint_t number_of_nodes;   /* in this domain now */
    mcapi_uint_t number_of_ports;   /* endpoints that the job can have */
} mcapi_info_t;

/* ---- nodes --------------------------------------------------------------------------------- */

void mcapi_initialize(mcapi_domain_t domain_id, mcapi_node_t node_id,
                      const mcapi_node_attributes_t *mcapi_node_attributes,
                      const mcapi_param_t *init_parameters, mcapi_info_t *mcapi_info,
                      mcapi_status_t *mcapi_status);
void mcapi_finalize(mcapi_status_t *mcapi_status);
mcapi_domain_t mcapi_domain_id_get(mcapi_status_t *mcapi_status);
mcapi_node_t mcapi_node_id_get(mcapi_status_t *mcapi_status);
void mcapi_node_init_attributes(mcapi_node_attributes_t *mcapi_node_attributes,
                                mcapi_status_t *mcapi_status);
void mcapi_node_set_attribute(mcapi_node_attributes_t *mcapi_node_attributes,
                              mcapi_uint_t attribute_num, const void *attribute,
                              size_t attribute_size, mcapi_status_t *mcapi_status);
void mcapi_node_get_attribute(mcapi_domain_t domain_id, mcapi_node_t node_id,
                              mcapi_uint_t attribute_num, void *attribute, size_t attribute_size,
                              mcapi_status_t *mcapi_status);

/* ---- endpoints ----------------------------------------------------------------------------- */

mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t port_id, mcapi_status_t *mcapi_status);
void mcapi_endpoint_get_i(mcapi_domain_t domain_id, mcapi_node_t node_id, mcapi_port_t port_id,
                          mcapi_endpoint_t *endpoint, mcapi_request_t *request,
                          mcapi_status_t *mcapi_status);
mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t domain_id, mcapi_node_t node_id,
                                    mcapi_port_t port_id, mcapi_timeout_t timeout,
                                    mcapi_status_t *mcapi_status);
void mcapi_endpoint_delete(mcapi_endpoint_t endpoint, mcapi_status_t *mcapi_status);
void mcapi_endpoint_release(mcapi_endpoint_t endpoint, mcapi_status_t *mcapi_status);
void mcapi_endpoint_get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t attribute_num,
                                  void *attribute, size_t attribute_size,
                                  mcapi_status_t *mcapi_status);
void mcapi_endpoint_set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t attribute_num,
                                  const void *attribute, size_t attribute_size,
                                  mcapi_status_t *mcapi_status);

/* ---- messages ------------------------------------------------------------------------------ */

void mcapi_msg_send_i(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint,
                      const void *buffer, size_t buffer_size, mcapi_priority_t priority,
                      mcapi_request_t *request, mcapi_status_t *mcapi_status);
void mcapi_msg_send(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint,
                    const void *buffer, size_t buffer_size, mcapi_priority_t priority,
                    mcapi_status_t *mcapi_status);
void mcapi_msg_recv_i(mcapi_endpoint_t receive_endpoint, void *buffer, size_t buffer_size,
                      mcapi_request_t *request, mcapi_status_t *mcapi_status);
void mcapi_msg_recv(mcapi_endpoint_t receive_endpoint, void *buffer, size_t buffer_size,
                    size_t *received_size, mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t receive_endpoint, mcapi_status_t *mcapi_status);

/* ---- packet channels ----------------------------------------------------------------------- */

void mcapi_pktchan_connect_i(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint,
                             mcapi_request_t *request, mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv_open_i(mcapi_pktchan_recv_hndl_t *recv_handle,
                               mcapi_endpoint_t receive_endpoint, mcapi_request_t *request,
                               mcapi_status_t *mcapi_status);
void mcapi_pktchan_send_open_i(mcapi_pktchan_send_hndl_t *send_handle,
                               mcapi_endpoint_t send_endpoint, mcapi_request_t *request,
                               mcapi_status_t *mcapi_status);
void mcapi_pktchan_send_i(mcapi_pktchan_send_hndl_t send_handle, const void *buffer, size_t size,
                          mcapi_request_t *request, mcapi_status_t *mcapi_status);
void mcapi_pktchan_send(mcapi_pktchan_send_hndl_t send_handle, const void *buffer, size_t size,
                        mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv_i(mcapi_pktchan_recv_hndl_t receive_handle, void **buffer,
                          mcapi_request_t *request, mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv(mcapi_pktchan_recv_hndl_t receive_handle, void **buffer,
                        size_t *received_size, mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_pktchan_available(mcapi_pktchan_recv_hndl_t receive_handle,
                                     mcapi_status_t *mcapi_status);
void mcapi_pktchan_release(void *buffer, mcapi_status_t *mcapi_status);
mcapi_boolean_t mcapi_pktchan_release_test(void *buffer, mcapi_status_t *mcapi_status);
void mcapi_pktchan_recv_close_i(mcapi_pktchan_recv_hndl_t receive_handle, mcapi_request_t *request,
                                mcapi_status_t *mcapi_status);
void mcapi_pktchan_send_close_i(mcapi_pktchan_send_hndl_t send_handle, mcapi_request_t *request,
                                mcapi_status_t *mcapi_status);

/* ---- scalar channels ----------------------------------------------------------------------- */

void mcapi_sclchan_connect_i(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint,
                             mcapi_request_t *request, mcapi_status_t *mcapi_status);
void mcapi_sclchan_recv_open_i(mcapi_sclchan_recv_hndl_t *receive_handle,
                               mcapi_endpoint_t receive_endpoint, mcapi_request_t *request,
                               mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_open_i(mcapi_sclchan_send_hndl_t *send_handle,
                               mcapi_endpoint_t send_endpoint, mcapi_request_t *request,
                               mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint64(mcapi_sclchan_send_hndl_t send_handle, mcapi_uint64_t dataword,
                               mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint32(mcapi_sclchan_send_hndl_t send_handle, mcapi_uint32_t dataword,
                               mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint16(mcapi_sclchan_send_hndl_t send_handle, mcapi_uint16_t dataword,
                               mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_uint8(mcapi_sclchan_send_hndl_t send_handle, mcapi_uint8_t dataword,
                              mcapi_status_t *mcapi_status);
mcapi_uint64_t mcapi_sclchan_recv_uint64(mcapi_sclchan_recv_hndl_t receive_handle,
                                         mcapi_status_t *mcapi_status);
mcapi_uint32_t mcapi_sclchan_recv_uint32(mcapi_sclchan_recv_hndl_t receive_handle,
                                         mcapi_status_t *mcapi_status);
mcapi_uint16_t mcapi_sclchan_recv_uint16(mcapi_sclchan_recv_hndl_t receive_handle,
                                         mcapi_status_t *mcapi_status);
mcapi_uint8_t mcapi_sclchan_recv_uint8(mcapi_sclchan_recv_hndl_t receive_handle,
                                       mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_sclchan_available(mcapi_sclchan_recv_hndl_t receive_handle,
                                     mcapi_status_t *mcapi_status);
void mcapi_sclchan_recv_close_i(mcapi_sclchan_recv_hndl_t receive_handle, mcapi_request_t *request,
                                mcapi_status_t *mcapi_status);
void mcapi_sclchan_send_close_i(mcapi_sclchan_send_hndl_t send_handle, mcapi_request_t *request,
                                mcapi_status_t *mcapi_status);

/* ---- requests and helpers ------------------------------------------------------------------ */

mcapi_boolean_t mcapi_test(mcapi_request_t *request, size_t *size, mcapi_status_t *mcapi_status);
mcapi_boolean_t mcapi_wait(mcapi_request_t *request, size_t *size, mcapi_timeout_t timeout,
                           mcapi_status_t *mcapi_status);
mcapi_uint_t mcapi_wait_any(size_t number, mcapi_request_t **requests, size_t *size,
                            mcapi_timeout_t timeout, mcapi_status_t *mcapi_status);
void mcapi_cancel(mcapi_request_t *request, mcapi_status_t *mcapi_status);
char *mcapi_display_status(mcapi_status_t status, char *status_message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
