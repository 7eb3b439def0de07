#include "wait.h"

#include "inbox.h"

#define FIRST_TICK UINT64_C(50000000)
#define LONGEST_TICK UINT64_C(500000000)
#define STALLED_TICK UINT64_C(1000000)
#define SHORT_SLEEP UINT64_C(100000)

/* The lowest index wins. */
static size_t poll_all(struct mc_local_node *node, struct mc_request **requests, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (mc_request_poll(node, requests[i]) != MC_PENDING)
            return i;
    return count;
}

/* Whatever could complete one of them will ring the node's bell. */
static uint32_t listen(struct mc_bell *bell, struct mc_request **requests, size_t count,
                       bool *stalled) {
    uint32_t heard = mc_bell_listen(bell, MC_SLEEPERS);
    *stalled = false;
    for (size_t i = 0; i < count; i++)
        if (requests[i]->kind == MC_REQUEST_RECEIVE) {
            mc_listen_arrival(requests[i]->endpoint->shared, MC_WATCHERS);
            *stalled = *stalled || mc_stalled(requests[i]->endpoint);
        }
    return heard;
}

size_t mc_wait_requests(struct mc_local_node *node, struct mc_request **requests, size_t count,
                        uint32_t timeout, uint32_t *status) {
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_bell *bell = &mc_node_at(segment, node->place)->bell;
    uint64_t serial = node->serial, tick = FIRST_TICK, deadline = mc_deadline(timeout);
    size_t index = poll_all(node, requests, count);
    while (index == count) {
        uint32_t looks = timeout ? mc_spins(segment, node->spins) : 0;
        for (uint32_t i = 0; i < looks && index == count; i++) {
            mc_relax();
            index = poll_all(node, requests, count);
        }
        if (index < count)
            break;
        bool stalled;
        uint32_t heard = listen(bell, requests, count, &stalled);
        uint64_t now = mc_now(), length = stalled ? STALLED_TICK : tick;
        index = poll_all(node, requests, count);
        if (index < count)
            break;
        if (!mc_node_in_use(node, serial)) {
            *status = MCAPI_ERR_NODE_NOTINIT;
            break;
        }
        if (now >= deadline) {
            *status = MCAPI_TIMEOUT;
            break;
        }
        mc_bell_sleep(bell, heard, deadline - now < length ? deadline - now : length);
        uint64_t slept = mc_now() - now;
        if (slept < SHORT_SLEEP)
            node->spins = MC_SPINS_MOST;
        else if (node->spins > MC_SPINS_LEAST)
            node->spins /= 2;
        if (slept >= length) {
            tick = tick < LONGEST_TICK ? tick * 2 : LONGEST_TICK;
            mc_look_for_dead(segment, stalled);
        }
        index = poll_all(node, requests, count);
    }
    return index;
}
