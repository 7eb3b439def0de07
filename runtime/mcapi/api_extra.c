/* What mcapix.h offers to tools, and to programs that want more than the specification has. */
#include "api.h"
#include "completion.h"
#include "node.h"

const char mc_for_tools = 0;

MC_API int mcapix_version(void) {
    return MCAPIX_VERSION;
}

MC_API int mcapix_origin(struct mcapix_origin *out) {
    if (!out || !mc_the_thread.delivered)
        return 0;
    *out = mc_the_thread.origin;
    return 1;
}

MC_API int mcapix_node_join(mcapi_domain_t domain, mcapi_node_t node) {
    return mc_node_join(domain, node);
}

MC_API int mcapix_node_retire(mcapi_domain_t domain, mcapi_node_t node) {
    struct mc_local_node *found = mc_node_find(domain, node);
    return found && mc_node_end(found, true);
}

MC_API void mcapix_watch_sends(void (*watch)(uint64_t number)) {
    __atomic_store_n(&mc_the_job.watch, watch, __ATOMIC_RELAXED);
}

MC_API void mcapix_stamp_matches(int on) {
    if (mc_current())
        __atomic_store_n(&mc_the_job.segment->stamping, on != 0, __ATOMIC_RELEASE);
}

MC_API void mcapix_expect(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
    mc_the_thread.expected = mc_sender_key(domain, node, port);
}

MC_API void mcapix_expect_all(void) {
    mc_the_thread.expected = 0;
}

MC_API unsigned mcapix_requests(void) {
    const struct mc_local_node *node = mc_current();
    return node ? node->capacity : 0;
}

MC_API unsigned mcapix_life(void) {
    return mc_the_thread.life;
}

MC_API unsigned mcapix_lives(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
    struct mc_segment *segment = mc_current() ? mc_the_job.segment : NULL;
    if (!segment)
        return 0;
    mc_segment_lock(segment);
    uint32_t name = mc_name_find(segment, domain, node, port);
    unsigned made = name == MC_NONE ? 0 : mc_name_at(segment, name)->made;
    mc_segment_unlock(segment);
    return made;
}

MC_API int mcapix_taken(mcapi_request_t request, struct mcapix_origin *out) {
    struct mc_local_node *node = mc_current();
    if (!node || !out)
        return 0;
    mc_lock(&node->lock);
    const struct mc_request *found = mc_request_find(node, request);
    bool taken =
        found && found->kind == MC_REQUEST_RECEIVE && found->state != MC_CANCELLED &&
        __atomic_load_n(&found->post.done, __ATOMIC_ACQUIRE) &&
        (found->post.status == MCAPI_SUCCESS || found->post.status == MCAPI_ERR_MSG_TRUNCATED);
    if (taken)
        *out = found->post.origin;
    mc_unlock(&node->lock);
    return taken;
}

MC_API int mcapix_endpoint_name(mcapi_endpoint_t endpoint, mcapi_domain_t *domain,
                                mcapi_node_t *node, mcapi_port_t *port) {
    const struct mc_endpoint *shared =
        mc_current() ? mc_endpoint_find(mc_the_job.segment, endpoint) : NULL;
    if (!shared || !domain || !node || !port)
        return 0;
    *domain = shared->domain;
    *node = shared->node;
    *port = shared->port;
    return __atomic_load_n(&shared->handle, __ATOMIC_ACQUIRE) == endpoint;
}
