/* Event streams like those that real programs make, for the tests of the trace layer. */
#ifndef RF_TESTS_TRACE_STREAMS_H
#define RF_TESTS_TRACE_STREAMS_H

#include <stddef.h>

#include "trace/recorder.h"

struct stream_state {
    uint64_t random;
    uint64_t step;
    struct rf_post posts[8];
};

struct stream {
    const char *name;
    /* Appends one round of the pattern; returns the number of messages received in it. */
    unsigned (*round)(struct rf_recorder *recorder, struct stream_state *state);
};

extern const struct stream streams[];
extern const size_t stream_count;

uint32_t stream_random(struct stream_state *state, uint32_t below);
/* A node's facts, and a recorder with a few sites. */
void stream_node(struct rf_node *node);
void stream_sites(struct rf_recorder *recorder, unsigned count);

#endif
