/* Endpoints: creating, getting and deleting them. */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "inbox.h"
#include "node.h"
#include "request.h"
#include "wait.h"

#define FIRST_ANY_PORT 0x10000u
#define GENERATIONS ((1u << (32 - MC_INDEX_BITS)) - 1)

/* ---- creating ----------------------------------------------------------------------------- */

static bool port_taken(const struct mc_segment *segment, const struct mc_local_node *node,
                       uint32_t port) {
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        const struct mc_endpoint *endpoint = mc_endpoint_at(segment, i);
        if (endpoint->handle && endpoint->node_place == node->place && endpoint->port == port)
            return true;
    }
    return false;
}

/* Ports that were given out come again late. There are more than there can be endpoints. */
static uint32_t any_port(struct mc_segment *segment, const struct mc_local_node *node) {
    uint32_t port;
    do {
        port = FIRST_ANY_PORT + segment->next_port;
        segment->next_port = (segment->next_port + 1) % (MCAPI_MAX_ID - FIRST_ANY_PORT);
    } while (port_taken(segment, node, port));
    return port;
}

static uint32_t find_place(struct mc_segment *segment) {
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        uint32_t place = (segment->next_endpoint + i) % segment->limits.endpoints;
        if (!mc_endpoint_at(segment, place)->handle) {
            segment->next_endpoint = (place + 1) % segment->limits.endpoints;
            return place;
        }
    }
    return MC_NONE;
}

/* A record from before may have been made for a job with fewer endpoints. It is left where it is,
   since some thread may still look at it. */
static struct mc_local_endpoint *local_record(const struct mc_segment *segment, uint32_t place) {
    struct mc_local_endpoint *local = mc_the_job.local_endpoints[place];
    uint32_t room = segment->limits.endpoints;
    if (!local || local->room < room) {
        local = calloc(1, sizeof *local + room * sizeof *local->sent);
        if (local)
            local->room = room;
        __atomic_store_n(&mc_the_job.local_endpoints[place], local, __ATOMIC_RELEASE);
    }
    return local;
}

static bool name_in_use(const struct mc_segment *segment, uint32_t number) {
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        const struct mc_endpoint *endpoint = mc_endpoint_at(segment, i);
        if (endpoint->handle && endpoint->name == number)
            return true;
    }
    return false;
}

/* The number of a name, the same each time. Only a program that has used thousands of different
   names gives old ones away; then it is the oldest. */
static uint32_t number_name(struct mc_segment *segment, const struct mc_local_node *node,
                            uint32_t port) {
    uint32_t number = mc_name_find(segment, node->domain, node->node, port);
    if (number != MC_NONE)
        return number;
    number = segment->names_used;
    if (number == segment->names) {
        do {
            number = segment->next_name;
            segment->next_name = number + 1 < segment->names ? number + 1 : 0;
        } while (name_in_use(segment, number));
    }
    *mc_name_at(segment, number) = (struct mc_name){node->domain, node->node, port, 0};
    if (number == segment->names_used)
        __atomic_store_n(&segment->names_used, number + 1, __ATOMIC_RELEASE);
    return number;
}

static void fill_in(struct mc_segment *segment, struct mc_endpoint *endpoint,
                    const struct mc_local_node *node, uint32_t port) {
    endpoint->domain = node->domain;
    endpoint->node = node->node;
    endpoint->port = port;
    endpoint->name = number_name(segment, node, port);
    endpoint->life = ++mc_name_at(segment, endpoint->name)->made;
    endpoint->process = mc_the_job.process;
    endpoint->node_place = node->place;
    endpoint->get_count = 0;
    endpoint->get_source = UINT64_MAX; /* MCAPI_DOMAIN_INVALID, MCAPI_NODE_INVALID */
    endpoint->attributes = (struct mc_attributes){.type = MCAPI_ENDP_ATTR_TYPE_MESSAGE,
                                                  .max_payload = segment->limits.max_message,
                                                  .priorities = segment->limits.priorities,
                                                  .timeout = MCAPI_TIMEOUT_INFINITE};
}

/* With the segment's lock. */
static uint32_t create(struct mc_segment *segment, struct mc_local_node *node, uint32_t port,
                       uint32_t *handle) {
    if (port != MCAPI_PORT_ANY && port_taken(segment, node, port))
        return MCAPI_ERR_ENDP_EXISTS;
    uint32_t place = find_place(segment);
    if (place == MC_NONE) {
        mc_reap_dead(segment);
        mc_nodes_give_way(segment);
        place = find_place(segment);
    }
    if (place == MC_NONE)
        return MCAPI_ERR_ENDP_LIMIT;
    struct mc_endpoint *endpoint = mc_endpoint_at(segment, place);
    struct mc_local_endpoint *local = local_record(segment, place);
    if (!local ||
        (!endpoint->populated &&
         !mc_segment_populate(segment, segment->queues_offset + place * segment->queues_stride,
                              segment->queues_stride)))
        return MCAPI_ERR_ENDP_LIMIT;
    endpoint->populated = 1;
    fill_in(segment, endpoint, node, port == MCAPI_PORT_ANY ? any_port(segment, node) : port);
    segment->generation = segment->generation % GENERATIONS + 1;
    *handle = segment->generation << MC_INDEX_BITS | place;
    mc_lock(&local->lock);
    local->shared = endpoint;
    local->node = node;
    local->messages = (struct mc_posts){.last = &local->messages.first};
    local->channel = (struct mc_posts){.last = &local->channel.first};
    local->posts = local->matches = 0;
    local->sent_over_channel = 0;
    local->spins = MC_SPINS_MOST;
    memset(local->sent, 0, segment->limits.endpoints * sizeof *local->sent);
    __atomic_store_n(&local->handle, *handle, __ATOMIC_RELEASE);
    mc_unlock(&local->lock);
    __atomic_store_n(&endpoint->handle, *handle, __ATOMIC_SEQ_CST); /* from here on it is there */
    return MCAPI_SUCCESS;
}

MC_API mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t port_id, mcapi_status_t *status) {
    uint32_t handle = 0;
    if (!status)
        return 0;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
    } else if (port_id > MCAPI_MAX_ID && port_id != MCAPI_PORT_ANY) {
        *status = MCAPI_ERR_PORT_INVALID;
    } else {
        struct mc_segment *segment = mc_the_job.segment;
        mc_segment_lock(segment);
        *status = create(segment, node, port_id, &handle);
        if (*status == MCAPI_SUCCESS)
            mc_tell_everybody(segment);
        mc_segment_unlock(segment);
    }
    return handle;
}

/* ---- getting ------------------------------------------------------------------------------ */

static uint32_t check_name(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
    if (domain > MCAPI_MAX_ID)
        return MCAPI_ERR_DOMAIN_INVALID;
    if (node > MCAPI_MAX_ID)
        return MCAPI_ERR_NODE_INVALID;
    return port > MCAPI_MAX_ID ? MCAPI_ERR_PORT_INVALID : MCAPI_SUCCESS;
}

/* Nobody may have waited since its process died, and so have noticed. */
static void prepare_get(void) {
    mc_look_for_dead(mc_the_job.segment, false);
}

static struct mc_request *start_get(struct mc_local_node *node, mcapi_domain_t domain,
                                    mcapi_node_t id, mcapi_port_t port, mcapi_endpoint_t *found) {
    struct mc_request *request = mc_request_new(node, MC_REQUEST_GET);
    if (request) {
        request->domain = domain;
        request->node = id;
        request->port = port;
        request->found = found;
    }
    return request;
}

MC_API void mcapi_endpoint_get_i(mcapi_domain_t domain_id, mcapi_node_t node_id,
                                 mcapi_port_t port_id, mcapi_endpoint_t *endpoint,
                                 mcapi_request_t *request, mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    if (!endpoint || !request) {
        *status = MCAPI_ERR_PARAMETER;
        return;
    }
    *status = check_name(domain_id, node_id, port_id);
    if (*status != MCAPI_SUCCESS)
        return;
    prepare_get();
    struct mc_request *get = start_get(node, domain_id, node_id, port_id, endpoint);
    if (!get) {
        *status = MCAPI_ERR_REQUEST_LIMIT;
        return;
    }
    *request = get->handle;
    *status = MCAPI_PENDING;
    if (mc_request_poll(node, get) == MC_COMPLETE) {
        *status = MCAPI_SUCCESS;
        mc_the_thread.life = get->life;
        mc_request_complete(node, get, request);
    }
}

MC_API mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t domain_id, mcapi_node_t node_id,
                                           mcapi_port_t port_id, mcapi_timeout_t timeout,
                                           mcapi_status_t *status) {
    mcapi_endpoint_t found = 0;
    if (!status)
        return 0;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return 0;
    }
    *status = check_name(domain_id, node_id, port_id);
    if (*status != MCAPI_SUCCESS)
        return 0;
    prepare_get();
    /* Not from the table: a blocking call needs no request. */
    struct mc_request get = {.kind = MC_REQUEST_GET,
                             .status = MCAPI_SUCCESS,
                             .domain = domain_id,
                             .node = node_id,
                             .port = port_id,
                             .found = &found};
    struct mc_request *one = &get;
    mc_wait_requests(node, &one, 1, timeout, status);
    mc_the_thread.life = get.life;
    return found;
}

/* ---- deleting ----------------------------------------------------------------------------- */

MC_API void mcapi_endpoint_delete(mcapi_endpoint_t endpoint, mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_local_endpoint *local = mc_own_endpoint(node, endpoint);
    if (!local) {
        *status =
            mc_endpoint_find(segment, endpoint) ? MCAPI_ERR_ENDP_NOTOWNER : MCAPI_ERR_ENDP_INVALID;
        return;
    }
    mc_lock(&local->lock);
    if (local->handle != endpoint) { /* another thread was faster; see mc_local_endpoint */
        mc_unlock(&local->lock);
        *status = MCAPI_ERR_ENDP_INVALID;
        return;
    }
    mc_segment_lock(segment);
    uint32_t flags = mc_channel_flags(mc_channel_load(local->shared));
    if (flags & MC_CHANNEL_OPEN) {
        *status = MCAPI_ERR_CHAN_OPEN;
    } else if (flags && !(flags & MC_CHANNEL_CLOSED)) {
        *status = MCAPI_ERR_CHAN_CONNECTED;
    } else {
        mc_local_endpoint_end(local, MCAPI_ERR_ENDP_DELETED);
        mc_endpoint_bury(segment, endpoint & MC_INDEX_MASK, 0);
        mc_tell_everybody(segment);
        *status = MCAPI_SUCCESS;
    }
    mc_segment_unlock(segment);
    mc_unlock(&local->lock);
}

/* A get is counted; this takes one back. The handle stays good as long as the endpoint is there. */
MC_API void mcapi_endpoint_release(mcapi_endpoint_t endpoint, mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_endpoint *shared =
        mc_current() ? mc_endpoint_find(mc_the_job.segment, endpoint) : NULL;
    if (!mc_current()) {
        *status = MCAPI_ERR_NODE_NOTINIT;
    } else if (!shared) {
        *status = MCAPI_ERR_ENDP_INVALID;
    } else {
        uint32_t count = __atomic_load_n(&shared->get_count, __ATOMIC_RELAXED);
        while (count && !__atomic_compare_exchange_n(&shared->get_count, &count, count - 1, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        *status = count ? MCAPI_SUCCESS : MCAPI_ERR_ENDP_INVALID;
    }
}
