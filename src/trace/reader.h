/* Reading a node's trace: chunks of the trace file, then what a killed run left in the log. */
#ifndef RF_TRACE_READER_H
#define RF_TRACE_READER_H

#include <stddef.h>

#include "error.h"
#include "event.h"

struct rf_reader;

/* How the stream ends, known once rf_reader_next() returned RF_READ_END. */
struct rf_ending {
    enum rf_end how; /* RF_END_NONE: killed or crashed; everything before it is in the stream */
    int32_t code;    /* what it aborted or exited with; RF_END_NONE: see there */
    struct rf_in_flight in_flight; /* only for RF_END_NONE */
    bool incomplete;               /* recording stopped before the program did (disk full …) */
    char reason[128];              /* why it is incomplete */
};

enum rf_read { RF_READ_EVENT, RF_READ_END, RF_READ_DAMAGED };

/* Opens DIR/rank-R.*; fails with RF_EXIT_TRACE when there is nothing readable at all. Matches that
   were learnt late are already put where they belong: posts come with their match. Memory stays
   bounded: one chunk is decoded at a time. */
struct rf_reader *rf_reader_open(const char *directory, int rank, struct rf_error *error);
void rf_reader_close(struct rf_reader *reader);

/* The next event. RF_READ_DAMAGED: what follows is unreadable; `error` names file and place.
   RF_LATE events are delivered too (for dump); replay skips them. */
enum rf_read rf_reader_next(struct rf_reader *reader, struct rf_event *event,
                            struct rf_error *error);

/* Of a rank that was killed as its recording began only the rank is known, and there are no events.
 */
const struct rf_node *rf_reader_node(const struct rf_reader *reader);
const struct rf_ending *rf_reader_ending(const struct rf_reader *reader);
/* Sites and modules. Number 0 is "elsewhere". NULL when out of range. All sites are known right
   after opening. */
const struct rf_site *rf_reader_site(const struct rf_reader *reader, uint32_t number);
size_t rf_reader_site_count(const struct rf_reader *reader);
const struct rf_module *rf_reader_module(const struct rf_reader *reader, uint32_t number);
/* The i-th function whose outcome was not recorded, or NULL. */
const char *rf_reader_unsupported(const struct rf_reader *reader, size_t i);
/* How many posts have no match on file (including late ones: those count as known). */
uint64_t rf_reader_unmatched(const struct rf_reader *reader);
/* Bytes on disk for this node (coded chunks, and log if any). */
uint64_t rf_reader_bytes(const struct rf_reader *reader);

/* The ranks a directory holds files of, ascending; free() the array. */
bool rf_trace_ranks(const char *directory, int **ranks, size_t *count, struct rf_error *error);
/* Is there a file of this rank, even one that was only begun? */
bool rf_trace_has_rank(const char *directory, int rank);

#endif
