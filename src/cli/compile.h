/* A compiler, run so that the MCAPI calls of what it compiles reach Refrain. */
#ifndef RF_CLI_COMPILE_H
#define RF_CLI_COMPILE_H

#include "options.h"

/* Returns the compiler's exit status, or one of ours. */
int rf_compile(const struct rf_options *options);
/* Runs a command with our streams; returns its status as wait() has it. */
int rf_run_words(char *const *words);

#endif
