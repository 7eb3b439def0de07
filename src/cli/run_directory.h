/* The directory in which the ranks of one replay show how far they are. */
#ifndef RF_CLI_RUN_DIRECTORY_H
#define RF_CLI_RUN_DIRECTORY_H

#include "trace/error.h"

/* A new one in TMPDIR; NULL when that fails. */
char *rf_run_directory(struct rf_error *error);
/* A name as such a directory has; there is none. */
char *rf_run_directory_like(void);
/* Removes the directory and frees its name. */
void rf_run_directory_remove(char *path);

#endif
