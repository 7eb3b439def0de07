/* What one debugging session of a rank needs, and the session itself. */
#ifndef RF_CLI_DEBUG_H
#define RF_CLI_DEBUG_H

#include "rerun.h"

/* FILE:LINE or FILE:LINE:K */
struct rf_place {
    char *where;
    uint64_t times;
};

struct rf_debug {
    struct rf_rerun rerun;
    const struct rf_options *options;
    struct rf_place place;
    char *gdb, *script, *adapter; /* the debugger itself, our commands for it, and the adapter */
};

/* Does the rank have the event that --event names? */
bool rf_debug_has_event(const struct rf_debug *debug, int rank, struct rf_error *error);
/* Must the rank be extracted, or extracted anew, before it can be looked at as asked? */
bool rf_debug_must_extract(const struct rf_debug *debug, int rank);
/* Extracts the marked ranks in one replay of the job; returns the exit code. With `some`, ranks
   that leave nothing do not keep the others from being extracted. */
int rf_debug_extract(struct rf_debug *debug, const bool *marked, bool some);
/* Runs gdb with an extracted rank; returns the exit code. */
int rf_debug_rank(struct rf_debug *debug, int rank);

/* Every rank, each under a gdb of its own; returns the exit code. */
int rf_debug_all(struct rf_debug *debug);

#endif
