/* Two threads of one node send from one endpoint, two of another one receive at one endpoint. With
   --long they do so for a while, and if STAY is set they stay there to be killed. */
#include "threads.h"

#include <stdlib.h>
#include <unistd.h>

static int rounds = ROUNDS;

static void pause_after(int round) {
    if (rounds == ROUNDS || round % 64 == 0)
        dawdle();
    while (round == rounds - 1 && getenv("STAY"))
        pause();
}

static void receive(int node, int thread, mcapi_endpoint_t endpoint) {
    (void)node;
    (void)thread;
    for (int i = 0; i < rounds; i++) {
        if (i % 3 == 0) {
            struct receive one;
            post(endpoint, &one);
            await(&one);
        } else {
            observe_one(endpoint);
        }
        pause_after(i);
    }
}

static void transmit(int node, int thread, mcapi_endpoint_t endpoint) {
    mcapi_endpoint_t to = endpoint_of(0, PORT);
    for (int i = 0; i < rounds; i++) {
        pause_after(i);
        send_one(endpoint, to, node, thread * rounds + i, MCAPI_MAX_PRIORITY + (unsigned)(i % 2));
    }
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    run_threads(node == 0 ? receive : transmit, node, local);
    end(local);
}

int main(int argc, char **argv) {
    if (nodes_option(&argc, argv, "--long"))
        rounds = 12000;
    return run_nodes(&argc, argv, node_main, 0, 2);
}
