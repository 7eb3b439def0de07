/* replay --race-detect: which tool looks for data races, and how the command is started under it.
   What it found is read by races.h. */
#ifndef RF_CLI_RACE_DETECT_H
#define RF_CLI_RACE_DETECT_H

#include "launch.h"
#include "rerun.h"

struct rf_race_detection {
    const char *tool; /* of threads/race_tools.h */
    char *valgrind;   /* the program, if it is needed */
    char **wrapper;   /* the words that stand before the program; ends with NULL */
    char *options;    /* for ThreadSanitizer */
    bool script;      /* the program may be a child of the one that is started */
    bool openmp_unseen;
};

/* Finds what is needed in this process's own PATH, before that of the recording takes its place. */
void rf_race_detection_find(struct rf_race_detection *detection);
/* Chooses the tool: ThreadSanitizer if the program was built with it, else Helgrind.
   Everything that can be wrong is found here. */
bool rf_race_detection_choose(struct rf_race_detection *detection, const struct rf_rerun *rerun,
                              const struct rf_detected *detected, struct rf_error *error);
/* What the launch needs for it. */
void rf_race_detection_apply(struct rf_race_detection *detection, struct rf_launch *launch);
/* What was found, once the command has ended. */
void rf_race_detection_read(const struct rf_race_detection *detection, const char *run,
                            const struct rf_summary *summary, struct rf_races *races);
void rf_race_detection_free(struct rf_race_detection *detection);

/* Options for a program that is built with ThreadSanitizer, when nobody looks: it is not to report
   what Refrain's libraries do, nor to end with its own status because of that. NULL: none needed.
   free() it. */
char *rf_tsan_suppressions(const struct rf_detected *detected);

#endif
