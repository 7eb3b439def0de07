/* Sends that do not wait, to a queue that is often full: which of them are refused depends on how
   fast the receiver is. The refused ones are sent again. */
#include "observed.h"

enum { LENGTH = 4, BURST = 40 };

static void begin_small(int node) {
    mcapi_param_t parameters = MCAPI_PARAM_DEFAULTS;
    mcapi_info_t info;
    mcapi_status_t status;
    parameters.queue_length = LENGTH;
    mcapi_initialize(DOMAIN, (mcapi_node_t)node, NULL, &parameters, &info, &status);
    must("mcapi_initialize", status);
    observe_open(node);
    observe("begins", node);
}

static void send_burst(mcapi_endpoint_t local, int node) {
    unsigned char data[MOST_BYTES];
    mcapi_endpoint_t to = endpoint_of(0, PORT);
    mcapi_request_t request;
    mcapi_status_t status;
    for (int i = 0; i < BURST; i++) {
        int refusals = 0;
        size_t size = fill(data, node, i);
        for (;;) {
            mcapi_msg_send_i(local, to, data, size, MCAPI_MAX_PRIORITY, &request, &status);
            if (status != MCAPI_ERR_MEM_LIMIT)
                break;
            refusals++;
            sched_yield();
        }
        must("mcapi_msg_send_i", status);
        await_request(&request);
        observe("refusals", refusals);
    }
}

static void node_main(int node) {
    begin_small(node);
    mcapi_endpoint_t local = own_endpoint(PORT);
    if (node == 0)
        for (int i = 0; i < BURST * SENDERS; i++) {
            if (i % 16 == 0)
                dawdle();
            observe_one(local);
        }
    else
        send_burst(local, node);
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
