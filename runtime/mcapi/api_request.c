/* mcapi_test, mcapi_wait, mcapi_wait_any, mcapi_cancel. */
#include <stdlib.h>

#include "api.h"
#include "inbox.h"
#include "request.h"
#include "wait.h"

/* What a complete or cancelled request tells the program. With the node's lock. */
static bool tell(struct mc_request *request, size_t *size, mcapi_status_t *status) {
    if (request->state == MC_CANCELLED) {
        *status = MCAPI_ERR_REQUEST_CANCELLED;
        return false;
    }
    request->told = true;
    *status = request->status;
    *size = request->kind == MC_REQUEST_RECEIVE || request->kind == MC_REQUEST_SENT
                ? request->post.size
                : 0;
    if (request->kind == MC_REQUEST_RECEIVE &&
        (*status == MCAPI_SUCCESS || *status == MCAPI_ERR_MSG_TRUNCATED))
        mc_deliver(&request->post.origin);
    if (request->kind == MC_REQUEST_GET)
        mc_the_thread.life = request->life;
    return true;
}

/* The same by a test, which leaves a complete one to be waited for. */
static bool tell_test(struct mc_local_node *node, struct mc_request *request, size_t *size,
                      mcapi_status_t *status) {
    bool done = tell(request, size, status);
    if (!done && !request->waited)
        mc_request_forget(node, request);
    else if (done && !request->waited)
        mc_request_report(node, request);
    return done;
}

MC_API mcapi_boolean_t mcapi_test(mcapi_request_t *request, size_t *size, mcapi_status_t *status) {
    if (!status)
        return MCAPI_FALSE;
    struct mc_local_node *node = mc_current();
    mc_deliver_nothing();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return MCAPI_FALSE;
    }
    if (!request || !size) {
        *status = MCAPI_ERR_PARAMETER;
        return MCAPI_FALSE;
    }
    uint64_t serial = node->serial;
    mcapi_request_t handle = *request;
    bool done = false;
    *status = MCAPI_ERR_REQUEST_INVALID;
    mc_lock(&node->lock);
    struct mc_request *found = mc_request_look(node, handle);
    mc_unlock(&node->lock);
    if (!found)
        return MCAPI_FALSE;
    bool pending = mc_request_poll(node, found) == MC_PENDING;
    mc_lock(&node->lock);
    if (mc_request_looked(node, serial, found,
                          handle)) { /* else another thread has waited for it */
        *status = MCAPI_PENDING;
        done = !pending && tell_test(node, found, size, status);
    }
    mc_unlock(&node->lock);
    return done ? MCAPI_TRUE : MCAPI_FALSE;
}

/* Nobody waits for it any more. With the node's lock. */
static void disengage(struct mc_local_node *node, struct mc_request *request) {
    request->waited = 0;
    if (request->known)
        mc_request_report(node, request);
}

/* Finds the requests and marks them as waited for. With the node's lock. */
static uint32_t engage(struct mc_local_node *node, mcapi_request_t **handles,
                       struct mc_request **requests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t status = MCAPI_SUCCESS;
        requests[i] = handles[i] ? mc_request_find(node, *handles[i]) : NULL;
        if (!handles[i])
            status = MCAPI_ERR_PARAMETER;
        else if (!requests[i])
            status = MCAPI_ERR_REQUEST_INVALID;
        else if (requests[i]->waited)
            status = MCAPI_ERR_WAIT_PENDING;
        if (status != MCAPI_SUCCESS) {
            while (i--)
                disengage(node, requests[i]);
            return status;
        }
        requests[i]->waited = 1;
        mc_request_keep(node, requests[i]);
    }
    return MCAPI_SUCCESS;
}

/* Waits for one of them and takes it; returns its index, or `count` if there is none to tell. */
static size_t wait_for(struct mc_local_node *node, mcapi_request_t **handles,
                       struct mc_request **requests, size_t count, size_t *size, uint32_t timeout,
                       mcapi_status_t *status) {
    uint64_t serial = node->serial;
    mc_lock(&node->lock);
    *status = engage(node, handles, requests, count);
    mc_unlock(&node->lock);
    if (*status != MCAPI_SUCCESS)
        return count;
    size_t index = mc_wait_requests(node, requests, count, timeout, status);
    if (!mc_node_in_use(node, serial)) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return count;
    }
    mc_lock(&node->lock);
    for (size_t i = 0; i < count; i++)
        disengage(node, requests[i]);
    if (index < count) {
        bool done = tell(requests[index], size, status);
        mc_request_forget(node, requests[index]);
        if (!done)
            index = count;
    }
    mc_unlock(&node->lock);
    return index;
}

MC_API mcapi_boolean_t mcapi_wait(mcapi_request_t *request, size_t *size, mcapi_timeout_t timeout,
                                  mcapi_status_t *status) {
    if (!status)
        return MCAPI_FALSE;
    struct mc_local_node *node = mc_current();
    struct mc_request *found;
    mc_deliver_nothing();
    if (!node)
        *status = MCAPI_ERR_NODE_NOTINIT;
    else if (!request || !size)
        *status = MCAPI_ERR_PARAMETER;
    else
        return wait_for(node, &request, &found, 1, size, timeout, status) == 0;
    return MCAPI_FALSE;
}

#define FEW 64u
MC_API mcapi_uint_t mcapi_wait_any(size_t number, mcapi_request_t **requests, size_t *size,
                                   mcapi_timeout_t timeout, mcapi_status_t *status) {
    if (!status)
        return MCAPI_RETURN_VALUE_INVALID;
    struct mc_local_node *node = mc_current();
    struct mc_request *few[FEW], **found = few;
    mc_deliver_nothing();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return MCAPI_RETURN_VALUE_INVALID;
    }
    /* More than there can be are wrong without a look at them. */
    if (!requests || !size || !number || number > node->capacity) {
        *status = MCAPI_ERR_PARAMETER;
        return MCAPI_RETURN_VALUE_INVALID;
    }
    if (number > FEW && !(found = malloc(number * sizeof *found))) {
        *status = MCAPI_ERR_GENERAL;
        return MCAPI_RETURN_VALUE_INVALID;
    }
    size_t index = wait_for(node, requests, found, number, size, timeout, status);
    if (found != few)
        free(found);
    return index < number ? (mcapi_uint_t)index : MCAPI_RETURN_VALUE_INVALID;
}

/* Undoes what a pending request was about; false if that cannot be done any more. */
static bool undo(struct mc_request *request) {
    struct mc_local_endpoint *endpoint = request->endpoint;
    if (request->told)
        return false;
    if (request->kind == MC_REQUEST_RECEIVE) {
        mc_lock(&endpoint->lock);
        bool mine = endpoint->handle == request->endpoint_handle;
        if (mine && !mc_withdraw(endpoint, &request->post) &&
            (request->post.status == MCAPI_SUCCESS ||
             request->post.status == MCAPI_ERR_MSG_TRUNCATED))
            mc_give_back(endpoint, &request->post);
        mc_unlock(&endpoint->lock);
        return true;
    }
    if (request->state != MC_PENDING)
        return false;
    if (request->kind == MC_REQUEST_OPEN) {
        struct mc_segment *segment = mc_the_job.segment;
        mc_segment_lock(segment);
        uint64_t word = mc_channel_load(endpoint->shared);
        bool pending = endpoint->shared->handle == request->endpoint_handle &&
                       mc_channel_generation(word) == request->generation &&
                       !(mc_channel_flags(word) & MC_CHANNEL_OPEN);
        if (pending)
            mc_channel_unopen(endpoint->shared);
        mc_segment_unlock(segment);
        return pending;
    }
    return true;
}

MC_API void mcapi_cancel(mcapi_request_t *request, mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    if (!request) {
        *status = MCAPI_ERR_PARAMETER;
        return;
    }
    mc_lock(&node->lock);
    struct mc_request *found = mc_request_find(node, *request);
    *status = MCAPI_ERR_REQUEST_INVALID;
    if (found && found->state == MC_CANCELLED) {
        *status = MCAPI_ERR_REQUEST_CANCELLED;
    } else if (found && undo(found)) {
        *status = MCAPI_SUCCESS;
        __atomic_store_n(&found->state, MC_CANCELLED, __ATOMIC_RELEASE);
        if (!found->waited)
            mc_request_report(node, found);
    }
    mc_unlock(&node->lock);
    if (*status == MCAPI_SUCCESS)
        mc_bell_wake(&mc_node_at(mc_the_job.segment, node->place)->bell);
}
