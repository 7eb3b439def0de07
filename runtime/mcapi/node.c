#include "node.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inbox.h"
#include "process.h"
#include "request.h"

struct mc_job mc_the_job = {.process = MC_NONE, .lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local struct mc_thread mc_the_thread;

static uint64_t
    serials; /* of nodes; a thread that remembers an old one is not that node any more */

/* A thread that never initialized belongs to the process's node if there is exactly one. */
struct mc_local_node *mc_only_node(void) {
    if (__atomic_load_n(&mc_the_job.nodes, __ATOMIC_ACQUIRE) != 1)
        return NULL;
    for (size_t i = 0; i < sizeof mc_the_job.local_nodes / sizeof *mc_the_job.local_nodes; i++) {
        struct mc_local_node *node = __atomic_load_n(&mc_the_job.local_nodes[i], __ATOMIC_ACQUIRE);
        if (node && __atomic_load_n(&node->serial, __ATOMIC_ACQUIRE))
            return node;
    }
    return NULL;
}

void mc_ring_arrival_slowly(struct mc_segment *segment, struct mc_endpoint *endpoint) {
    uint32_t who = __atomic_exchange_n(&endpoint->arrival.listening, 0, __ATOMIC_SEQ_CST);
    if (who & MC_SLEEPERS)
        mc_bell_wake(&endpoint->arrival);
    if (who & MC_WATCHERS && endpoint->node_place < segment->limits.nodes)
        mc_bell_ring(&mc_node_at(segment, endpoint->node_place)->bell);
}

/* ---- forks and exits ---------------------------------------------------------------------- */

/* A child is no node, whatever its parent is. */
static void in_child(void) {
    mc_the_job.process = MC_NONE;
    mc_the_job.segment = NULL;
    mc_the_job.nodes = 0;
    pthread_mutex_init(&mc_the_job.lock, NULL);
    for (size_t i = 0; i < sizeof mc_the_job.local_nodes / sizeof *mc_the_job.local_nodes; i++)
        if (mc_the_job.local_nodes[i]) {
            mc_the_job.local_nodes[i]->serial = 0;
            mc_the_job.local_nodes[i]->lock.word = 0;
        }
    for (uint32_t i = 0; i <= MC_INDEX_MASK; i++)
        if (mc_the_job.local_endpoints[i]) {
            mc_the_job.local_endpoints[i]->handle = 0;
            mc_the_job.local_endpoints[i]->lock.word = 0;
        }
    mc_the_thread = (struct mc_thread){0};
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, in_child);
}

/* The program ends without mcapi_finalize. The place in the table stays: a thread may be cut off in
   the middle of something, and whoever finds this process dead clears that up. */
__attribute__((destructor)) static void at_exit(void) {
    struct mc_segment *segment = mc_the_job.segment;
    uint32_t process = mc_the_job.process;
    if (!segment || process == MC_NONE || mc_the_job.pid != (uint32_t)getpid() ||
        !mc_segment_lock_soon(segment))
        return;
    mc_process_bury(segment, process, 0);
    mc_segment_unlock(segment);
    if (segment->named)
        mc_segment_leave(segment, process);
}

/* ---- nodes -------------------------------------------------------------------------------- */

static uint32_t count_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) ? 1 : (uint32_t)CPU_COUNT(&cores);
}

/* With the job's lock. */
static bool enter(const mcapi_param_t *parameters) {
    if (mc_the_job.process != MC_NONE)
        return true;
    uint32_t process;
    struct mc_segment *segment = mc_segment_enter(parameters, &process);
    if (!segment)
        return false;
    mc_the_job.pid = (uint32_t)getpid();
    mc_the_job.process = process;
    mc_the_job.cores = count_cores();
    __atomic_store_n(&mc_the_job.segment, segment, __ATOMIC_RELEASE);
    return true;
}

static void leave_if_empty(void) {
    if (mc_the_job.nodes || mc_the_job.process == MC_NONE)
        return;
    struct mc_segment *segment = mc_the_job.segment;
    mc_segment_lock(segment);
    mc_process_bury(segment, mc_the_job.process, 0);
    mc_segment_unlock(segment);
    mc_segment_leave(segment, mc_the_job.process);
    mc_the_job.process = MC_NONE;
}

/* A place for a node with this name, or MC_NONE with the reason. With the segment's lock. */
static uint32_t find_place(struct mc_segment *segment, uint32_t domain, uint32_t id,
                           uint32_t *status) {
    uint32_t place = MC_NONE, retired = MC_NONE;
    for (uint32_t i = segment->limits.nodes; i-- > 0;) {
        const struct mc_node *node = mc_node_at(segment, i);
        bool same = node->domain == domain && node->node == id;
        if (node->life == MC_ALIVE && same) {
            *status = MCAPI_ERR_NODE_INITIALIZED;
            return MC_NONE;
        }
        if (node->life == MC_RETIRED && same)
            mc_node_bury(segment, i, 0);
        if (node->life == MC_GONE)
            place = i;
        else if (node->life == MC_RETIRED)
            retired = i;
    }
    if (place == MC_NONE && retired != MC_NONE)
        mc_node_bury(segment, place = retired, 0);
    *status = place == MC_NONE ? MCAPI_ERR_NODE_INITFAILED : MCAPI_SUCCESS;
    return place;
}

static uint32_t take_place(struct mc_segment *segment, uint32_t domain, uint32_t id, uint32_t type,
                           uint32_t *place) {
    uint32_t status;
    mc_segment_lock(segment);
    *place = find_place(segment, domain, id, &status);
    if (*place == MC_NONE) { /* unless it is the dead that are in the way */
        mc_reap_dead(segment);
        *place = find_place(segment, domain, id, &status);
    }
    if (*place != MC_NONE) {
        struct mc_node *node = mc_node_at(segment, *place);
        node->process = mc_the_job.process;
        node->domain = domain;
        node->node = id;
        node->type = type;
        node->bell.listening = 0;
        __atomic_store_n(&node->life, MC_ALIVE, __ATOMIC_RELEASE);
        __atomic_add_fetch(&segment->nodes_alive, 1, __ATOMIC_RELAXED);
    }
    mc_segment_unlock(segment);
    return status;
}

static uint32_t begin(uint32_t domain, uint32_t id, uint32_t type,
                      const mcapi_param_t *parameters) {
    uint32_t place;
    if (!enter(parameters))
        return MCAPI_ERR_NODE_INITFAILED;
    struct mc_segment *segment = mc_the_job.segment;
    uint32_t status = take_place(segment, domain, id, type, &place);
    if (status != MCAPI_SUCCESS)
        return status;
    struct mc_local_node *node = mc_the_job.local_nodes[place];
    if (!node)
        node = calloc(1, sizeof *node);
    if (!node || !mc_requests_prepare(node, segment->limits.requests)) {
        if (!mc_the_job.local_nodes[place])
            free(node);
        mc_segment_lock(segment);
        mc_node_bury(segment, place, 0);
        mc_segment_unlock(segment);
        return MCAPI_ERR_NODE_INITFAILED;
    }
    node->place = place;
    node->domain = domain;
    node->node = id;
    __atomic_store_n(&mc_the_job.local_nodes[place], node, __ATOMIC_RELEASE);
    mc_the_thread.serial = ++serials;
    mc_the_thread.node = node;
    __atomic_store_n(&node->serial, serials, __ATOMIC_RELEASE);
    __atomic_add_fetch(&mc_the_job.nodes, 1, __ATOMIC_RELEASE);
    return MCAPI_SUCCESS;
}

uint32_t mc_node_begin(uint32_t domain, uint32_t id, uint32_t type,
                       const mcapi_param_t *parameters) {
    pthread_mutex_lock(&mc_the_job.lock);
    uint32_t status = begin(domain, id, type, parameters);
    leave_if_empty();
    pthread_mutex_unlock(&mc_the_job.lock);
    return status;
}

/* With the job's lock. */
static struct mc_local_node *find_node(uint32_t domain, uint32_t id) {
    for (size_t i = 0; i < sizeof mc_the_job.local_nodes / sizeof *mc_the_job.local_nodes; i++) {
        struct mc_local_node *node = mc_the_job.local_nodes[i];
        if (node && node->serial && node->domain == domain && node->node == id)
            return node;
    }
    return NULL;
}

struct mc_local_node *mc_node_find(uint32_t domain, uint32_t id) {
    pthread_mutex_lock(&mc_the_job.lock);
    struct mc_local_node *node = find_node(domain, id);
    pthread_mutex_unlock(&mc_the_job.lock);
    return node;
}

bool mc_node_join(uint32_t domain, uint32_t id) {
    struct mc_thread *thread = &mc_the_thread;
    if (thread->node && mc_node_in_use(thread->node, thread->serial))
        return thread->node->domain == domain && thread->node->node == id;
    pthread_mutex_lock(&mc_the_job.lock);
    struct mc_local_node *node = find_node(domain, id);
    if (node) {
        thread->node = node;
        thread->serial = node->serial;
    }
    pthread_mutex_unlock(&mc_the_job.lock);
    return node;
}

void mc_local_endpoint_end(struct mc_local_endpoint *endpoint, uint32_t status) {
    __atomic_store_n(&endpoint->handle, 0, __ATOMIC_RELEASE);
    mc_end_posts(endpoint, &endpoint->messages, status);
    mc_end_posts(endpoint, &endpoint->channel, status);
    mc_drop_returned(endpoint, MC_MESSAGE);
    mc_drop_returned(endpoint, MC_PACKET);
}

/* Its endpoint stays, without anybody to receive there, or goes. With the endpoint's lock. */
static void end_endpoint(struct mc_segment *segment, struct mc_local_endpoint *endpoint,
                         uint32_t place, bool retires) {
    mc_local_endpoint_end(endpoint, MCAPI_ERR_NODE_NOTINIT);
    mc_segment_lock(segment);
    if (retires)
        endpoint->shared->process = MC_NONE;
    else
        mc_endpoint_bury(segment, place, 0);
    mc_segment_unlock(segment);
}

bool mc_node_end(struct mc_local_node *node, bool retires) {
    struct mc_segment *segment = mc_the_job.segment;
    pthread_mutex_lock(&mc_the_job.lock);
    if (!__atomic_exchange_n(&node->serial, 0, __ATOMIC_ACQ_REL)) { /* two threads at once */
        pthread_mutex_unlock(&mc_the_job.lock);
        return false;
    }
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        struct mc_local_endpoint *endpoint = mc_the_job.local_endpoints[i];
        if (!endpoint || !endpoint->handle || endpoint->node != node)
            continue;
        mc_lock(&endpoint->lock);
        if (endpoint->handle && endpoint->node == node)
            end_endpoint(segment, endpoint, i, retires);
        mc_unlock(&endpoint->lock);
    }
    mc_segment_lock(segment);
    if (retires)
        mc_node_retire(segment, node->place);
    else
        mc_node_bury(segment, node->place, 0);
    mc_tell_everybody(segment);
    mc_segment_unlock(segment);
    mc_requests_discard(node);
    __atomic_sub_fetch(&mc_the_job.nodes, 1, __ATOMIC_RELEASE);
    if (!retires)
        leave_if_empty();
    pthread_mutex_unlock(&mc_the_job.lock);
    return true;
}
