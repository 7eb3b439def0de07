/* Several threads of one node: what is numbered.

   Messages are numbered by the library as they are sent, from one endpoint to another; packets and
   scalars are taken as they come. The number of each send, and of each packet or scalar that is
   received, is kept where it is not the next one for its thread. A replay does what has a number
   when its number has come. Nothing is locked while the library is called. The library for threads
   counts them, so that it is known of each thread how many there were when it was cut off. */
#ifndef RF_MCAPI_LINES_H
#define RF_MCAPI_LINES_H

#include <stdint.h>

#include "engine/replay.h"
#include "mcapi/real.h"

struct rf_mcapi_node;

/* A line: what is numbered one after the other. */
enum rf_line {
    RF_LINE_MESSAGES, /* from one endpoint to another: its key is both */
    RF_LINE_SENT,     /* over a channel: the handle of that side */
    RF_LINE_RECEIVED, /* of scalars */
    RF_LINE_PACKETS,  /* the same, but these may be taken before their turn: see packets.h */
    RF_LINES
};

/* Replay: where a thread is in a line. */
struct rf_in_line {
    enum rf_in_line_how {
        RF_IN_NO_LINE,
        RF_IN_LINE_DUE, /* it has, or waits for, the number of the recording */
        RF_IN_LINE_FREE /* it takes what comes next */
    } how;
    enum rf_line line;
    uint64_t key;
    uint32_t number;
};

/* The session of the node is open. */
void rf_lines_open(const struct rf_mcapi_node *node);
/* Before and after a call of the library that is numbered, if threads are told apart: see
   rf_line_begin() and rf_line_end(). */
void rf_line_wait(struct rf_mcapi_node *node, const struct rf_here *here, enum rf_line line,
                  uint64_t key);
void rf_line_went(struct rf_mcapi_node *node, enum rf_line line, uint64_t key,
                  mcapi_status_t status);

#endif
