/* Waits that give up: at once, or after a millisecond. The receive stays posted. */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    struct receive receive;
    for (int i = 0; i < MESSAGES; i++) {
        mcapi_status_t status;
        size_t size = 0;
        int timeouts = 0;
        post(local, &receive);
        while (!mcapi_wait(&receive.request, &size, i % 2 ? 1 : MCAPI_TIMEOUT_IMMEDIATE, &status)) {
            if (status != MCAPI_TIMEOUT)
                must("mcapi_wait", status);
            timeouts++;
            sched_yield();
        }
        observe("timeouts", timeouts);
        observe_message(status, receive.data, size);
    }
}

OBSERVED_MAIN(receive_all)
