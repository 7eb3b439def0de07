/* Replaying a job so that some of its ranks keep what they get. */
#ifndef RF_CLI_EXTRACT_H
#define RF_CLI_EXTRACT_H

#include "rerun.h"

/* Extracts the ranks that `chosen` marks; returns the exit code. This process changes into the
   recorded directory and environment. With `some`, a rank that leaves nothing does not keep the
   others from being extracted. */
int rf_extract(struct rf_rerun *rerun, const struct rf_options *options, const bool *chosen,
               bool some);

#endif
