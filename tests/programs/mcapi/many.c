/* Sixty-four nodes; each sends to a few others, and takes what comes in one of several ways. */
#include "observed.h"

enum { MANY = NODES_MOST, NEIGHBOURS = 5, TURNS = 4, EACH = NEIGHBOURS * TURNS };

static int neighbour(int node, int number) {
    return (node + 1 + number * number * 3) % MANY;
}

static void take(mcapi_endpoint_t local, int way) {
    struct receive receive;
    mcapi_status_t status;
    size_t size = 0;
    int failures = 0;
    if (way == 0) {
        observe_one(local);
        return;
    }
    post(local, &receive);
    while (way == 1 && failures < 20 && !mcapi_test(&receive.request, &size, &status)) {
        failures++;
        sched_yield();
    }
    observe("failures", failures);
    await(&receive);
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node), to[NEIGHBOURS];
    for (int i = 0; i < NEIGHBOURS; i++)
        to[i] = endpoint_of(neighbour(node, i), PORT);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < NEIGHBOURS; i++)
            send_one(local, to[i], node, turn, MCAPI_MAX_PRIORITY);
        for (int i = 0; i < NEIGHBOURS; i++)
            take(local, (node + turn + i) % 3);
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, MANY);
}
