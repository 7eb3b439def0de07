/* Watching a replay: the ranks show how far they are, we notice when one differs or none gets on.
 */
#ifndef RF_CLI_SUPERVISE_H
#define RF_CLI_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/progress.h"
#include "summary.h"

enum rf_outcome {
    RF_OUTCOME_ENDED,    /* the command ended by itself and no rank differed */
    RF_OUTCOME_DIVERGED, /* a rank differs; everything was stopped */
    RF_OUTCOME_STALLED,  /* nobody got on for too long; everything was stopped */
};

struct rf_supervision {
    const char *run;                  /* the directory of progress files */
    const struct rf_summary *summary; /* of what is replayed */
    double stall_timeout;             /* seconds; 0: wait for ever */
    bool quiet;                       /* a replay that goes on is not talked about */
    enum rf_outcome outcome;
    int status;                /* as wait() has it */
    struct rf_progress *ranks; /* last known state of every rank that attached, by rank */
    size_t count;
    int first_diverged; /* index into `ranks` */
};

void rf_supervise(struct rf_supervision *supervision, pid_t child);
/* What the ranks of a run have shown last, when somebody else watched them; the status is left. */
void rf_supervision_look(struct rf_supervision *supervision);
void rf_supervision_free(struct rf_supervision *supervision);

#endif
