/* Receives are posted in one order and waited for in another; blocking ones come in between. */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    static _Thread_local struct receive receives[MESSAGES];
    for (int i = 0; i < MESSAGES / 2; i++)
        post(local, &receives[i]);
    for (int i = MESSAGES / 2; i < MESSAGES; i++)
        observe_one(local);
    for (int i = MESSAGES / 2; i-- > 0;)
        await(&receives[i]);
}

OBSERVED_MAIN(receive_all)
