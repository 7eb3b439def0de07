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
#include "mcapi/real.h"

struct rf_mcapi_node;

struct rf_turn_list {
    struct rf_turns *shared; /* NULL: another scheme */
    const uint32_t *posts, *receives;
    const struct rf_turn_send *sends;
    uint32_t post_count, receive_count, send_count;
    uint32_t posted, received; /* so far */
    struct rf_turn_cursor *cursors;
    uint32_t cursor_count;
    uint32_t held; /* a turn that is to be passed on, or RF_NO_TURN */
};

bool rf_turns_open(struct rf_mcapi_node *node, const char *run, struct rf_error *error);
void rf_turns_close(struct rf_mcapi_node *node);

/* The turn of the next post or blocking receive, which is made now. */
uint32_t rf_turn_post(struct rf_mcapi_node *node);
uint32_t rf_turn_receive(struct rf_mcapi_node *node);
/* Returns when it is its turn, which is then held, or was before. */
void rf_turn_take(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t turn);
/* The next message between these was sent. */
void rf_turn_sent(struct rf_mcapi_node *node, mcapi_endpoint_t from, mcapi_endpoint_t to);
/* At every call: the turn that the last one took is passed on. */
void rf_turn_pass(struct rf_mcapi_node *node);

#endif
