/* Receives are posted in one order and waited for in another, with a limit of time and without one;
   blocking ones come in between. */
#include "observed.h"

static void await_for_long(struct receive *receive) {
    mcapi_status_t status;
    size_t size = 0;
    mcapi_wait(&receive->request, &size, 600000, &status);
    must("mcapi_wait", status);
    observe_message(status, receive->data, size);
}

static void receive_all(mcapi_endpoint_t local) {
    static _Thread_local struct receive receives[MESSAGES];
    for (int i = 0; i < MESSAGES / 2; i++)
        post(local, &receives[i]);
    for (int i = MESSAGES / 2; i < MESSAGES; i++)
        observe_one(local);
    for (int i = MESSAGES / 2; i-- > MESSAGES / 4;)
        await(&receives[i]);
    for (int i = 0; i < MESSAGES / 4; i++)
        if (i % 2)
            await(&receives[i]);
        else
            await_for_long(&receives[i + 2 < MESSAGES / 4 ? i + 2 : 0]);
}

OBSERVED_MAIN(receive_all)
