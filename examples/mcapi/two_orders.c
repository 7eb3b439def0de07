/* Two senders, two receivers: figure 28 of Elwakil and Yang, which tells an equivalent replay from
   an identical one.

   What varies: which message comes first at node 2, and which at node 4. The order at each of them
   is all that the program can see. Whether node 2 got its message before node 4 got another is an
   order between nodes, which a replay may change without anybody noticing; only the clock tells.

   two_orders [--processes] */
#include "nodes.h"

static void print_received(int node, int number, int word) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("node %d: message %d is %d\n", node, number, word);
    fprintf(stderr, "at %ld.%09ld: node %d received %d\n", (long)now.tv_sec, now.tv_nsec, node,
            word);
}

static void node_main(int node) {
    start(node);
    mcapi_endpoint_t local = own_endpoint(PORT);
    if (node == 1 || node == 3) {
        mcapi_endpoint_t node_2 = endpoint_of(2, PORT), node_4 = endpoint_of(4, PORT);
        send_word(local, node_2, node == 1 ? 1 : 10);
        send_word(local, node_4, node == 1 ? 1 : 10);
    } else {
        print_received(node, 1, receive_word(local));
        print_received(node, 2, receive_word(local));
    }
    stop(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 1, 4);
}
