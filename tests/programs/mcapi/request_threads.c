/* Threads of a node complete requests that others have posted, with test and wait-any, and make
   endpoints of their own. */
#include "threads.h"

enum { POSTED = 2 * SENDERS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct receive receives[POSTED];
static int next_receive, left;

static void take_one(struct receive *receive) {
    mcapi_status_t status;
    size_t size = 0;
    int failures = 0;
    while (!mcapi_test(&receive->request, &size, &status)) {
        if (failures++ < 200)
            sched_yield();
        else
            dawdle();
    }
    must("mcapi_test", status);
    observe_message(status, receive->data, size);
    mcapi_wait(&receive->request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait", status);
}

/* Another thread may have the first of those that are left. */
static struct receive *claim(void) {
    pthread_mutex_lock(&lock);
    struct receive *one = left > 0 ? &receives[next_receive++ % POSTED] : NULL;
    left--;
    pthread_mutex_unlock(&lock);
    return one;
}

static void complete(int node, int thread, mcapi_endpoint_t endpoint) {
    (void)node;
    struct receive *one, own;
    mcapi_status_t status;
    size_t size;
    mcapi_endpoint_t second = own_endpoint(PORT + thread);
    post(second, &own);
    while ((one = claim())) {
        if ((one - receives) % 2) {
            take_one(one);
            dawdle();
            continue;
        }
        mcapi_request_t *both[2] = {&one->request, &own.request};
        mcapi_uint_t index;
        do
            index = mcapi_wait_any(2, both, &size, 1, &status);
        while (status == MCAPI_TIMEOUT);
        must("mcapi_wait_any", status);
        observe("index", (long)index);
        observe_message(status, index ? own.data : one->data, size);
        if (index) {
            post(second, &own);
            await(one);
        }
    }
    mcapi_cancel(&own.request, &status);
    observe("cancelled", (long)status);
    (void)endpoint;
}

static void send_both(int node, mcapi_endpoint_t local) {
    mcapi_endpoint_t to = endpoint_of(0, PORT);
    mcapi_endpoint_t second = endpoint_of(0, PORT + 1 + node % THREADS);
    for (int i = 0; i < POSTED / SENDERS; i++) {
        dawdle();
        if (i % 2)
            send_one(local, second, node, ROUNDS + i, MCAPI_MAX_PRIORITY);
        send_one(local, to, node, i, MCAPI_MAX_PRIORITY);
    }
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0) {
        for (int i = 0; i < POSTED; i++)
            post(local, &receives[i]);
        left = POSTED;
        run_threads(complete, node, local);
    } else {
        send_both(node, local);
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
