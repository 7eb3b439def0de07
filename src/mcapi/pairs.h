/* Replay: pairs of endpoints between which messages go. Whoever sends much faster than in the
   recording is kept waiting: the recorded queue was full long before, and what has come too early
   must be held by somebody. */
#ifndef RF_MCAPI_PAIRS_H
#define RF_MCAPI_PAIRS_H

#include "mcapi/hold.h"
#include "mcapi/real.h"
#include "mcapi/turn_stream.h"

struct rf_mcapi_node;

struct rf_pair {
    struct rf_pair *next; /* of the node */
    mcapi_endpoint_t from, to;
    uint32_t sent;               /* messages so far */
    uint32_t slot;               /* where the receiver counts what he took */
    struct rf_turn_stream sends; /* scheme sender: those that were delivered, and their turns */
};

struct rf_pairs {
    uint32_t *taken; /* shared by all nodes, by the hash of the pair's names; NULL: nobody counts */
    struct rf_pair *list;
};

void rf_pairs_open(struct rf_pairs *pairs, const char *run);
void rf_pairs_close(struct rf_pairs *pairs);
struct rf_pair *rf_pair_of(struct rf_mcapi_node *node, mcapi_endpoint_t from, mcapi_endpoint_t to);
/* Before a send: waits while too much is under way, but not for ever. */
void rf_pair_wait(struct rf_mcapi_node *node, const struct rf_pair *pair);
/* The program got a message. */
void rf_pair_took(struct rf_mcapi_node *node, uint32_t channel, const struct rf_message_name *name);

#endif
