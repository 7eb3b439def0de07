/* Finalizes with receives under way, for which nobody will send, and with messages that nobody
 * took.
 */
#include "observed.h"

enum { LEFT = 5 };

static void node_main(int node) {
    static _Thread_local struct receive receives[LEFT];
    mcapi_status_t status;
    mcapi_endpoint_t local = begin(node);
    if (node == 0) {
        mcapi_endpoint_t other = own_endpoint(PORT + 1);
        for (int i = 0; i < LEFT; i++)
            post(other, &receives[i]);
        for (int i = 0; i < MESSAGES - LEFT; i++)
            observe_one(local);
        /* The rest is on its way, and the senders must not find the endpoint gone. */
        mcapi_uint_t rest;
        do {
            sched_yield();
            rest = mcapi_msg_available(local, &status);
        } while (rest < LEFT);
        observe("rest", (long)rest);
    } else {
        send_stream(node, local, PORT, ROUNDS);
        for (int i = 0; i < LEFT; i++)
            post(local, &receives[i]);
    }
    observe_close();
    mcapi_finalize(&status);
    must("mcapi_finalize", status);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
