/* Scheme sender: the total order of deliveries, between the command line and the adapter. The
   command line works it out from all nodes' traces and puts these files into the run directory.

   turns          what all nodes share: whose turn it is, and what has happened to each delivery
   turns-R        for node R: which delivery each of its receives and sends takes part in */
#ifndef RF_ENGINE_TURNS_H
#define RF_ENGINE_TURNS_H

#include <stdint.h>

#define RF_NO_TURN UINT32_MAX

/* What has happened to a delivery. */
enum rf_turn_state {
    RF_TURN_SENT = 1,
    RF_TURN_POSTED = 2,
    RF_TURN_CLAIMED = 4, /* its receiver is in the call that takes it, and will pass the turn on */
    RF_TURN_PASSED = 8,
    RF_TURN_ASLEEP = 16, /* its receiver may sleep; the word is a futex */
};
#define RF_TURN_BITS 5 /* above them: the thread that has claimed it */

struct rf_turns {
    uint32_t count; /* deliveries */
    uint32_t next;  /* the one whose turn it is */
    uint32_t zero[2];
    uint32_t states[]; /* of each: enum rf_turn_state, and who has claimed it */
};

/* What one node sends from that port to there: the sends from `first` on. */
struct rf_turn_pair {
    uint32_t port, domain, node, to_port;
    uint32_t first, count;
};

/* A message that was delivered: the `sequence`-th of its pair. */
struct rf_turn_send {
    uint32_t sequence, turn;
};

struct rf_turns_of_node {
    uint32_t pairs, posts, receives, sends;
    /* struct rf_turn_pair of each pair, ordered as its fields are; uint32_t of each post, uint32_t
       of each blocking receive, struct rf_turn_send of each send that was delivered, pair by pair,
       in the order of sending */
};

#endif
