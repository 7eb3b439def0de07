/* Endpoints: made, looked up, asked about, deleted. */
#include <stdlib.h>
#include <string.h>

#include "mcapi/adapter.h"

uint32_t rf_channel_of(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint) {
    rf_tables_lock(node);
    uint32_t place = rf_handle_find(&node->endpoint_map, (uint64_t)endpoint + 1);
    uint32_t channel = place == RF_NOWHERE ? node->endpoint_count : place;
    rf_tables_unlock(node);
    return channel < RF_MAX_CHANNELS ? channel : RF_MAX_CHANNELS - 1;
}

struct rf_node_endpoint *rf_endpoint_of(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint) {
    rf_tables_lock(node);
    uint32_t place = rf_handle_find(&node->endpoint_map, (uint64_t)endpoint + 1);
    struct rf_node_endpoint *own = place == RF_NOWHERE ? NULL : node->endpoints[place];
    rf_tables_unlock(node);
    return own;
}

struct rf_node_endpoint *rf_endpoint_at(struct rf_mcapi_node *node, uint32_t channel) {
    rf_tables_lock(node);
    struct rf_node_endpoint *endpoint = node->endpoints[channel];
    rf_tables_unlock(node);
    return endpoint;
}

static int32_t sign_of(mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t port) {
    return (int32_t)(((domain * 31 + number) * 65599 + port) & INT32_MAX);
}

static void remember(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint, int32_t sign) {
    uint64_t key = (uint64_t)endpoint + 1;
    rf_tables_lock(node);
    if (rf_handle_find(&node->signs, key) == RF_NOWHERE &&
        !rf_handle_add(&node->signs, key, (uint32_t)sign))
        abort();
    rf_tables_unlock(node);
}

int32_t rf_endpoint_sign(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint) {
    mcapi_domain_t domain;
    mcapi_node_t number;
    mcapi_port_t port;
    /* Where data is kept, handles are the same again, also those that come in messages. */
    if (node->data.writer || rf_answering(node))
        return (int32_t)endpoint;
    rf_tables_lock(node);
    uint32_t known = rf_handle_find(&node->signs, (uint64_t)endpoint + 1);
    rf_tables_unlock(node);
    if (known != RF_NOWHERE)
        return (int32_t)known;
    if (!rf_reals.endpoint_name || !rf_reals.endpoint_name(endpoint, &domain, &number, &port))
        return 0;
    remember(node, endpoint, sign_of(domain, number, port));
    return sign_of(domain, number, port);
}

static int32_t port_of(mcapi_endpoint_t endpoint) {
    mcapi_domain_t domain;
    mcapi_node_t number;
    mcapi_port_t port = 0;
    if (rf_reals.endpoint_name)
        rf_reals.endpoint_name(endpoint, &domain, &number, &port);
    return (int32_t)port;
}

static void add_endpoint(struct rf_mcapi_node *node, mcapi_endpoint_t handle) {
    struct rf_node_endpoint *endpoint = rf_room(NULL, sizeof *endpoint);
    *endpoint =
        (struct rf_node_endpoint){.handle = handle,
                                  .port = rf_answering(node) ? 0 : (mcapi_port_t)port_of(handle),
                                  .open = true,
                                  .hold = {.shared = node->session.shared}};
    rf_tables_lock(node);
    if (node->endpoint_count == node->endpoint_room) {
        node->endpoint_room = node->endpoint_room ? node->endpoint_room * 2 : 16;
        node->endpoints =
            rf_room(node->endpoints, node->endpoint_room * sizeof(struct rf_node_endpoint *));
    }
    node->endpoints[node->endpoint_count] = endpoint;
    if (!rf_handle_add(&node->endpoint_map, (uint64_t)handle + 1, node->endpoint_count++))
        abort();
    rf_tables_unlock(node);
}

/* Which port the library chooses is its own affair, but in a replay it is the same. Others are kept
   too, once each: whoever reads the trace needs their names. */
static mcapi_port_t port_to_make(struct rf_mcapi_node *node, const struct rf_here *here,
                                 mcapi_port_t port) {
    if (rf_recording(node) || !rf_reals.endpoint_name || rf_free(node))
        return port;
    mcapi_port_t recorded = (mcapi_port_t)rf_value(node, here, (int32_t)port);
    if (port != MCAPI_PORT_ANY && recorded != port)
        rf_diverge(&node->session, here, NULL, NULL, "the program makes port %u, recorded was %u",
                   port, recorded);
    return recorded;
}

RF_WRAPPER(mcapi_endpoint_t, endpoint_create, (mcapi_port_t port, mcapi_status_t *status)) {
    RF_ENTER(endpoint_create, (port, status));
    rf_sign(&node->session, &here, (int32_t)port, 0, 0);
    mcapi_endpoint_t endpoint = MCAPI_RETURN_VALUE_INVALID;
    mcapi_port_t chosen = port;
    bool known = false;
    rf_making_begin(node, &here);
    RF_CALL(endpoint = real->endpoint_create(
                known ? chosen : (known = true, chosen = port_to_make(node, &here, port)), status));
    if (rf_recording(node) && *status == MCAPI_SUCCESS && real->endpoint_name)
        rf_value(node, &here, port_of(endpoint));
    else if (rf_answering(node) && *status == MCAPI_SUCCESS)
        port_to_make(node, &here, port);
    if (*status == MCAPI_SUCCESS) {
        rf_through(node, &here, &endpoint, sizeof endpoint);
        add_endpoint(node, endpoint);
    }
    rf_making_end(node);
    rf_leave(node);
    return endpoint;
}

RF_WRAPPER(void, endpoint_get_i,
           (mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t port,
            mcapi_endpoint_t *endpoint, mcapi_request_t *request, mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_get_i, (domain, number, port, endpoint, request, status));
    rf_sign(&node->session, &here, (int32_t)number, (int32_t)port, domain);
    RF_CALL_REQUEST(real->endpoint_get_i(domain, number, port, endpoint, made, status));
    if (*status == MCAPI_SUCCESS) /* else it comes with the request */
        rf_through(node, &here, endpoint, sizeof *endpoint);
    if (!rf_is_failure(*status) && rf_recording(node))
        rf_record_filled(node, *request, endpoint);
    else if (!rf_is_failure(*status))
        rf_request_filled(node, *request, endpoint);
    rf_leave(node);
}

RF_WRAPPER(mcapi_endpoint_t, endpoint_get,
           (mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t port, mcapi_timeout_t timeout,
            mcapi_status_t *status)) {
    RF_ENTER(endpoint_get, (domain, number, port, timeout, status));
    rf_sign(&node->session, &here, (int32_t)number, (int32_t)port, domain);
    mcapi_endpoint_t endpoint = MCAPI_RETURN_VALUE_INVALID;
    if (!rf_recording(node) && !rf_free(node))
        timeout = MCAPI_TIMEOUT_INFINITE; /* that it was found in time is known */
    RF_CALL(endpoint = real->endpoint_get(domain, number, port, timeout, status));
    if (*status == MCAPI_SUCCESS)
        rf_through(node, &here, &endpoint, sizeof endpoint);
    if (*status == MCAPI_SUCCESS)
        remember(node, endpoint, sign_of(domain, number, port));
    rf_leave(node);
    return endpoint;
}

RF_WRAPPER(void, endpoint_delete, (mcapi_endpoint_t endpoint, mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_delete, (endpoint, status));
    rf_sign(&node->session, &here, rf_endpoint_sign(node, endpoint), 0, 0);
    struct rf_node_endpoint *own = rf_endpoint_of(node, endpoint);
    rf_making_begin(node, &here);
    if (rf_recording(node)) {
        real->endpoint_delete(endpoint, status);
        rf_record_status(node, &here, *status);
    } else {
        mcapi_status_t recorded = rf_recorded_status(node, &here, MCAPI_SUCCESS);
        *status = recorded;
        if (recorded == MCAPI_SUCCESS && !rf_answering(node)) {
            if (own)
                rf_hold_close(&own->hold);
            real->endpoint_delete(endpoint, status);
            rf_again(node, &here, *status);
        }
    }
    if (own && *status == MCAPI_SUCCESS) {
        own->open = false;
        rf_tables_lock(node);
        rf_handle_remove(&node->endpoint_map, (uint64_t)endpoint + 1);
        rf_tables_unlock(node);
    }
    rf_making_end(node);
    rf_leave(node);
}

RF_WRAPPER(void, endpoint_release, (mcapi_endpoint_t endpoint, mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_release, (endpoint, status));
    rf_sign(&node->session, &here, rf_endpoint_sign(node, endpoint), 0, 0);
    RF_CALL(real->endpoint_release(endpoint, status));
    rf_leave(node);
}

/* What others do to the endpoint shows in these. */
static bool varies(mcapi_uint_t which, size_t size) {
    return size == sizeof(int32_t) &&
           (which == MCAPI_ENDP_ATTR_GET_COUNT || which == MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS ||
            which == MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS || which == MCAPI_ENDP_ATTR_ENDP_STATUS);
}

RF_WRAPPER(void, endpoint_get_attribute,
           (mcapi_endpoint_t endpoint, mcapi_uint_t which, void *value, size_t size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_get_attribute, (endpoint, which, value, size, status));
    rf_sign(&node->session, &here, (int32_t)which, 0, (int64_t)size);
    RF_CALL(real->endpoint_get_attribute(endpoint, which, value, size, status));
    if (*status == MCAPI_SUCCESS)
        rf_through(node, &here, value, size);
    if (*status == MCAPI_SUCCESS && varies(which, size)) {
        int32_t word;
        memcpy(&word, value, sizeof word);
        word = rf_value(node, &here, word);
        memcpy(value, &word, sizeof word);
    }
    rf_leave(node);
}

RF_WRAPPER(void, endpoint_set_attribute,
           (mcapi_endpoint_t endpoint, mcapi_uint_t which, const void *value, size_t size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_set_attribute, (endpoint, which, value, size, status));
    rf_sign(&node->session, &here, (int32_t)which, 0, (int64_t)size);
    RF_CALL(real->endpoint_set_attribute(endpoint, which, value, size, status));
    rf_leave(node);
}

RF_WRAPPER(void, node_get_attribute,
           (mcapi_domain_t domain, mcapi_node_t number, mcapi_uint_t which, void *value,
            size_t size, mcapi_status_t *status)) {
    RF_ENTER_VOID(node_get_attribute, (domain, number, which, value, size, status));
    rf_sign(&node->session, &here, (int32_t)number, (int32_t)which, domain);
    RF_CALL(real->node_get_attribute(domain, number, which, value, size, status));
    if (*status == MCAPI_SUCCESS)
        rf_through(node, &here, value, size);
    rf_leave(node);
}

#ifndef RF_LINKED
/* Refrain's own runtime tells the name of an endpoint if it is asked. Where there is none, what it
   told is data. */
RF_EXPORT int mcapix_endpoint_name(mcapi_endpoint_t endpoint, mcapi_domain_t *domain,
                                   mcapi_node_t *number, mcapi_port_t *port) {
    RF_HERE(endpoint_get_attribute); /* the nearest that a trace has a name for */
    struct {
        int32_t known;
        mcapi_domain_t domain;
        mcapi_node_t number;
        mcapi_port_t port;
    } told = {0};
    const struct rf_real *real = rf_real();
    struct rf_mcapi_node *node = rf_enter();
    if (!node || !rf_answering(node))
        told.known = real->endpoint_name(endpoint, &told.domain, &told.number, &told.port);
    if (node) {
        rf_through(node, &here, &told, sizeof told);
        rf_leave(node);
    }
    if (told.known && domain && number && port) {
        *domain = told.domain;
        *number = told.number;
        *port = told.port;
    }
    return told.known && domain && number && port;
}
#endif
