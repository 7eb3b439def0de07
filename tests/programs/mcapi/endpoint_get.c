/* Looks for endpoints that are not there yet: with a limit of time, and with requests of which any
   can be the first. */
#include "observed.h"

enum { FIRST_PORT = 10 };

static mcapi_endpoint_t find(int node, int port) {
    mcapi_status_t status;
    int timeouts = 0;
    for (;;) {
        mcapi_endpoint_t found =
            mcapi_endpoint_get(DOMAIN, (mcapi_node_t)node, (mcapi_port_t)port,
                               timeouts % 8 == 7 ? 1 : MCAPI_TIMEOUT_IMMEDIATE, &status);
        if (status == MCAPI_SUCCESS) {
            observe("timeouts", timeouts);
            return found;
        }
        if (status != MCAPI_TIMEOUT)
            must("mcapi_endpoint_get", status);
        timeouts++;
        sched_yield();
    }
}

/* Says hello to each in the order in which they turn up. */
static void greet(mcapi_endpoint_t local, int port) {
    mcapi_request_t requests[SENDERS], *pointers[SENDERS];
    mcapi_endpoint_t found[SENDERS];
    int places[SENDERS];
    mcapi_status_t status;
    size_t size;
    for (int i = 0; i < SENDERS; i++) {
        mcapi_endpoint_get_i(DOMAIN, (mcapi_node_t)(i + 1), (mcapi_port_t)port, &found[i],
                             &requests[i], &status);
        must("mcapi_endpoint_get_i", status);
        pointers[i] = &requests[i];
        places[i] = i;
    }
    for (int left = SENDERS; left > 0; left--) {
        mcapi_uint_t index =
            mcapi_wait_any((size_t)left, pointers, &size, MCAPI_TIMEOUT_INFINITE, &status);
        must("mcapi_wait_any", status);
        observe("found", places[index]);
        send_word(local, found[places[index]], left);
        pointers[index] = pointers[left - 1];
        places[index] = places[left - 1];
    }
}

static void node_main(int node) {
    mcapi_status_t status;
    mcapi_endpoint_t local = begin(node), mine;
    for (int round = 0; round < ROUNDS / 2; round++) {
        dawdle();
        if (node == 0) {
            greet(local, FIRST_PORT + round);
            dawdle();
            mine = own_endpoint(FIRST_PORT + round);
            for (int i = 0; i < SENDERS; i++)
                observe("thanks", receive_word(mine));
        } else {
            mine = own_endpoint(FIRST_PORT + round);
            observe("greeted", receive_word(mine));
            send_word(mine, find(0, FIRST_PORT + round), node);
        }
        mcapi_endpoint_delete(mine, &status);
        must("mcapi_endpoint_delete", status);
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
