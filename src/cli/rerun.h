/* Running a recorded job again, or one rank of it alone: what replay, extract and debug share. */
#ifndef RF_CLI_RERUN_H
#define RF_CLI_RERUN_H

#include "launch.h"
#include "options.h"
#include "verdict.h"

struct rf_rerun {
    char *directory; /* of the trace, absolute */
    char *shown;     /* as the user would type it */
    char *named;     /* what a hint must have after it to mean this trace: empty for the latest */
    json_t *manifest;
    char **recorded; /* the command */
    struct rf_summary summary;
    struct rf_supervision supervision;
    struct rf_races races;
    struct rf_replayed replayed;
};

/* Finds the trace and reads it. */
bool rf_rerun_open(struct rf_rerun *rerun, const struct rf_options *options,
                   struct rf_error *error);
/* After a failed opening as well. */
void rf_rerun_close(struct rf_rerun *rerun);

/* Can its ranks be run alone? */
bool rf_rerun_extractable(const struct rf_rerun *rerun, const char *verb, struct rf_error *error);
/* The one rank that --rank names, which must be usable. */
bool rf_rerun_rank(const struct rf_rerun *rerun, const struct rf_options *options, const char *verb,
                   int *rank, struct rf_error *error);

/* Can the rank be read, and was it extracted? */
bool rf_rerun_usable(const struct rf_rerun *rerun, int rank, struct rf_error *error);
bool rf_rerun_extracted(const struct rf_rerun *rerun, int rank, struct rf_error *error);

/* Runs the whole job, in the recorded directory and environment: this process changes into them.
   Everything that can be wrong is found before anything is run. `keep`: the ranks that keep their
   contents, or NULL. Returns the exit code. */
int rf_rerun_job(struct rf_rerun *rerun, const struct rf_options *options, const char *keep,
                 enum rf_verdict *verdict);
/* The adapter of the recorded MPI. */
char *rf_rerun_adapter(const struct rf_rerun *rerun, struct rf_error *error);
/* Runs one extracted rank alone. */
int rf_rerun_alone(struct rf_rerun *rerun, const struct rf_options *options, int rank,
                   enum rf_verdict *verdict);

#endif
