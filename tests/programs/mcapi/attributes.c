/* Attributes that show what others do: room in the queue, how often the endpoint was looked up. */
#include "observed.h"

static long attribute(mcapi_endpoint_t endpoint, mcapi_uint_t which) {
    mcapi_status_t status;
    mcapi_uint_t value = 0;
    mcapi_endpoint_get_attribute(endpoint, which, &value, sizeof value, &status);
    must("mcapi_endpoint_get_attribute", status);
    return (long)value;
}

static void receive_all(mcapi_endpoint_t local) {
    for (int i = 0; i < MESSAGES; i++) {
        observe("room", attribute(local, MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS));
        observe("looked up", attribute(local, MCAPI_ENDP_ATTR_GET_COUNT));
        observe("state", attribute(local, MCAPI_ENDP_ATTR_ENDP_STATUS));
        observe_one(local);
    }
    observe("largest", attribute(local, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE));
}

OBSERVED_MAIN(receive_all)
