/* The parts that most MCAPI test programs share: start, end, senders, one observed message. Node 0
   receives what the others send. */
#ifndef OBSERVED_H
#define OBSERVED_H

#define OBSERVE_STORAGE _Thread_local
#define OBSERVE_WHO "node"

#include "nodes.h"
#include "observe.h"

#include <sched.h>

enum { NODES = 4, SENDERS = NODES - 1, ROUNDS = 8, MESSAGES = SENDERS * ROUNDS, MOST_BYTES = 256 };

static inline mcapi_endpoint_t begin(int node) {
    start(node);
    observe_open(node);
    observe("begins", node);
    return own_endpoint(PORT);
}

static inline void end(mcapi_endpoint_t endpoint) {
    observe_close();
    stop(endpoint);
}

/* A message says who sent it, which one it is, and is as long as that. */
static inline size_t fill(unsigned char data[MOST_BYTES], int node, int number) {
    size_t size = 8 + (size_t)(node * 5 + number * 3) % 90;
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(node * 50 + number * 7 + (int)i);
    return size;
}

static inline void send_one(mcapi_endpoint_t from, mcapi_endpoint_t to, int node, int number,
                            mcapi_priority_t priority) {
    unsigned char data[MOST_BYTES];
    mcapi_status_t status;
    size_t size = fill(data, node, number);
    mcapi_msg_send(from, to, data, size, priority, &status);
    must("mcapi_msg_send", status);
}

static inline void send_stream(int node, mcapi_endpoint_t from, int port, int count) {
    mcapi_endpoint_t to = endpoint_of(0, port);
    for (int i = 0; i < count; i++) {
        dawdle();
        send_one(from, to, node, i, MCAPI_MAX_PRIORITY);
    }
}

static inline void observe_message(mcapi_status_t status, const void *data, size_t size) {
    observe("status", (long)status);
    observe("size", (long)size);
    observe_data("data", data, size);
}

static inline void observe_one(mcapi_endpoint_t endpoint) {
    unsigned char data[MOST_BYTES];
    mcapi_status_t status;
    size_t size = 0;
    mcapi_msg_recv(endpoint, data, sizeof data, &size, &status);
    must("mcapi_msg_recv", status);
    observe_message(status, data, size);
}

/* A receive that is under way. */
struct receive {
    mcapi_request_t request;
    unsigned char data[MOST_BYTES];
};

static inline void post(mcapi_endpoint_t endpoint, struct receive *receive) {
    mcapi_status_t status;
    mcapi_msg_recv_i(endpoint, receive->data, sizeof receive->data, &receive->request, &status);
    must("mcapi_msg_recv_i", status);
}

static inline void await(struct receive *receive) {
    mcapi_status_t status;
    size_t size = 0;
    mcapi_wait(&receive->request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait", status);
    observe_message(status, receive->data, size);
}

static inline void await_request(mcapi_request_t *request) {
    mcapi_status_t status;
    size_t size = 0;
    mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait", status);
}

/* A program in which all but node 0 send ROUNDS messages to it. */
#define OBSERVED_MAIN(receive)                                                                     \
    static void node_main(int node) {                                                              \
        mcapi_endpoint_t local = begin(node);                                                      \
        if (node == 0)                                                                             \
            receive(local);                                                                        \
        else                                                                                       \
            send_stream(node, local, PORT, ROUNDS);                                                \
        end(local);                                                                                \
    }                                                                                              \
    int main(int argc, char **argv) {                                                              \
        return run_nodes(&argc, argv, node_main, 0, NODES);                                        \
    }

#endif
