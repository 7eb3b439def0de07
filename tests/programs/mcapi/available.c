/* Asks how many messages are there, and takes as many. */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    mcapi_status_t status;
    int left = MESSAGES;
    while (left > 0) {
        mcapi_uint_t count = mcapi_msg_available(local, &status);
        must("mcapi_msg_available", status);
        observe("available", (long)count);
        for (mcapi_uint_t i = 0; i < count; i++)
            observe_one(local);
        left -= (int)count;
        if (!count)
            sched_yield();
    }
}

OBSERVED_MAIN(receive_all)
