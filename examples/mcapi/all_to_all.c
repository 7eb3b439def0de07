/* Every node sends a message to every other and takes as many: figure 2 of Elwakil and Yang,
   "Deterministic Replay for Message-Passing Based Concurrent Programs".

   What varies: an MCAPI receive does not say from whom, so each node gets the messages in the order
   in which they come. Which message is in Buffer[0] is another one from run to run.

   all_to_all [--processes] [NODES]: 4 nodes unless told otherwise. */
#include "nodes.h"

static int nodes = 4;

static void node_main(int node) {
    int buffer[NODES_MOST];
    char line[8 * NODES_MOST];
    start(node);
    mcapi_endpoint_t local = own_endpoint(PORT);
    for (int other = 0; other < nodes; other++)
        if (other != node)
            send_word(local, endpoint_of(other, PORT), node);
    for (int i = 0; i < nodes - 1; i++)
        buffer[i] = receive_word(local);
    int length = snprintf(line, sizeof line, "node %d received from", node);
    for (int i = 0; i < nodes - 1; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, " %d", buffer[i]);
    puts(line);
    stop(local);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (atoi(argv[i]) > 0)
            nodes = atoi(argv[i]);
    return run_nodes(&argc, argv, node_main, 0, nodes);
}
