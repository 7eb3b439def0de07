/* Messages of several priorities: the urgent ones overtake, if they come in time. */
#include "observed.h"

enum { PRIORITIES = 3 };

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0) {
        struct receive receive;
        for (int i = 0; i < MESSAGES; i++) {
            if (i % 4 == 0)
                dawdle();
            if (i % 2) {
                observe_one(local);
            } else {
                post(local, &receive);
                await(&receive);
            }
        }
    } else {
        mcapi_endpoint_t to = endpoint_of(0, PORT);
        for (int i = 0; i < ROUNDS; i++) {
            if (i % 3 == 0)
                dawdle();
            send_one(local, to, node, i, (mcapi_priority_t)(PRIORITIES - 1 - i % PRIORITIES));
        }
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
