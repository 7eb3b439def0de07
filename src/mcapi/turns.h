/* Scheme sender, replay: deliveries happen in the one order in which they happened in the
   recording.

   A delivery is through when its message was sent and its receive posted, and all before it are
   through. So nobody waits for a later call of his own, and what was in flight at the same time may
   be again. A receiver that waits for a delivery when its turn comes takes it, and passes the turn
   on with its next call: what the program does in between is in that order, too. */
#ifndef RF_MCAPI_TURNS_H
#define RF_MCAPI_TURNS_H

#include "engine/replay.h"
#include "engine/turns.h"
#include "mcapi/pairs.h"
#include "mcapi/real.h"
#include "mcapi/turn_stream.h"

struct rf_mcapi_node;

struct rf_turn_list {
    struct rf_turns *shared; /* NULL: another scheme */
    int file;                /* of this node */
    struct rf_turn_pair *pairs;
    uint32_t pair_count;
    uint64_t sends;                        /* where in the file */
    struct rf_turn_stream posts, receives; /* the turns of those to come */
    uint32_t held;                         /* a turn that is to be passed on, or RF_NO_TURN */
};

bool rf_turns_open(struct rf_mcapi_node *node, const char *run, struct rf_error *error);
void rf_turns_close(struct rf_mcapi_node *node);

/* The turn of the next post or blocking receive, which is made now. */
uint32_t rf_turn_post(struct rf_mcapi_node *node);
uint32_t rf_turn_receive(struct rf_mcapi_node *node);
/* Returns when it is its turn, which is then held, or was before. */
void rf_turn_take(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t turn);
/* Where the sends of a pair of that name begin and end. */
void rf_turn_find(const struct rf_turn_list *list, struct rf_pair *pair, mcapi_port_t port,
                  mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t to_port);
/* One more message was sent. */
void rf_turn_sent(struct rf_mcapi_node *node, struct rf_pair *pair);
/* At every call: the turn that the last one took is passed on. */
void rf_turn_pass(struct rf_mcapi_node *node);

#endif
