/* Several threads in one process whose order is kept (record --threads).

   Each node still has one stream. Where several threads may call for a node, what each of them was
   told is a strand of its own in it (engine/strands.h). A message has a name, so which thread got
   it follows from the strands alone. Three things need more:

   - What the library numbers is done in the order of its numbers (lines.h).
   - Endpoints get their place in the node's list when they are made. Making and deleting them takes
     a turn in the order of threads (threads/link.h).
   - A thread that is in a call of MCAPI is not in the program: the library for threads is told. */
#ifndef RF_MCAPI_ORDER_H
#define RF_MCAPI_ORDER_H

#include "engine/handle_map.h"
#include "engine/session.h"
#include "mcapi/lines.h"
#include "mcapi/real.h"
#include "threads/link.h"

struct rf_mcapi_node;

/* The library for threads; NULL: nobody keeps their order. */
extern const struct rf_threads_link *rf_link RF_OURS;

/* What a thread has of its node for itself. */
struct rf_mcapi_thread {
    struct rf_mcapi_thread *next; /* of the node */
    struct rf_handle_map senders; /* a small number for each */
    struct rf_handle_map
        numbers; /* by that and the endpoint: that of the next message from there */
    struct rf_handle_map lines[RF_LINES];
    struct rf_in_line in_line;
};
extern _Thread_local struct rf_mcapi_thread *rf_this_thread RF_OURS
    __attribute__((tls_model("initial-exec")));

/* Around every call where the order is kept, and around mcapi_initialize, which begins with asking
   for that. */
void rf_order_begin(void);
void rf_order_enter(void);
void rf_order_leave(void);
/* The session of the node is open. `shares`: several of its threads can be told apart. */
void rf_order_open(struct rf_mcapi_node *node, bool shares);
/* The first call of a thread that is not the one that has initialized the node. False if it cannot
   be told apart. */
bool rf_order_meet(struct rf_mcapi_node *node);
/* Replay: this process only waits for others, whatever its threads have done. */
void rf_order_let_go(void);

/* Around a call of the library that never blocks. */
void rf_making_begin(struct rf_mcapi_node *node, const struct rf_here *here);
void rf_making_end(struct rf_mcapi_node *node);

#endif
