/* Wait-any over receives on several endpoints, some of which time out. */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    struct receive receives[SENDERS];
    mcapi_endpoint_t endpoints[SENDERS] = {local, own_endpoint(PORT + 1), own_endpoint(PORT + 2)};
    mcapi_request_t *requests[SENDERS];
    mcapi_status_t status;
    size_t size;
    int left = MESSAGES, posted[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        post(endpoints[i], &receives[i]);
        requests[i] = &receives[i].request;
        posted[i] = ROUNDS - 1;
    }
    size_t count = SENDERS;
    int places[SENDERS] = {0, 1, 2};
    while (left > 0) {
        mcapi_timeout_t timeout = left % 3 ? MCAPI_TIMEOUT_INFINITE : 1;
        mcapi_uint_t index = mcapi_wait_any(count, requests, &size, timeout, &status);
        observe("index", (long)index);
        if (status == MCAPI_TIMEOUT)
            continue;
        must("mcapi_wait_any", status);
        int place = places[index];
        observe_message(status, receives[place].data, size);
        left--;
        if (posted[place]-- > 0) {
            post(endpoints[place], &receives[place]);
        } else {
            count--;
            requests[index] = requests[count];
            places[index] = places[count];
        }
    }
    for (int i = 1; i < SENDERS; i++)
        mcapi_endpoint_delete(endpoints[i], &status);
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0)
        receive_all(local);
    else
        send_stream(node, local, PORT + node - 1, ROUNDS);
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
