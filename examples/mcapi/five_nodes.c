/* Five nodes, and an assertion that holds in some orders only: figure 8 of Elwakil and Yang. Nodes
   1 and 3 send a number to each of the nodes 2, 4 and 5; node 2 makes a new one out of its two and
   sends that to nodes 4 and 5.

   What varies: which number is A and which is B in node 2, and so whether A > B; what wait-any
   returned there; how often the test in node 4 fails; and the order of numbers in nodes 4 and 5.

   five_nodes [--processes] [--assert]: with --assert, node 2 aborts if A is not larger than B. */
#include "nodes.h"

enum { NODES = 5, X = 1, Y = 10 };

static int insists;

static void post(mcapi_endpoint_t endpoint, int *word, mcapi_request_t *request) {
    mcapi_status_t status;
    mcapi_msg_recv_i(endpoint, word, sizeof *word, request, &status);
    must("mcapi_msg_recv_i", status);
}

static void await(mcapi_request_t *request) {
    mcapi_status_t status;
    size_t size;
    mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait", status);
}

static void send_to_all(mcapi_endpoint_t local, int word) {
    for (int node = 2; node <= NODES; node++)
        if (node != 3)
            send_word(local, endpoint_of(node, PORT), word);
}

static void node_2(mcapi_endpoint_t local) {
    mcapi_status_t status;
    mcapi_request_t requests[2], *pointers[] = {&requests[0], &requests[1]};
    size_t size;
    int a = 0, b = 0;
    mcapi_endpoint_t node_4 = endpoint_of(4, PORT), node_5 = endpoint_of(5, PORT);
    post(local, &a, &requests[0]);
    post(local, &b, &requests[1]);
    mcapi_uint_t index = mcapi_wait_any(2, pointers, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait_any", status);
    await(&requests[1 - index]);
    printf("node 2: index %u, A is %d, B is %d\n", index, a, b);
    fflush(stdout);
    if (insists && !(a > b))
        abort();
    send_word(local, node_4, 10 * a + b);
    send_word(local, node_5, 10 * a + b);
}

static void node_4(mcapi_endpoint_t local) {
    mcapi_status_t status;
    mcapi_request_t first, second;
    size_t size;
    int d = 0, e = 0, failures = 0;
    post(local, &d, &first);
    post(local, &e, &second);
    int f = receive_word(local);
    while (!mcapi_test(&first, &size, &status))
        failures++;
    must("mcapi_test", status);
    await(&second);
    printf("node 4: D is %d, E is %d, F is %d, after %d failed tests\n", d, e, f, failures);
}

static void node_5(mcapi_endpoint_t local) {
    int g = receive_word(local), h = receive_word(local), i = receive_word(local);
    printf("node 5: G is %d, H is %d, I is %d\n", g, h, i);
}

static void node_main(int node) {
    start(node);
    mcapi_endpoint_t local = own_endpoint(PORT);
    if (node == 1)
        send_to_all(local, X);
    else if (node == 2)
        node_2(local);
    else if (node == 3)
        send_to_all(local, Y);
    else if (node == 4)
        node_4(local);
    else
        node_5(local);
    stop(local);
}

int main(int argc, char **argv) {
    insists = nodes_option(&argc, argv, "--assert");
    return run_nodes(&argc, argv, node_main, 1, NODES);
}
