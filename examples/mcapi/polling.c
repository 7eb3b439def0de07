/* A node looks again and again whether its message has come: figure 4 of Elwakil and Yang.

   What varies: how often mcapi_test says no before it says yes.

   polling [--processes] */
#include "nodes.h"

enum { RECEIVER, SENDER };

static void receive(void) {
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_endpoint_t local = own_endpoint(PORT);
    int buffer = 0;
    size_t size;
    unsigned failures = 0;
    mcapi_msg_recv_i(local, &buffer, sizeof buffer, &request, &status);
    must("mcapi_msg_recv_i", status);
    while (!mcapi_test(&request, &size, &status))
        failures++;
    must("mcapi_test", status);
    printf("received %d after %u failed tests\n", buffer, failures);
    stop(local);
}

static void node_main(int node) {
    start(node);
    if (node == RECEIVER) {
        receive();
        return;
    }
    mcapi_endpoint_t local = own_endpoint(PORT);
    send_word(local, endpoint_of(RECEIVER, PORT), 42);
    stop(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, RECEIVER, 2);
}
