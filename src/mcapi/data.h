/* Scheme data: besides the order, what a node received is kept. In a replay it gets that again, and
   the library is asked for nothing: other nodes need not run. */
#ifndef RF_MCAPI_DATA_H
#define RF_MCAPI_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/replay.h"
#include "mcapi/real.h"

struct rf_mcapi_node;

/* Where the data of a node goes or comes from; all zero where it does neither. */
struct rf_data {
    struct rf_contents_writer *writer;
    struct rf_contents_reader *reader;
    uint64_t handles; /* of channels, so far */
    uint8_t *room;    /* record: for a message and its length; grows with the largest */
    size_t room_size;
};

bool rf_data_open(struct rf_mcapi_node *node, const char *trace, bool record,
                  struct rf_error *error);
void rf_data_close(struct rf_mcapi_node *node);

/* Replay: does the node get what was kept? */
bool rf_answering(const struct rf_mcapi_node *node);

/* Record: what the program got; `cut`: the message was longer. Does nothing if nothing is kept. */
void rf_keep(struct rf_mcapi_node *node, const void *data, size_t size, bool cut);
/* Replay: the same back. The node ends here when there is no more. */
size_t rf_answer(struct rf_mcapi_node *node, const struct rf_here *here, void *data, size_t room,
                 bool *cut);
/* The size of what a request was about, without data. */
void rf_keep_size(struct rf_mcapi_node *node, size_t size);
size_t rf_answer_size(struct rf_mcapi_node *node, const struct rf_here *here);
/* Both, for something of fixed size. */
void rf_through(struct rf_mcapi_node *node, const struct rf_here *here, void *data, size_t size);
/* Replay: a packet, in memory of its own. */
void *rf_answer_packet(struct rf_mcapi_node *node, const struct rf_here *here, size_t *size);

/* Replay: the end of a recording that was cut off. */
_Noreturn void rf_end_here(struct rf_mcapi_node *node, const struct rf_here *here);

#endif
