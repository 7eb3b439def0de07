/* Looks again and again; a receive that is complete can be looked at once more. Sometimes it is
   given up and waited for. */
#include "observed.h"

enum { PATIENCE = 50 };

static int look(struct receive *receive, size_t *size) {
    mcapi_status_t status;
    mcapi_boolean_t done = mcapi_test(&receive->request, size, &status);
    if (!done && status != MCAPI_PENDING)
        must("mcapi_test", status);
    return done;
}

static void receive_all(mcapi_endpoint_t local) {
    struct receive receives[2];
    for (int i = 0; i < MESSAGES; i += 2) {
        size_t size = 0;
        int failures = 0;
        post(local, &receives[0]);
        post(local, &receives[1]);
        while (failures < PATIENCE && !look(&receives[0], &size)) {
            failures++;
            sched_yield();
        }
        observe("failures", failures);
        if (failures < PATIENCE)
            observe("once more", look(&receives[0], &size));
        observe("second", look(&receives[1], &size));
        await(&receives[0]);
        await(&receives[1]);
    }
}

OBSERVED_MAIN(receive_all)
