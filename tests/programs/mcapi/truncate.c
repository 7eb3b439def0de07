/* Buffers that are too small for some messages: which receive is cut short depends on the order. */
#include "observed.h"

enum { SMALL = 24 };

static void receive_all(mcapi_endpoint_t local) {
    unsigned char data[MOST_BYTES];
    mcapi_request_t request;
    mcapi_status_t status;
    for (int i = 0; i < MESSAGES; i++) {
        size_t size = 0;
        if (i % 2) {
            mcapi_msg_recv(local, data, SMALL, &size, &status);
        } else {
            mcapi_msg_recv_i(local, data, SMALL, &request, &status);
            must("mcapi_msg_recv_i", status);
            mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status);
        }
        if (status != MCAPI_ERR_MSG_TRUNCATED)
            must("receive", status);
        observe_message(status, data, size);
    }
}

OBSERVED_MAIN(receive_all)
