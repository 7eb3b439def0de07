/* Node 1 ends badly after some messages, and with it the program: crash [--processes] HOW [AFTER].
   The others wait for ever for what it does not send. */
#include "observed.h"

#undef NDEBUG /* the assertion is what it is about */
#include <assert.h>

static const char *how = "abort";
static int after = 10;

static void end_badly(void) {
    volatile int zero = 0, *volatile nowhere = NULL;
    if (strcmp(how, "segfault") == 0)
        *nowhere = 1;
    else if (strcmp(how, "assert") == 0)
        assert(zero);
    else if (strcmp(how, "exit") == 0)
        exit(3);
    else
        abort();
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 1) {
        /* All of them are in the recording. */
        for (int other = 0; other < NODES; other++)
            endpoint_of(other, PORT);
        for (int i = 0; i < after; i++)
            observe_one(local);
        observe_close();
        end_badly();
    }
    mcapi_endpoint_t to = endpoint_of(1, PORT);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char data[MOST_BYTES];
        mcapi_status_t status;
        size_t size = fill(data, node, i);
        dawdle();
        /* That there is nobody any more is not the failure that this is about. */
        mcapi_msg_send(local, to, data, size, MCAPI_MAX_PRIORITY, &status);
    }
    observe_one(local);
}

int main(int argc, char **argv) {
    int apart = nodes_option(&argc, argv, "--processes");
    if (argc > 1)
        how = argv[1];
    if (argc > 2)
        after = atoi(argv[2]);
    return apart ? nodes_as_processes(node_main, 0, NODES) : nodes_as_threads(node_main, 0, NODES);
}
