/* Several threads in each node. */
#ifndef THREADS_H
#define THREADS_H

#include <mcapix.h>

#include "observed.h"

enum { THREADS = 2 };

struct thread_start {
    void (*program)(int node, int thread, mcapi_endpoint_t endpoint);
    int node, thread;
    mcapi_endpoint_t endpoint;
};

/* What a thread sees is a result of its own: "node 112" is thread 2 of node 1. */
static inline void *thread_main(void *argument) {
    const struct thread_start *begin = argument;
    if (!mcapix_node_join(DOMAIN, (mcapi_node_t)begin->node))
        abort();
    observe_open(100 + begin->node * 10 + begin->thread);
    begin->program(begin->node, begin->thread, begin->endpoint);
    observe_close();
    return NULL;
}

static inline void run_threads(void (*program)(int, int, mcapi_endpoint_t), int node,
                               mcapi_endpoint_t endpoint) {
    struct thread_start begin[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        begin[i] = (struct thread_start){program, node, i + 1, endpoint};
        if (pthread_create(&threads[i], NULL, thread_main, &begin[i]))
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

#endif
