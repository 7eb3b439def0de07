/* No node finalizes: threads return, processes exit. */
#include "observed.h"

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0)
        for (int i = 0; i < MESSAGES; i++)
            observe_one(local);
    else
        send_stream(node, local, PORT, ROUNDS);
    observe_close();
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
