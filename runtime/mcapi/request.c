#include "request.h"

#include <stdlib.h>

#include "completion.h"

/* ---- the table: three lists in one array --------------------------------------------------- */

static uint64_t serials; /* no two requests of a process are ever the same */

bool mc_requests_prepare(struct mc_local_node *node, uint32_t capacity) {
    if (node->capacity < capacity) {
        struct mc_request *requests = calloc(capacity, sizeof *requests);
        if (!requests)
            return false;
        /* The old table is left: some thread may still look at it. */
        node->requests = requests;
    }
    node->capacity = capacity;
    node->spins = MC_SPINS_MOST;
    node->reported_first = node->reported_last = MC_NONE;
    node->free = 0;
    for (uint32_t i = 0; i < capacity; i++)
        node->requests[i].next = i + 1 < capacity ? i + 1 : MC_NONE;
    return true;
}

void mc_request_keep(struct mc_local_node *node, struct mc_request *request) {
    if (!request->reported)
        return;
    request->reported = 0;
    *(request->previous == MC_NONE ? &node->reported_first
                                   : &node->requests[request->previous].next) = request->next;
    *(request->next == MC_NONE ? &node->reported_last : &node->requests[request->next].previous) =
        request->previous;
}

void mc_request_report(struct mc_local_node *node, struct mc_request *request) {
    if (request->reported)
        return;
    uint32_t index = (uint32_t)(request - node->requests);
    request->reported = request->known = 1;
    request->next = MC_NONE;
    request->previous = node->reported_last;
    *(node->reported_last == MC_NONE ? &node->reported_first
                                     : &node->requests[node->reported_last].next) = index;
    node->reported_last = index;
}

static void give_out_again(struct mc_local_node *node, struct mc_request *request) {
    request->next = node->free;
    node->free = (uint32_t)(request - node->requests);
}

void mc_request_forget(struct mc_local_node *node, struct mc_request *request) {
    mc_request_keep(node, request);
    free(request->post.whole);
    request->post.whole = NULL;
    __atomic_store_n(&request->handle, 0, __ATOMIC_RELEASE);
    if (!request->looks)
        give_out_again(node, request);
}

struct mc_request *mc_request_look(struct mc_local_node *node, mcapi_request_t handle) {
    struct mc_request *request = mc_request_find(node, handle);
    if (request)
        request->looks++;
    return request;
}

bool mc_request_looked(struct mc_local_node *node, uint64_t serial, struct mc_request *request,
                       mcapi_request_t handle) {
    if (!mc_node_in_use(node, serial)) /* all are free */
        return false;
    if (--request->looks == 0 && !request->handle)
        give_out_again(node, request);
    return request->handle == handle;
}

struct mc_request *mc_request_new(struct mc_local_node *node, enum mc_request_kind kind) {
    mc_lock(&node->lock);
    if (node->free == MC_NONE && node->reported_first != MC_NONE)
        mc_request_forget(node, &node->requests[node->reported_first]);
    struct mc_request *request = node->free == MC_NONE ? NULL : &node->requests[node->free];
    if (request) {
        uint64_t index = node->free;
        node->free = request->next;
        *request = (struct mc_request){.kind = kind, .status = MCAPI_SUCCESS};
        __atomic_store_n(&request->handle,
                         __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED) << 16 | index,
                         __ATOMIC_RELEASE);
    }
    mc_unlock(&node->lock);
    return request;
}

void mc_request_drop(struct mc_local_node *node, struct mc_request *request) {
    mc_lock(&node->lock);
    mc_request_forget(node, request);
    mc_unlock(&node->lock);
}

void mc_request_complete(struct mc_local_node *node, struct mc_request *request,
                         mcapi_request_t *out) {
    mc_lock(&node->lock);
    *out = request->handle;
    request->state = MC_COMPLETE;
    mc_request_report(node, request);
    mc_unlock(&node->lock);
}

void mc_requests_discard(struct mc_local_node *node) {
    mc_lock(&node->lock);
    for (uint32_t i = 0; i < node->capacity; i++)
        if (node->requests[i].handle) {
            free(node->requests[i].post.whole);
            node->requests[i].post.whole = NULL;
            __atomic_store_n(&node->requests[i].handle, 0, __ATOMIC_RELEASE);
        }
    node->free = node->reported_first = node->reported_last = MC_NONE;
    mc_unlock(&node->lock);
}
