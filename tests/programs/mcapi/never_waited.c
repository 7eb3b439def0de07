/* Receives that nobody ever asks about take messages all the same: the later ones see what is left.
 */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    static _Thread_local struct receive receives[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        post(local, &receives[i]);
    for (int i = 0; i < MESSAGES; i++)
        if (i % 3 == 0)
            await(&receives[i]);
    await(&receives[MESSAGES - 1]);
}

OBSERVED_MAIN(receive_all)
