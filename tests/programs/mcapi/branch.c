/* Four nodes, node 0 receives. PROGRAM_BRANCH, or an argument, makes the program take another way
   than in the recording: more, less   one message more or less from node 1 size         a message
   of node 1 has another length function     node 0 waits for a message that it received before
     count        node 0 waits for another number of requests
     room         node 0 has a buffer of another length
     endless      node 0 receives once more, though nobody sends */
#include "observed.h"

static const char *branch = "";

static int is(const char *name) {
    return strcmp(branch, name) == 0;
}

static void receive_any(mcapi_endpoint_t local) {
    struct receive receives[SENDERS];
    mcapi_request_t *requests[SENDERS];
    mcapi_status_t status;
    size_t size = 0;
    for (int i = 0; i < SENDERS; i++) {
        post(local, &receives[i]);
        requests[i] = &receives[i].request;
    }
    size_t count = is("count") ? SENDERS - 1 : SENDERS;
    mcapi_uint_t index = mcapi_wait_any(count, requests, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait_any", status);
    observe("index", (long)index);
    observe_message(status, receives[index].data, size);
    for (mcapi_uint_t i = 0; i < SENDERS; i++)
        if (i != index)
            await(&receives[i]);
}

static void receive_all(mcapi_endpoint_t local) {
    struct receive receive;
    unsigned char data[MOST_BYTES / 2];
    mcapi_status_t status;
    size_t size = 0;
    receive_any(local);
    int left = MESSAGES - SENDERS + is("more") - is("less") + is("endless");
    for (int i = 0; i < left; i++) {
        if (i == 5 && is("function")) {
            post(local, &receive);
            await(&receive);
        } else if (i == 5 && is("room")) {
            mcapi_msg_recv(local, data, sizeof data, &size, &status);
            observe_message(status, data, size);
        } else {
            observe_one(local);
        }
    }
}

static void send_all(mcapi_endpoint_t local, int node) {
    mcapi_endpoint_t to = endpoint_of(0, PORT);
    int count = ROUNDS + (node == 1) * (is("more") - is("less"));
    for (int i = 0; i < count; i++) {
        dawdle();
        send_one(local, to, node, i == 4 && node == 1 && is("size") ? i + 1 : i,
                 MCAPI_MAX_PRIORITY);
    }
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0)
        receive_all(local);
    else
        send_all(local, node);
    end(local);
}

int main(int argc, char **argv) {
    int apart = nodes_option(&argc, argv, "--processes");
    const char *chosen = argc > 1 ? argv[1] : getenv("PROGRAM_BRANCH");
    branch = chosen ? chosen : "";
    return apart ? nodes_as_processes(node_main, 0, NODES) : nodes_as_threads(node_main, 0, NODES);
}
