/* Scheme sender: the order of all deliveries, worked out before a replay. */
#ifndef RF_CLI_TURNS_H
#define RF_CLI_TURNS_H

#include "summary.h"

/* Writes the files that engine/turns.h describes into the run directory. */
bool rf_turns_write(const char *trace, const struct rf_summary *summary, const char *run,
                    struct rf_error *error);

#endif
