/* What a recording remembers of requests: receives whose match is not known yet, and endpoints that
   are looked for. */
#ifndef RF_MCAPI_POSTED_H
#define RF_MCAPI_POSTED_H

#include "mcapi/adapter.h"

/* A receive was posted. */
void rf_record_post(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_request_t request,
                    uint32_t channel, const void *buffer);
/* The same for a packet. */
void rf_record_packet(struct rf_mcapi_node *node, mcapi_request_t request, void *const *packet,
                      uint64_t channel);
/* A request brings an endpoint, of which the program has been `told` or not. */
void rf_record_filled(struct rf_mcapi_node *node, mcapi_request_t request,
                      const mcapi_endpoint_t *found, int32_t sign, bool told);
/* The library does not know the request any more. */
void rf_posted_forget(struct rf_mcapi_node *node, mcapi_request_t request);

/* What the library has reported complete. */
struct rf_completion {
    mcapi_request_t request;
    size_t size;
    bool cut, released; /* it will not know it any more */
    bool found;         /* an endpoint, for the first time */
    uint64_t handle;    /* of the channel of a packet whose number was not known before, or 0 */
    bool named;         /* the match was not known before; it is: */
    struct rf_message_name name;
    uint32_t channel, back; /* how many posts ago it was posted */
    uint32_t place;         /* among those posted, or RF_NOWHERE */
};

/* Fills in the match, and keeps the data. */
void rf_record_match(struct rf_mcapi_node *node, const struct rf_here *here,
                     struct rf_completion *completion);
/* After the event of the call that has told it. */
RF_STEP void rf_record_details(struct rf_mcapi_node *node, const struct rf_here *here,
                               const struct rf_completion *completion) {
    if (completion->named)
        rf_record_stamp(node, here, &completion->name, completion->back);
    if (__builtin_expect(completion->found, 0))
        rf_life(node, here);
    if (completion->handle && rf_reals.origin)
        rf_record_packet_number(node, here, completion->handle, completion->name.sequence);
}

/* An endpoint is deleted, or a channel closed. Receives that have taken something still have it:
   tells what it was, now that it is certain. */
void rf_record_taken(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel);
void rf_record_taken_packets(struct rf_mcapi_node *node, const struct rf_here *here,
                             uint64_t channel);

/* Receives that this thread has posted at an endpoint, or on the channel with that handle. */
struct rf_place {
    uint32_t endpoint;
    uint64_t handle; /* 0: an endpoint */
};

#endif
