/* What is said when a replay differs from its recording, or no longer gets on. */
#ifndef RF_CLI_REPORT_H
#define RF_CLI_REPORT_H

#include <jansson.h>

#include "races.h"
#include "summary.h"
#include "supervise.h"

enum { RF_NOT_ALONE = -1 };

struct rf_replayed {
    const char *trace; /* as the user would type it */
    const char *directory;
    const json_t *manifest;
    const struct rf_summary *summary;
    char *const *command; /* what was run */
    const struct rf_supervision *supervision;
    const struct rf_races *races; /* that were looked for; NULL: they were not */
    int alone;                    /* the one rank that was run, or RF_NOT_ALONE */
    bool extracts;                /* of a good replay the caller tells, in JSON as well */
};

void rf_hint_info(const struct rf_replayed *replayed);
void rf_report_divergence(const struct rf_replayed *replayed);
/* The same as facts, added to the object. */
void rf_divergence_json(const struct rf_replayed *replayed, json_t *object);
void rf_report_stall(const struct rf_replayed *replayed);
/* Has a rank played all there is of a recording that was cut off? */
bool rf_at_cut(const struct rf_summary *summary, const struct rf_progress *rank);
/* A rank did not reach its recorded end, though nothing differed before. */
void rf_report_lost_rank(const struct rf_replayed *replayed, const struct rf_progress *rank);

#endif
