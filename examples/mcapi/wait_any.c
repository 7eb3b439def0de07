/* A node with two endpoints waits for whichever gets a message first: figure 3 of Elwakil and Yang.

   What varies: the index that mcapi_wait_any returns, and so the branch that the node takes.

   wait_any [--processes] */
#include "nodes.h"

enum { RECEIVER, FIRST_SENDER };

static void receive(void) {
    mcapi_status_t status;
    mcapi_request_t requests[2], *pointers[] = {&requests[0], &requests[1]};
    mcapi_endpoint_t endpoints[] = {own_endpoint(1), own_endpoint(2)};
    int buffers[2] = {0, 0};
    size_t size;
    for (int i = 0; i < 2; i++) {
        mcapi_msg_recv_i(endpoints[i], &buffers[i], sizeof buffers[i], &requests[i], &status);
        must("mcapi_msg_recv_i", status);
    }
    mcapi_uint_t index = mcapi_wait_any(2, pointers, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait_any", status);
    switch (index) {
    case 0:
        printf("the first endpoint was first: %d\n", buffers[0]);
        break;
    default:
        printf("the second endpoint was first: %d\n", buffers[1]);
        break;
    }
    mcapi_wait(&requests[1 - index], &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait", status);
    mcapi_endpoint_delete(endpoints[1], &status);
    must("mcapi_endpoint_delete", status);
    stop(endpoints[0]);
}

static void node_main(int node) {
    start(node);
    if (node == RECEIVER) {
        receive();
        return;
    }
    mcapi_endpoint_t local = own_endpoint(PORT);
    send_word(local, endpoint_of(RECEIVER, node), 100 * node);
    stop(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, RECEIVER, FIRST_SENDER + 2);
}
