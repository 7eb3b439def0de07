/* The program's own exit status, whatever its launcher made of it. */
#ifndef RF_CLI_STATUS_H
#define RF_CLI_STATUS_H

#include <stdbool.h>

#include "detect.h"
#include "summary.h"

/* `crashed`: a rank ended without saying how (only then can a status be a signal in disguise).
   `summary`: what the ranks have said, or NULL where there is no launcher. */
int rf_program_status(int wait_status, enum rf_launcher launcher, bool crashed,
                      const struct rf_summary *summary);
/* Does hydra tell nothing of how a rank ended, but that it has killed others itself, or, from version
   4.1 on, now and then that all went well? */
bool rf_hydra_hides(int wait_status, enum rf_launcher launcher);
/* The code that the first rank which left on its own left with, or 0. */
int rf_summary_code(const struct rf_summary *summary);
/* The signal that a rank is known to have died of, or 0. */
int rf_summary_signal(const struct rf_summary *summary);
/* Did a rank die, and none leave with a code of its own? */
bool rf_summary_crashed(const struct rf_summary *summary);

#endif
