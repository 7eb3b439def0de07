#include "mcapi/hold.h"

#include <stdlib.h>
#include <string.h>

#include "mcapi/adapter.h"

enum { LARGEST_UNKNOWN = 1 << 20 }; /* where the library does not tell its largest message */

static bool same(struct rf_message_name one, const struct rf_message_name *other) {
    return one.first == other->first && one.second == other->second &&
           one.sequence == other->sequence;
}

struct rf_message *rf_hold_take(struct rf_hold *hold, const struct rf_message_name *name) {
    for (struct rf_message **place = &hold->first; *place; place = &(*place)->next) {
        struct rf_message *message = *place;
        if (name && !same(message->name, name))
            continue;
        *place = message->next;
        if (hold->last == &message->next)
            hold->last = place;
        return message;
    }
    return NULL;
}

static void keep(struct rf_hold *hold, size_t size) {
    struct rf_message *message = rf_room(NULL, sizeof *message + size);
    message->next = NULL;
    message->name = rf_delivered(hold->buffer, size);
    message->size = size;
    memcpy(message->data, hold->buffer, size);
    if (!hold->first)
        hold->last = &hold->first;
    *hold->last = message;
    hold->last = &message->next;
}

static void make_room(struct rf_hold *hold, mcapi_endpoint_t endpoint) {
    mcapi_endp_attr_max_payload_size_t largest = 0;
    mcapi_status_t status;
    if (hold->buffer)
        return;
    rf_reals.endpoint_get_attribute(endpoint, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, &largest,
                                    sizeof largest, &status);
    hold->room = status == MCAPI_SUCCESS && largest > 0 ? (size_t)largest : LARGEST_UNKNOWN;
    hold->buffer = rf_room(NULL, hold->room);
}

bool rf_hold_pull(struct rf_hold *hold, mcapi_endpoint_t endpoint, mcapi_timeout_t timeout,
                  mcapi_status_t *status) {
    size_t size = 0;
    make_room(hold, endpoint);
    if (!hold->asked) {
        rf_reals.msg_recv_i(endpoint, hold->buffer, hold->room, &hold->request, status);
        if (rf_is_failure(*status))
            return false;
        hold->asked = true;
    }
    rf_reals.wait(&hold->request, &size, timeout, status);
    if (*status == MCAPI_TIMEOUT)
        return false;
    hold->asked = false;
    if (*status != MCAPI_SUCCESS)
        return false;
    keep(hold, size);
    return true;
}

void rf_hold_close(struct rf_hold *hold) {
    mcapi_status_t status;
    if (hold->asked)
        rf_reals.cancel(&hold->request, &status);
    struct rf_message *message;
    while ((message = rf_hold_take(hold, NULL)))
        free(message);
    free(hold->buffer);
    *hold = (struct rf_hold){0};
}
