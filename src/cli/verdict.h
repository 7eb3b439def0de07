/* What came of a replay: compared with the recording, and said. */
#ifndef RF_CLI_VERDICT_H
#define RF_CLI_VERDICT_H

#include "detect.h"
#include "options.h"
#include "report.h"

enum rf_verdict {
    RF_VERDICT_SAME,
    RF_VERDICT_CUT_SHORT,
    RF_VERDICT_STOPPED,
    RF_VERDICT_BROKE_OFF,
    RF_VERDICT_STALLED,
    RF_VERDICT_DIVERGED,
    RF_VERDICT_NOTHING,
    RF_VERDICT_OTHER_STATUS, /* all was played, and the program ended with another status */
};

/* Reports what went wrong, announces what went well, and returns the exit code: the program's own
   unless the replay was bad. */
int rf_judge(const struct rf_replayed *replayed, enum rf_launcher launcher,
             const struct rf_options *options, enum rf_verdict *verdict);

#endif
