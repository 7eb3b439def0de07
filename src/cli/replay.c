/* refrain replay: runs the command again, with the recorded decisions; or one rank of it, alone. */
#include "messages.h"
#include "rerun.h"

static int replay_rank(struct rf_rerun *rerun, const struct rf_options *options) {
    struct rf_error error = {0};
    enum rf_verdict verdict;
    int rank;
    if (options->race_detect) {
        rf_fail(&error, RF_EXIT_USAGE,
                "--race-detect: looks at all ranks of a job, not at one alone");
        rf_hint(&error, "refrain replay --race-detect%s", rerun->named);
        return rf_report_error(&error);
    }
    if (options->command) {
        rf_fail(
            &error, RF_EXIT_USAGE,
            "--rank %s: a rank alone is started as it was when it was extracted, not by a COMMAND",
            options->ranks);
        rf_hint(&error, "refrain extract --rank %s%s -- COMMAND...", options->ranks, rerun->named);
        return rf_report_error(&error);
    }
    if (!rf_rerun_rank(rerun, options, "replay", &rank, &error))
        return rf_report_error(&error);
    return rf_rerun_alone(rerun, options, rank, &verdict);
}

int rf_verb_replay(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_rerun rerun;
    enum rf_verdict verdict;
    int code = !rf_rerun_open(&rerun, options, &error) ? rf_report_error(&error)
               : options->ranks                        ? replay_rank(&rerun, options)
                                : rf_rerun_job(&rerun, options, NULL, &verdict);
    rf_rerun_close(&rerun);
    return code;
}
