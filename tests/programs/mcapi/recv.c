/* Blocking receives: any sender can be the next. */
#include "observed.h"

static void receive_all(mcapi_endpoint_t local) {
    for (int i = 0; i < MESSAGES; i++)
        observe_one(local);
}

OBSERVED_MAIN(receive_all)
