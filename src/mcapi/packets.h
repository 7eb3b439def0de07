/* Packets of a channel come in the order in which they were sent. Several receives may be posted,
   and one that is cancelled gives back what it took: so they need not be told in that order. The
   number of each is kept where it is not the next one. A replay takes packets from the library as
   they come, and gives the program those that it had. */
#ifndef RF_MCAPI_PACKETS_H
#define RF_MCAPI_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/handle_map.h"
#include "engine/replay.h"
#include "mcapi/real.h"

struct rf_mcapi_node;

/* Replay: one that nobody has asked for yet. */
struct rf_packet {
    struct rf_packet *next;
    uint64_t channel;
    uint32_t number;
    void *data;
    size_t size;
};

struct rf_packets {
    struct rf_handle_map next; /* by channel: the number of the one that is told next, usually */
    struct rf_handle_map come; /* replay: how many have, if the library does not number them */
    struct rf_packet *first;   /* replay */
    struct rf_handle_map open; /* replay: channels that packets may come over */
    struct rf_handle_map
        pulling; /* replay, by channel: a thread asks the library for the next one */
};

/* Record: the program has been told of this one. */
void rf_record_packet_number(struct rf_mcapi_node *node, const struct rf_here *here,
                             uint64_t channel, uint32_t number);
/* Replay: which one that was. */
uint32_t rf_packet_number(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t channel);
/* Replay: gets it; any if `number` is NULL, and then false if there is none in that time. */
bool rf_packet_get(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t channel,
                   const uint32_t *number, mcapi_timeout_t timeout, void **data, size_t *size,
                   mcapi_status_t *status);
/* Replay: packets may come over this channel. In the recording the receives that were posted took
   them: so that many are taken in, wherever this node waits for something, and nobody finds a queue
   full who did not. But not more: a fast sender would take the buffers of all others. True if there
   were some. */
void rf_packets_expect(struct rf_mcapi_node *node, uint64_t channel);
uint32_t rf_packets_count(struct rf_mcapi_node *node, uint64_t channel);
bool rf_packets_hold(struct rf_mcapi_node *node);
/* Replay: the channel is closed. */
void rf_packets_drop(struct rf_mcapi_node *node, uint64_t channel);

#endif
