/* The program's own exit status, whatever its launcher made of it. */
#ifndef RF_CLI_STATUS_H
#define RF_CLI_STATUS_H

#include <stdbool.h>

#include "detect.h"
#include "summary.h"

/* What is known of the ranks of this very run, apart from what their launcher says. */
enum rf_fate {
    RF_FATE_GOOD,
    RF_FATE_LEFT,    /* a rank left with a code of its own */
    RF_FATE_CRASHED, /* none did, and one ended without saying how: a status may be its signal */
};

/* `summary`: what the ranks say in the recording, or NULL where there is no launcher. */
int rf_program_status(int wait_status, enum rf_launcher launcher, enum rf_fate fate,
                      const struct rf_summary *summary);
/* Does hydra tell nothing of how a rank ended, but that it has killed others itself, or, from
   version 4.1 on, now and then that all went well although it did not? */
bool rf_hydra_hides(int wait_status, enum rf_launcher launcher, enum rf_fate fate);
/* The code that a rank left with on its own, or 0. */
int rf_own_code(const struct rf_ending *ending);
/* The code that the first rank which left on its own left with, or 0. */
int rf_summary_code(const struct rf_summary *summary);
/* The signal that a rank is known to have died of, or 0. */
int rf_summary_signal(const struct rf_summary *summary);
/* Of the run that was recorded. */
enum rf_fate rf_summary_fate(const struct rf_summary *summary);

#endif
