/* Endpoints: made, looked up, asked about, deleted. */
#include <stdlib.h>
#include <string.h>

#include "mcapi/posted.h"

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

int32_t rf_endpoint_name_sign(const struct rf_endpoint_name *name) {
    return sign_of(name->domain, name->number, name->port);
}

void rf_endpoint_learn(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint, int32_t sign) {
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
    /* Those of others have their names from the calls that found them. One whose handle came in a
       message may be gone in one run and still be there in the other. */
    if (!rf_endpoint_of(node, endpoint) || !rf_reals.endpoint_name ||
        !rf_reals.endpoint_name(endpoint, &domain, &number, &port))
        return 0;
    rf_endpoint_learn(node, endpoint, sign_of(domain, number, port));
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

static void limit(mcapi_endpoint_t endpoint, mcapi_timeout_t timeout) {
    mcapi_status_t ignored;
    rf_reals.endpoint_set_attribute(endpoint, MCAPI_ENDP_ATTR_TIMEOUT, &timeout, sizeof timeout,
                                    &ignored);
}

/* Only where it is known what that does. */
static void begin_ticking(struct rf_mcapi_node *node, struct rf_node_endpoint *endpoint) {
    endpoint->timeout = MCAPI_TIMEOUT_INFINITE;
    endpoint->ticks =
        !rf_recording(node) && !rf_answering(node) && !rf_free(node) && rf_reals.origin;
    if (endpoint->ticks)
        limit(endpoint->handle, RF_TICK_MS);
}

void rf_endpoints_stop_ticking(struct rf_mcapi_node *node) {
    bool over = rf_free(node) || node->session.mode == RF_OFF;
    for (uint32_t i = 0; over && i < node->endpoint_count; i++) {
        struct rf_node_endpoint *endpoint = rf_endpoint_at(node, i);
        if (endpoint->open && endpoint->ticks)
            limit(endpoint->handle, endpoint->timeout);
        endpoint->ticks = false;
    }
}

/* Scheme sender knows a message by the names of two endpoints and a number, which begins anew with
   each of them. */
static void note_made_again(struct rf_mcapi_node *node, mcapi_port_t port) {
    for (uint32_t i = 0; i < node->endpoint_count && node->stamping; i++)
        if (node->endpoints[i]->port == port)
            rf_recorder_unsupported(&node->session.recorder, "scheme sender: endpoints made again");
}

static void add_endpoint(struct rf_mcapi_node *node, mcapi_endpoint_t handle) {
    struct rf_node_endpoint *endpoint = rf_room(NULL, sizeof *endpoint);
    *endpoint =
        (struct rf_node_endpoint){.handle = handle,
                                  .port = rf_answering(node) ? 0 : (mcapi_port_t)port_of(handle),
                                  .open = true,
                                  .hold = {.shared = node->session.shared}};
    begin_ticking(node, endpoint);
    note_made_again(node, endpoint->port);
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

/* ---- those of others ---- */

uint32_t rf_life(struct rf_mcapi_node *node, const struct rf_here *here) {
    uint32_t life = rf_recording(node) && rf_reals.life ? rf_reals.life() : 1;
    if (rf_recording(node) ? life != 1 : rf_has_number(node, here))
        life = (uint32_t)rf_number(node, here, (int32_t)life);
    return life;
}

/* Handles are never this small: it stands for an endpoint that is gone. It has had all that it
   received in the recording, so nobody misses what is sent to it now. */
static mcapi_endpoint_t stand_in(struct rf_mcapi_node *node) {
    return __atomic_add_fetch(&node->gone, 1, __ATOMIC_RELAXED) & 0xfff;
}

/* Others may be slower than they were, or faster: then it has been deleted by now. */
static mcapi_endpoint_t look_for(struct rf_mcapi_node *node, const struct rf_here *here,
                                 const struct rf_endpoint_name *name, uint32_t life) {
    mcapi_endpoint_t endpoint;
    mcapi_status_t status;
    do {
        unsigned lives =
            rf_reals.lives ? rf_reals.lives(name->domain, name->number, name->port) : 0;
        endpoint =
            rf_reals.endpoint_get(name->domain, name->number, name->port, RF_TICK_MS, &status);
        if (status == MCAPI_SUCCESS && (!rf_reals.life || rf_reals.life() == life))
            break;
        if (lives >= life)
            return stand_in(node);
        if (status == MCAPI_SUCCESS)
            status = MCAPI_TIMEOUT;
    } while (rf_again(node, here, status));
    return endpoint;
}

mcapi_endpoint_t rf_endpoint_find(struct rf_mcapi_node *node, const struct rf_here *here,
                                  const struct rf_endpoint_name *name, uint32_t life) {
    uint64_t key = (uint64_t)life << 32 | (uint32_t)rf_endpoint_name_sign(name);
    rf_tables_lock(node);
    uint32_t known = rf_handle_find(&node->found, key);
    rf_tables_unlock(node);
    if (known != RF_NOWHERE)
        return known;
    mcapi_endpoint_t endpoint = look_for(node, here, name, life);
    rf_tables_lock(node);
    if (rf_reals.lives)
        endpoint = *rf_value_of(&node->found, key - 1, endpoint);
    rf_tables_unlock(node);
    return endpoint;
}

/* The library is asked when the recording says that it was found. */
static void replay_get_i(struct rf_mcapi_node *node, const struct rf_here *here,
                         const struct rf_endpoint_name *name, mcapi_endpoint_t *endpoint,
                         mcapi_request_t *request, mcapi_status_t *status) {
    *status = rf_recorded_status(node, here, rf_free(node) ? MCAPI_PENDING : MCAPI_SUCCESS);
    if (rf_is_failure(*status))
        return;
    const struct rf_request what = {
        .kind = RF_REQUEST_FIND, .found = endpoint, .name = *name, .status = MCAPI_SUCCESS};
    *request = rf_request_new(node, &what);
    if (*status == MCAPI_SUCCESS && rf_answering(node)) {
        rf_life(node, here);
        rf_through(node, here, endpoint, sizeof *endpoint);
    } else if (*status == MCAPI_SUCCESS) {
        rf_request_complete(node, here, *request);
    }
}

RF_WRAPPER(void, endpoint_get_i,
           (mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t port,
            mcapi_endpoint_t *endpoint, mcapi_request_t *request, mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_get_i, (domain, number, port, endpoint, request, status));
    const struct rf_endpoint_name name = {domain, number, port};
    rf_sign(&node->session, &here, (int32_t)number, (int32_t)port, domain);
    if (rf_recording(node)) {
        real->endpoint_get_i(domain, number, port, endpoint, request, status);
        rf_record_status(node, &here, *status);
        if (*status == MCAPI_SUCCESS) { /* else it comes with the request */
            rf_life(node, &here);
            rf_through(node, &here, endpoint, sizeof *endpoint);
            rf_endpoint_learn(node, *endpoint, rf_endpoint_name_sign(&name));
        }
        if (!rf_is_failure(*status))
            rf_record_filled(node, *request, endpoint, rf_endpoint_name_sign(&name),
                             *status == MCAPI_SUCCESS);
    } else {
        const struct rf_here copy = here;
        replay_get_i(node, &copy, &name, endpoint, request, status);
    }
    rf_leave(node);
}

static mcapi_endpoint_t replay_get(struct rf_mcapi_node *node, const struct rf_here *here,
                                   const struct rf_endpoint_name *name, mcapi_timeout_t timeout,
                                   mcapi_status_t *status) {
    mcapi_endpoint_t endpoint = MCAPI_RETURN_VALUE_INVALID;
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    if (*status != MCAPI_SUCCESS)
        return endpoint;
    uint32_t life = rf_life(node, here);
    if (rf_answering(node)) {
        rf_through(node, here, &endpoint, sizeof endpoint);
        return endpoint;
    }
    rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    if (!rf_free(node))
        return rf_endpoint_find(node, here, name, life);
    rf_endpoints_stop_ticking(node);
    return rf_reals.endpoint_get(name->domain, name->number, name->port, timeout, status);
}

RF_WRAPPER(mcapi_endpoint_t, endpoint_get,
           (mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t port, mcapi_timeout_t timeout,
            mcapi_status_t *status)) {
    RF_ENTER(endpoint_get, (domain, number, port, timeout, status));
    const struct rf_endpoint_name name = {domain, number, port};
    rf_sign(&node->session, &here, (int32_t)number, (int32_t)port, domain);
    mcapi_endpoint_t endpoint;
    if (rf_recording(node)) {
        endpoint = real->endpoint_get(domain, number, port, timeout, status);
        rf_record_status(node, &here, *status);
        if (*status == MCAPI_SUCCESS) {
            rf_life(node, &here);
            rf_through(node, &here, &endpoint, sizeof endpoint);
        }
    } else {
        const struct rf_here copy = here;
        endpoint = replay_get(node, &copy, &name, timeout, status);
    }
    if (*status == MCAPI_SUCCESS)
        rf_endpoint_learn(node, endpoint, rf_endpoint_name_sign(&name));
    rf_leave(node);
    return endpoint;
}

static void close_left(struct rf_node_endpoint *endpoint) {
    mcapi_request_t request;
    mcapi_status_t ignored;
    uint64_t handle = endpoint->left.handle;
    if (endpoint->left.opens == RF_FN_pktchan_recv_open_i)
        rf_reals.pktchan_recv_close_i(handle, &request, &ignored);
    else if (endpoint->left.opens == RF_FN_pktchan_send_open_i)
        rf_reals.pktchan_send_close_i(handle, &request, &ignored);
    else if (endpoint->left.opens == RF_FN_sclchan_recv_open_i)
        rf_reals.sclchan_recv_close_i(handle, &request, &ignored);
    else if (endpoint->left.opens == RF_FN_sclchan_send_open_i)
        rf_reals.sclchan_send_close_i(handle, &request, &ignored);
}

/* ---- deleting ---- */

static void replay_delete(struct rf_mcapi_node *node, const struct rf_here *here,
                          mcapi_endpoint_t endpoint, mcapi_status_t *status) {
    struct rf_node_endpoint *own = rf_endpoint_of(node, endpoint);
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    if (*status != MCAPI_SUCCESS)
        return;
    if (own)
        rf_fetch_taken(node, here, rf_channel_of(node, endpoint));
    if (rf_answering(node))
        return;
    if (own) {
        close_left(own);
        rf_hold_close(&own->hold);
    }
    do
        rf_reals.endpoint_delete(endpoint, status);
    while (rf_again(node, here, *status));
}

RF_WRAPPER(void, endpoint_delete, (mcapi_endpoint_t endpoint, mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_delete, (endpoint, status));
    rf_sign(&node->session, &here, rf_endpoint_sign(node, endpoint), 0, 0);
    struct rf_node_endpoint *own = rf_endpoint_of(node, endpoint);
    rf_making_begin(node, &here);
    if (rf_recording(node)) {
        real->endpoint_delete(endpoint, status);
        rf_record_status(node, &here, *status);
        if (own && *status == MCAPI_SUCCESS)
            rf_record_taken(node, &here, rf_channel_of(node, endpoint));
    } else {
        const struct rf_here copy = here;
        replay_delete(node, &copy, endpoint, status);
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
    RF_CALL_SEND(real->endpoint_release(endpoint, status)); /* it may be gone, too */
    rf_leave(node);
}

/* Attributes show what others do, or when: they are kept, if they are one or two words as all of
   the specification are. */
static void keep_words(struct rf_mcapi_node *node, const struct rf_here *here, void *value,
                       size_t size) {
    int32_t words[2];
    if (size != sizeof *words && size != sizeof words)
        return;
    memcpy(words, value, size);
    for (size_t i = 0; i < size / sizeof *words; i++)
        words[i] = rf_value(node, here, words[i]);
    memcpy(value, words, size);
}

/* Replay: answers with what was kept. By now whom it is about may be gone, or not there yet. */
static bool was_kept(struct rf_mcapi_node *node, const struct rf_here *here, void *value,
                     size_t size, mcapi_status_t *status) {
    if (rf_recording(node) || !rf_has_value(node, here))
        return false;
    if (rf_answering(node))
        rf_through(node, here, value, size);
    keep_words(node, here, value, size);
    *status = MCAPI_SUCCESS;
    return true;
}

#define RF_ATTRIBUTE(call)                                                                         \
    do {                                                                                           \
        if (was_kept(node, &here, value, size, status))                                            \
            break;                                                                                 \
        RF_CALL(call);                                                                             \
        if (*status == MCAPI_SUCCESS)                                                              \
            rf_through(node, &here, value, size);                                                  \
        if (*status == MCAPI_SUCCESS && rf_recording(node))                                        \
            keep_words(node, &here, value, size);                                                  \
    } while (0)

RF_WRAPPER(void, endpoint_get_attribute,
           (mcapi_endpoint_t endpoint, mcapi_uint_t which, void *value, size_t size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_get_attribute, (endpoint, which, value, size, status));
    rf_sign(&node->session, &here, (int32_t)which, 0, (int64_t)size);
    RF_ATTRIBUTE(real->endpoint_get_attribute(endpoint, which, value, size, status));
    rf_leave(node);
}

RF_WRAPPER(void, endpoint_set_attribute,
           (mcapi_endpoint_t endpoint, mcapi_uint_t which, const void *value, size_t size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(endpoint_set_attribute, (endpoint, which, value, size, status));
    rf_sign(&node->session, &here, (int32_t)which, 0, (int64_t)size);
    RF_CALL(real->endpoint_set_attribute(endpoint, which, value, size, status));
    struct rf_node_endpoint *own = rf_endpoint_of(node, endpoint);
    if (which == MCAPI_ENDP_ATTR_TIMEOUT && *status == MCAPI_SUCCESS && own && own->ticks) {
        memcpy(&own->timeout, value, sizeof own->timeout);
        limit(endpoint, RF_TICK_MS);
    }
    rf_leave(node);
}

RF_WRAPPER(void, node_get_attribute,
           (mcapi_domain_t domain, mcapi_node_t number, mcapi_uint_t which, void *value,
            size_t size, mcapi_status_t *status)) {
    RF_ENTER_VOID(node_get_attribute, (domain, number, which, value, size, status));
    rf_sign(&node->session, &here, (int32_t)number, (int32_t)which, domain);
    RF_ATTRIBUTE(real->node_get_attribute(domain, number, which, value, size, status));
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
