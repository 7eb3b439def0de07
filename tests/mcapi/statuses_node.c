/* Statuses of the functions for nodes and endpoints. */
#include <pthread.h>

#include "statuses.h"

static mcapi_status_t status;

/* ---- initialize: by a thread that is not a node yet ------------------------------------------ */

struct start {
    mcapi_domain_t domain;
    mcapi_node_t node;
    mcapi_info_t *info;
    struct start *then; /* while this one is a node */
    mcapi_status_t status;
};

static void start(struct start *it);

static void *run(void *argument) {
    struct start *it = argument;
    mcapi_status_t ignored;
    mcapi_initialize(it->domain, it->node, NULL, NULL, it->info, &it->status);
    if (it->then)
        start(it->then);
    if (it->status == MCAPI_SUCCESS)
        mcapi_finalize(&ignored);
    return NULL;
}

static void start(struct start *it) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, it), 0);
    pthread_join(thread, NULL);
}

static mcapi_info_t info;

static mcapi_status_t initialize(mcapi_domain_t domain, mcapi_node_t node, mcapi_info_t *out) {
    struct start it = {domain, node, out, NULL, 0};
    start(&it);
    return it.status;
}

CASE(initialize, SUCCESS) {
    return initialize(1, 1, &info);
}
CASE(initialize, ERR_PARAMETER) {
    mcapi_node_attributes_t nobody_filled_in = {0};
    mcapi_initialize(0, 7, &nobody_filled_in, NULL, &info, &status);
    assert_status(status, ERR_PARAMETER);
    return initialize(0, 3, NULL);
}
CASE(initialize, ERR_DOMAIN_INVALID) {
    return initialize(MCAPI_DOMAIN_INVALID, 3, &info);
}
CASE(initialize, ERR_NODE_INVALID) {
    return initialize(0, MCAPI_NODE_INVALID, &info);
}
CASE(initialize, ERR_NODE_INITIALIZED) {
    mcapi_initialize(0, 3, NULL, NULL, &info, &status); /* this thread is a node */
    assert_status(status, ERR_NODE_INITIALIZED);
    return initialize(0, 2, &info);
}
CASE(initialize, ERR_NODE_INITFAILED) {
    struct start fourth = {0, 4, &info, NULL, 0}, third = {0, 3, &info, &fourth, 0};
    start(&third);
    assert_status(third.status, SUCCESS);
    return fourth.status;
}

CASE(finalize, SUCCESS) {
    pending_receive();
    mcapi_finalize(&status);
    return status;
}
CASE(finalize, ERR_NODE_NOTINIT) {
    mcapi_finalize(&status);
    return status;
}

CASE(domain_id_get, SUCCESS) {
    assert_int_equal(mcapi_domain_id_get(&status), 0);
    return status;
}
CASE(domain_id_get, ERR_NODE_NOTINIT) {
    assert_int_equal(mcapi_domain_id_get(&status), MCAPI_DOMAIN_INVALID);
    return status;
}
CASE(node_id_get, SUCCESS) {
    assert_int_equal(mcapi_node_id_get(&status), 1);
    return status;
}
CASE(node_id_get, ERR_NODE_NOTINIT) {
    assert_int_equal(mcapi_node_id_get(&status), MCAPI_NODE_INVALID);
    return status;
}

/* ---- attributes of nodes --------------------------------------------------------------------- */

static mcapi_node_attributes_t attributes;
static mcapi_node_attr_type_t type;

static mcapi_status_t set(mcapi_uint_t number, const void *value, size_t size) {
    mcapi_node_init_attributes(&attributes, &status);
    mcapi_node_set_attribute(&attributes, number, value, size, &status);
    return status;
}

static mcapi_status_t get(mcapi_domain_t domain, mcapi_node_t node, mcapi_uint_t number,
                          void *value, size_t size) {
    mcapi_node_get_attribute(domain, node, number, value, size, &status);
    return status;
}

CASE(node_init_attributes, SUCCESS) {
    mcapi_node_init_attributes(&attributes, &status);
    return status;
}
CASE(node_init_attributes, ERR_PARAMETER) {
    mcapi_node_init_attributes(NULL, &status);
    return status;
}
CASE(node_set_attribute, SUCCESS) {
    type = MCAPI_NODE_ATTR_TYPE_REGULAR;
    return set(MCAPI_NODE_ATTR_TYPE, &type, sizeof type);
}
CASE(node_set_attribute, ERR_PARAMETER) {
    mcapi_node_set_attribute(NULL, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    assert_status(status, ERR_PARAMETER);
    return set(MCAPI_NODE_ATTR_TYPE, NULL, sizeof type);
}
CASE(node_set_attribute, ERR_ATTR_NUM) {
    return set(MCAPI_NODE_ATTR_END, &type, sizeof type);
}
CASE(node_set_attribute, ERR_ATTR_SIZE) {
    return set(MCAPI_NODE_ATTR_TYPE, &type, sizeof type + 1);
}
CASE(node_set_attribute, ERR_ATTR_VALUE) {
    type = MCAPI_NODE_ATTR_TYPE_END;
    return set(MCAPI_NODE_ATTR_TYPE, &type, sizeof type);
}
CASE(node_get_attribute, SUCCESS) {
    type = 77;
    get(0, 2, MCAPI_NODE_ATTR_TYPE, &type, sizeof type);
    assert_int_equal(type, MCAPI_NODE_ATTR_TYPE_REGULAR);
    return status;
}
CASE(node_get_attribute, ERR_NODE_NOTINIT) {
    return get(0, 2, MCAPI_NODE_ATTR_TYPE, &type, sizeof type);
}
CASE(node_get_attribute, ERR_DOMAIN_INVALID) {
    assert_int_equal(get(MCAPI_DOMAIN_INVALID, 2, 0, &type, sizeof type), MCAPI_ERR_DOMAIN_INVALID);
    return get(1, 2, MCAPI_NODE_ATTR_TYPE, &type, sizeof type);
}
CASE(node_get_attribute, ERR_NODE_INVALID) {
    return get(0, 9, MCAPI_NODE_ATTR_TYPE, &type, sizeof type);
}
CASE(node_get_attribute, ERR_ATTR_NUM) {
    return get(0, 2, MCAPI_NODE_ATTR_END, &type, sizeof type);
}
CASE(node_get_attribute, ERR_ATTR_SIZE) {
    return get(0, 2, MCAPI_NODE_ATTR_TYPE, &type, 1);
}
CASE(node_get_attribute, ERR_PARAMETER) {
    return get(0, 2, MCAPI_NODE_ATTR_TYPE, NULL, sizeof type);
}

/* ---- endpoints --------------------------------------------------------------------------------
 */

static mcapi_status_t create(mcapi_port_t port) {
    spare_endpoint = mcapi_endpoint_create(port, &status);
    return status;
}

CASE(endpoint_create, SUCCESS) {
    create(MCAPI_PORT_ANY);
    assert_int_not_equal(spare_endpoint, 0);
    return status;
}
CASE(endpoint_create, ERR_NODE_NOTINIT) {
    return create(1);
}
CASE(endpoint_create, ERR_PORT_INVALID) {
    return create(MCAPI_MAX_ID + 1);
}
CASE(endpoint_create, ERR_ENDP_EXISTS) {
    return create(1);
}
CASE(endpoint_create, ERR_ENDP_LIMIT) {
    for (int i = 6; i < ENDPOINTS; i++)
        assert_int_equal(create(MCAPI_PORT_ANY), MCAPI_SUCCESS);
    return create(MCAPI_PORT_ANY);
}

static mcapi_status_t get_i(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
    mcapi_endpoint_get_i(domain, node, port, &spare_endpoint, &spare_request, &status);
    return status;
}

CASE(endpoint_get_i, SUCCESS) {
    get_i(0, 2, 1);
    assert_int_equal(spare_endpoint, world.theirs[1]);
    return status;
}
CASE(endpoint_get_i, PENDING) {
    return get_i(0, 2, 9);
}
CASE(endpoint_get_i, ERR_NODE_NOTINIT) {
    return get_i(0, 2, 1);
}
CASE(endpoint_get_i, ERR_PARAMETER) {
    mcapi_endpoint_get_i(0, 2, 1, NULL, &spare_request, &status);
    assert_status(status, ERR_PARAMETER);
    mcapi_endpoint_get_i(0, 2, 1, &spare_endpoint, NULL, &status);
    return status;
}
CASE(endpoint_get_i, ERR_DOMAIN_INVALID) {
    return get_i(MCAPI_DOMAIN_INVALID, 2, 1);
}
CASE(endpoint_get_i, ERR_NODE_INVALID) {
    return get_i(0, MCAPI_NODE_INVALID, 1);
}
CASE(endpoint_get_i, ERR_PORT_INVALID) {
    return get_i(0, 2, MCAPI_PORT_ANY);
}
CASE(endpoint_get_i, ERR_REQUEST_LIMIT) {
    use_all_requests();
    return get_i(0, 2, 1);
}

static mcapi_status_t get_now(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
    spare_endpoint = mcapi_endpoint_get(domain, node, port, 1, &status);
    return status;
}

CASE(endpoint_get, SUCCESS) {
    get_now(0, 2, 1);
    assert_int_equal(spare_endpoint, world.theirs[1]);
    return status;
}
CASE(endpoint_get, TIMEOUT) {
    mcapi_endpoint_get(0, 2, 9, MCAPI_TIMEOUT_IMMEDIATE, &status);
    assert_status(status, TIMEOUT);
    return get_now(0, 2, 9);
}
CASE(endpoint_get, ERR_NODE_NOTINIT) {
    return get_now(0, 2, 1);
}
CASE(endpoint_get, ERR_DOMAIN_INVALID) {
    return get_now(MCAPI_DOMAIN_INVALID, 2, 1);
}
CASE(endpoint_get, ERR_NODE_INVALID) {
    return get_now(0, MCAPI_NODE_INVALID, 1);
}
CASE(endpoint_get, ERR_PORT_INVALID) {
    return get_now(0, 2, MCAPI_PORT_ANY);
}

static mcapi_status_t delete (mcapi_endpoint_t endpoint) {
    mcapi_endpoint_delete(endpoint, &status);
    return status;
}

CASE(endpoint_delete, SUCCESS) {
    return delete (world.mine[1]);
}
CASE(endpoint_delete, ERR_NODE_NOTINIT) {
    return delete (1);
}
CASE(endpoint_delete, ERR_ENDP_INVALID) {
    assert_int_equal(delete (world.mine[1]), MCAPI_SUCCESS);
    return delete (world.mine[1]);
}
CASE(endpoint_delete, ERR_ENDP_NOTOWNER) {
    return delete (world.theirs[1]);
}
CASE(endpoint_delete, ERR_CHAN_CONNECTED) {
    mcapi_pktchan_connect_i(world.mine[1], world.theirs[1], &spare_request, &status);
    return delete (world.mine[1]);
}
CASE(endpoint_delete, ERR_CHAN_OPEN) {
    open_packets();
    return delete (world.mine[1]);
}

static mcapi_status_t release(mcapi_endpoint_t endpoint) {
    mcapi_endpoint_release(endpoint, &status);
    return status;
}

CASE(endpoint_release, SUCCESS) {
    get_now(0, 2, 1);
    return release(world.theirs[1]);
}
CASE(endpoint_release, ERR_NODE_NOTINIT) {
    return release(1);
}
CASE(endpoint_release, ERR_ENDP_INVALID) {
    assert_int_equal(release(0), MCAPI_ERR_ENDP_INVALID);
    return release(world.theirs[1]); /* nobody got it */
}

/* ---- attributes of endpoints ------------------------------------------------------------------
 */

static mcapi_uint_t value;

static mcapi_status_t get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, void *out,
                                    size_t size) {
    mcapi_endpoint_get_attribute(endpoint, number, out, size, &status);
    return status;
}

static mcapi_status_t try_set(mcapi_endpoint_t endpoint, mcapi_uint_t number, const void *in,
                              size_t size) {
    mcapi_endpoint_set_attribute(endpoint, number, in, size, &status);
    return status;
}

CASE(endpoint_get_attribute, SUCCESS) {
    get_attribute(world.theirs[1], MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, &value, sizeof value);
    assert_int_equal(value, MESSAGE);
    return status;
}
CASE(endpoint_get_attribute, ERR_NODE_NOTINIT) {
    return get_attribute(1, 0, &value, sizeof value);
}
CASE(endpoint_get_attribute, ERR_ENDP_INVALID) {
    return get_attribute(0, 0, &value, sizeof value);
}
CASE(endpoint_get_attribute, ERR_PARAMETER) {
    return get_attribute(world.mine[1], 0, NULL, sizeof value);
}
CASE(endpoint_get_attribute, ERR_ATTR_NUM) {
    return get_attribute(world.mine[1], 64, &value, sizeof value);
}
CASE(endpoint_get_attribute, ERR_ATTR_SIZE) {
    return get_attribute(world.mine[1], MCAPI_ENDP_ATTR_TYPE, &value, 1);
}
CASE(endpoint_get_attribute, ERR_ATTR_NOTSUPPORTED) {
    return get_attribute(world.mine[1], MCAPI_ENDP_ATTR_END, &value, sizeof value);
}
CASE(endpoint_set_attribute, SUCCESS) {
    value = 500;
    try_set(world.mine[1], MCAPI_ENDP_ATTR_TIMEOUT, &value, sizeof value);
    value = 0;
    get_attribute(world.mine[1], MCAPI_ENDP_ATTR_TIMEOUT, &value, sizeof value);
    assert_int_equal(value, 500);
    return status;
}
CASE(endpoint_set_attribute, ERR_NODE_NOTINIT) {
    return try_set(1, 0, &value, sizeof value);
}
CASE(endpoint_set_attribute, ERR_ENDP_INVALID) {
    return try_set(0, 0, &value, sizeof value);
}
CASE(endpoint_set_attribute, ERR_ENDP_REMOTE) {
    return try_set(world.theirs[1], MCAPI_ENDP_ATTR_TIMEOUT, &value, sizeof value);
}
CASE(endpoint_set_attribute, ERR_PARAMETER) {
    return try_set(world.mine[1], MCAPI_ENDP_ATTR_TIMEOUT, NULL, sizeof value);
}
CASE(endpoint_set_attribute, ERR_ATTR_NUM) {
    return try_set(world.mine[1], 64, &value, sizeof value);
}
CASE(endpoint_set_attribute, ERR_ATTR_SIZE) {
    return try_set(world.mine[1], MCAPI_ENDP_ATTR_TIMEOUT, &value, 2);
}
CASE(endpoint_set_attribute, ERR_ATTR_VALUE) {
    static const struct {
        mcapi_uint_t number, bad;
    } wrong[] = {{MCAPI_ENDP_ATTR_TYPE, 3},
                 {MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, MESSAGE + 1},
                 {MCAPI_ENDP_ATTR_BUFFER_TYPE, 1},
                 {MCAPI_ENDP_ATTR_MEMORY_TYPE, 3},
                 {MCAPI_ENDP_ATTR_PRIORITY, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(try_set(world.mine[1], wrong[i].number, &wrong[i].bad, sizeof value),
                         MCAPI_ERR_ATTR_VALUE);
    return status;
}
CASE(endpoint_set_attribute, ERR_ATTR_READONLY) {
    return try_set(world.mine[1], MCAPI_ENDP_ATTR_NUM_PRIORITIES, &value, sizeof value);
}
CASE(endpoint_set_attribute, ERR_ATTR_NOTSUPPORTED) {
    return try_set(world.mine[1], MCAPI_ENDP_ATTR_END, &value, sizeof value);
}
CASE(endpoint_set_attribute, ERR_CHAN_CONNECTED) {
    open_packets();
    value = 1;
    return try_set(world.mine[1], MCAPI_ENDP_ATTR_PRIORITY, &value, sizeof value);
}
