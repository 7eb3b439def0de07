/* Runs until it has had enough, or is killed: stream [--processes] [MESSAGES]. Nodes 1 and up send
   to node 0 and to each other; all write down what they get as it comes. */
#include "observed.h"

static int messages = 2000;

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node), to[NODES];
    for (int i = 0; i < NODES; i++)
        to[i] = endpoint_of(i, PORT);
    for (int round = 0; round < messages; round++) {
        for (int i = 0; i < NODES; i++)
            if (i != node)
                send_one(local, to[i], node, round, MCAPI_MAX_PRIORITY);
        struct receive receives[2];
        post(local, &receives[0]);
        post(local, &receives[1]);
        observe_one(local);
        await(&receives[1]);
        await(&receives[0]);
    }
    end(local);
}

int main(int argc, char **argv) {
    int apart = nodes_option(&argc, argv, "--processes");
    if (argc > 1)
        messages = atoi(argv[1]);
    return apart ? nodes_as_processes(node_main, 0, NODES) : nodes_as_threads(node_main, 0, NODES);
}
