/* The part of the environment that can change how an MPI program runs: it is recorded, and
   restored for a replay. */
#ifndef RF_CLI_ENVIRONMENT_H
#define RF_CLI_ENVIRONMENT_H

#include <jansson.h>
#include <stdbool.h>

/* `variable` is a name, or name=value. */
bool rf_environment_matters(const char *variable);
/* Makes our own environment that of the recording, as far as it matters. */
void rf_environment_restore(const json_t *recorded);

#endif
