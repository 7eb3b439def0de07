/* Receives that are cancelled at a moment at which they may be complete: what came is not lost. */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    struct receive receive;
    mcapi_status_t status;
    size_t size = 0;
    for (int left = MESSAGES; left > 0;) {
        post(local, &receive);
        dawdle();
        /* Half of them are looked at before. */
        if (left % 2 && mcapi_test(&receive.request, &size, &status)) {
            observe_message(status, receive.data, size);
            left--;
            continue;
        }
        mcapi_cancel(&receive.request, &status);
        observe("cancel", (long)status);
        mcapi_wait(&receive.request, &size, MCAPI_TIMEOUT_INFINITE, &status);
        observe("wait", (long)status);
        if (status == MCAPI_SUCCESS) {
            observe_message(status, receive.data, size);
            left--;
        } else {
            observe_one(local);
            left--;
        }
    }
}

OBSERVED_MAIN(receive_all)
