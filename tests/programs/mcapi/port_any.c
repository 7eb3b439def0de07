/* Endpoints whose port the library chooses. Their handles go to node 0 in messages, and it answers
   to whoever comes. */
#include "observed.h"

#include <mcapix.h>

static int port_of(mcapi_endpoint_t endpoint) {
    mcapi_domain_t domain;
    mcapi_node_t node;
    mcapi_port_t port = 0;
    mcapix_endpoint_name(endpoint, &domain, &node, &port);
    return (int)port;
}

static void answer(mcapi_endpoint_t local) {
    for (int i = 0; i < MESSAGES; i++) {
        mcapi_endpoint_t asker = (mcapi_endpoint_t)receive_word(local);
        observe("port", port_of(asker));
        send_word(local, asker, i);
    }
}

static void ask(mcapi_endpoint_t local) {
    mcapi_status_t status;
    mcapi_endpoint_t to = endpoint_of(0, PORT);
    for (int i = 0; i < ROUNDS; i++) {
        mcapi_endpoint_t reply = mcapi_endpoint_create(MCAPI_PORT_ANY, &status);
        must("mcapi_endpoint_create", status);
        dawdle();
        send_word(local, to, (int)reply);
        observe("port", port_of(reply));
        observe("answer", receive_word(reply));
        mcapi_endpoint_delete(reply, &status);
        must("mcapi_endpoint_delete", status);
    }
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0)
        answer(local);
    else
        ask(local);
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
