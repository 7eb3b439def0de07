#include "rerun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detect.h"
#include "environment.h"
#include "extracted.h"
#include "install.h"
#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "played.h"
#include "processes.h"
#include "race_detect.h"
#include "ranks.h"
#include "run_directory.h"
#include "start.h"
#include "streams.h"
#include "text.h"
#include "turns.h"

bool rf_rerun_open(struct rf_rerun *rerun, const struct rf_options *options,
                   struct rf_error *error) {
    *rerun = (struct rf_rerun){0};
    rerun->directory = rf_find_trace(options->trace, error);
    rerun->manifest = rerun->directory ? rf_manifest_load(rerun->directory, NULL, error) : NULL;
    if (!rerun->manifest ||
        !rf_summary_read(rerun->directory, rerun->manifest, &rerun->summary, error))
        return false;
    rerun->recorded = rf_manifest_command(rerun->manifest);
    rerun->shown = rf_copy(options->trace ? options->trace : rf_shown_path(rerun->directory));
    rerun->named = rf_named(options->trace);
    rerun->replayed =
        (struct rf_replayed){.trace = rerun->shown,
                             .directory = rerun->directory,
                             .manifest = rerun->manifest,
                             .summary = &rerun->summary,
                             .command = options->command ? options->command : rerun->recorded,
                             .supervision = &rerun->supervision,
                             .alone = RF_NOT_ALONE};
    return true;
}

void rf_rerun_close(struct rf_rerun *rerun) {
    rf_races_free(&rerun->races);
    rf_supervision_free(&rerun->supervision);
    rf_summary_free(&rerun->summary);
    rf_manifest_free_command(rerun->recorded);
    json_decref(rerun->manifest);
    free(rerun->named);
    free(rerun->shown);
    free(rerun->directory);
}

bool rf_rerun_extractable(const struct rf_rerun *rerun, const char *verb, struct rf_error *error) {
    if (rf_is_mpi(rf_manifest_mpi(rerun->manifest)))
        return true;
    if (strcmp(rf_manifest_mpi(rerun->manifest), RF_NO_MESSAGES) == 0) {
        rf_fail(error, RF_EXIT_USAGE,
                "%s: the recorded program passed no messages: it can only "
                "be replayed whole",
                verb);
        return rf_hint(error, "refrain replay%s", rerun->named);
    }
    rf_fail(error, RF_EXIT_USAGE,
            "%s: a node of MCAPI can only be replayed, and alone only if its data was kept", verb);
    return rf_hint(error, "refrain record -s data COMMAND...");
}

bool rf_rerun_rank(const struct rf_rerun *rerun, const struct rf_options *options, const char *verb,
                   int *rank, struct rf_error *error) {
    const struct rf_summary *all = &rerun->summary;
    int size = all->sparse && all->count ? all->ranks[all->count - 1].rank + 1 : all->size;
    return rf_rank_parse(options->ranks, size, verb, rerun->named, rank, error) &&
           rf_rerun_usable(rerun, *rank, error);
}

bool rf_rerun_usable(const struct rf_rerun *rerun, int rank, struct rf_error *error) {
    const struct rf_rank_summary *summary = rf_summary_rank(&rerun->summary, rank);
    if (summary && !summary->damaged)
        return true;
    if (summary) {
        *error = summary->error;
        error->code = RF_EXIT_TRACE;
    } else {
        rf_fail(error, RF_EXIT_TRACE, "%s: the file of rank %d is missing", rerun->shown, rank);
    }
    return rf_hint(error, "refrain check%s", rerun->named);
}

bool rf_rerun_extracted(const struct rf_rerun *rerun, int rank, struct rf_error *error) {
    if (rf_extracted_bytes(rerun->directory, rank))
        return true;
    rf_fail(error, RF_EXIT_TRACE, "%s: rank %d was not extracted: its contents are missing",
            rerun->shown, rank);
    return rf_hint(error, "refrain extract --rank %d%s", rank, rerun->named);
}

char *rf_rerun_adapter(const struct rf_rerun *rerun, struct rf_error *error) {
    const char *mpi = rf_manifest_mpi(rerun->manifest);
    char *adapter = rf_find_adapter(mpi);
    if (!adapter) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "librefrain-%s.so: not found: this Refrain was built without %s", mpi,
                rf_mpi_title(mpi));
        rf_hint(error, "refrain doctor");
    }
    return adapter;
}

static bool was_cut(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].ending.how != RF_END_FINALIZE)
            return true;
    return false;
}

/* Did a rank keep the order between its threads, besides its messages? */
static bool with_threads(const struct rf_rerun *rerun) {
    bool found = false;
    for (size_t i = 0; i < rerun->summary.count; i++)
        found = found || rerun->summary.ranks[i].threads.exists;
    return found && strcmp(rf_manifest_mpi(rerun->manifest), RF_NO_MESSAGES) != 0;
}

/* One that records again says how many events there were only when it comes to its own end. */
static void count_again(struct rf_rerun *rerun, const char *run) {
    struct rf_supervision *supervision = &rerun->supervision;
    struct rf_played played;
    int rank = rerun->replayed.alone;
    if (rank != RF_NOT_ALONE && supervision->count == 1 &&
        supervision->ranks[0].state != RF_STATE_FINISHED && rf_played_look(run, rank, &played))
        supervision->ranks[0].events = played.events;
}

/* Starts it, watches it to its end and judges it. `detection`: of data races, or NULL. `streams`:
   other ones than ours, or NULL. */
static int run(struct rf_rerun *rerun, struct rf_launch *launch, const struct rf_options *options,
               struct rf_race_detection *detection, struct rf_streams *streams,
               enum rf_verdict *verdict) {
    struct rf_error error = {0};
    char *adapter = rf_rerun_adapter(rerun, &error);
    char *threads = adapter && with_threads(rerun) ? rf_find_adapter(RF_NO_MESSAGES) : NULL;
    char *directory = adapter ? rf_run_directory(&error) : NULL;
    pid_t child = -1;
    if (directory) {
        launch->adapter = adapter;
        launch->threads = threads;
        launch->trace = rerun->directory;
        launch->run = directory;
        launch->scheme = rf_manifest_text(rerun->manifest, "scheme");
        launch->check = rf_manifest_check(rerun->manifest);
        launch->same_addresses = rf_manifest_same_addresses(rerun->manifest);
        launch->order = rf_manifest_order(rerun->manifest);
        launch->values = rf_manifest_values(rerun->manifest);
        launch->fill = json_is_true(json_object_get(rerun->manifest, "fill"));
        launch->verbose = options->verbose;
        if (detection)
            rf_race_detection_apply(detection, launch);
        launch->cut = rerun->summary.sparse && was_cut(&rerun->summary);
        rf_adopt_orphans();
        rf_signals_guard(0);
        if (strcmp(launch->scheme, "sender") != 0 ||
            rf_turns_write(rerun->directory, &rerun->summary, directory, &error))
            child = rf_launch(launch, &error);
    }
    int code;
    if (child > 0) {
        rerun->supervision = (struct rf_supervision){.run = directory,
                                                     .summary = &rerun->summary,
                                                     .stall_timeout = options->stall_timeout,
                                                     .quiet = options->quiet};
        rf_signals_guard(child);
        if (streams)
            rf_streams_carry(streams);
        rf_supervise(&rerun->supervision, child);
        if (streams)
            rf_streams_close(streams);
        count_again(rerun, directory);
        if (detection) {
            rf_race_detection_read(detection, directory, &rerun->summary, &rerun->races);
            rerun->replayed.races = &rerun->races;
        }
        code = rf_judge(&rerun->replayed, launch->launcher, options, verdict);
    } else {
        code = rf_report_error(&error);
    }
    if (directory)
        rf_run_directory_remove(directory);
    free(threads);
    free(adapter);
    return code;
}

/* Which MPI the command uses must be the one that was recorded: numbers and order differ. */
static bool detect_same(const struct rf_options *options, const struct rf_rerun *rerun,
                        struct rf_detected *detected, struct rf_error *error) {
    const char *recorded = rf_manifest_mpi(rerun->manifest);
    /* What was settled for the recorded command need not be found out again. */
    bool settled = !options->mpi && !options->command;
    bool threads = recorded && strcmp(recorded, RF_NO_MESSAGES) == 0;
    if (!rf_mpi_option(options->mpi, error) ||
        !rf_detect(rerun->replayed.command, settled ? recorded : options->mpi, threads, detected,
                   error))
        return false;
    if (settled)
        snprintf(detected->because, sizeof detected->because, "as recorded");
    if (recorded && strcmp(detected->mpi, recorded) == 0)
        return true;
    rf_fail(error, RF_EXIT_TRACE, "the trace was recorded with %s, but the command uses %s (%s)",
            rf_mpi_title(recorded), rf_mpi_title(detected->mpi), detected->because);
    return rf_hint(error, "refrain info%s", rerun->named);
}

/* A replay may run where there are fewer cores than ranks: Open MPI must not refuse that, and its
   waiting ranks must give up the core. What the command itself says counts more. */
static void allow_few_cores(const struct rf_rerun *rerun) {
    if (rerun->summary.size <= sysconf(_SC_NPROCESSORS_ONLN))
        return;
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0); /* from version 5 on */
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

static bool enter_directory(const struct rf_rerun *rerun, struct rf_error *error) {
    char *directory = rf_manifest_directory(rerun->manifest);
    bool entered = chdir(directory) == 0;
    int cause = errno;
    if (!entered) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s: the directory of the recorded run cannot be entered: %s", directory,
                strerror(cause));
        /* The program may need no more of it than that it is there. */
        char *quoted = rf_named(directory);
        if (cause == ENOENT)
            rf_hint(error, "mkdir -p%s", quoted);
        else
            rf_hint(error, "refrain info%s", rerun->named);
        free(quoted);
    }
    free(directory);
    return entered;
}

/* Everything that can be wrong is found before anything is run. */
static bool prepare(struct rf_rerun *rerun, const struct rf_options *options,
                    struct rf_detected *detected, struct rf_error *error) {
    rf_summary_read_kept(&rerun->summary, rerun->directory, rerun->manifest, false);
    if (!rf_summary_whole(&rerun->summary, rerun->shown, error))
        return false;
    if (!enter_directory(rerun, error))
        return false;
    rf_environment_restore(json_object_get(rerun->manifest, "environment"));
    allow_few_cores(rerun);
    if (!detect_same(options, rerun, detected, error))
        return false;
    if (options->verbose) {
        rf_say("trace: %s: %llu events of %zu ranks", rerun->shown,
               (unsigned long long)rerun->summary.events, rerun->summary.count);
        rf_say("MPI: %s: %s", rf_mpi_title(detected->mpi), detected->because);
    }
    return true;
}

int rf_rerun_job(struct rf_rerun *rerun, const struct rf_options *options, const char *keep,
                 enum rf_verdict *verdict) {
    struct rf_error error = {0};
    struct rf_detected detected = {0};
    struct rf_race_detection detection = {0};
    bool detects = options->race_detect;
    int code;
    *verdict = RF_VERDICT_NOTHING;
    if (detects)
        rf_race_detection_find(&detection);
    if (prepare(rerun, options, &detected, &error) &&
        (!detects || rf_race_detection_choose(&detection, rerun, &detected, &error))) {
        struct rf_launch launch = {.command = rerun->replayed.command,
                                   .launcher = detected.launcher,
                                   .mode = "replay",
                                   .keep = keep};
        char *tsan = detects ? NULL : rf_tsan_suppressions(&detected);
        launch.tsan_options = tsan;
        /* Extraction and what follows it: addresses that were received stay good as long as they
           can, and can be told from other contents. */
        if (keep)
            rf_fix_addresses();
        code = run(rerun, &launch, options, detects ? &detection : NULL, NULL, verdict);
        free(tsan);
    } else {
        code = rf_report_error(&error);
    }
    rf_race_detection_free(&detection);
    rf_detected_free(&detected);
    return code;
}

/* A node of MCAPI is started as it was, by its program, and the others step aside. */
static int rerun_node(struct rf_rerun *rerun, const struct rf_options *options, int rank,
                      enum rf_verdict *verdict) {
    struct rf_error error = {0};
    struct rf_detected detected = {0};
    if (strcmp(rf_manifest_text(rerun->manifest, "scheme"), "data") != 0) {
        rf_fail(&error, RF_EXIT_TRACE,
                "%s: what node %d received was not kept: it cannot run alone", rerun->shown, rank);
        rf_hint(&error, "refrain record -s data COMMAND...");
        return rf_report_error(&error);
    }
    if (!prepare(rerun, options, &detected, &error))
        return rf_report_error(&error);
    char *number = rf_text("%d", rank);
    struct rf_launch launch = {.command = rerun->replayed.command,
                               .launcher = detected.launcher,
                               .mode = "alone",
                               .rank = number};
    rerun->replayed.alone = rank;
    int code = run(rerun, &launch, options, NULL, NULL, verdict);
    free(number);
    rf_detected_free(&detected);
    return code;
}

int rf_rerun_alone(struct rf_rerun *rerun, const struct rf_options *options, int rank,
                   enum rf_verdict *verdict) {
    struct rf_error error = {0};
    struct rf_start start;
    *verdict = RF_VERDICT_NOTHING;
    if (strcmp(rf_manifest_mpi(rerun->manifest), RF_NO_MESSAGES) == 0) {
        rf_rerun_extractable(rerun, "replay --rank", &error);
        return rf_report_error(&error);
    }
    if (!rf_is_mpi(rf_manifest_mpi(rerun->manifest)))
        return rerun_node(rerun, options, rank, verdict);
    if (!rf_rerun_extracted(rerun, rank, &error))
        return rf_report_error(&error);
    if (!rf_extracted_whole(rerun->directory, rank, &error)) {
        error.code = RF_EXIT_TRACE;
        rf_hint(&error, "refrain extract --rank %d%s", rank, rerun->named);
        return rf_report_error(&error);
    }
    if (!rf_start_load(&start, rerun->directory, rank, &error))
        return rf_report_error(&error);
    struct rf_launch launch = rf_start_launch(&start);
    struct rf_streams streams;
    rf_streams_open(&streams, rf_manifest_values(rerun->manifest) ? start.streams : NULL);
    launch.streams = streams.its;
    rerun->replayed.alone = rank;
    rf_fix_addresses();
    int code = run(rerun, &launch, options, NULL, &streams, verdict);
    rf_start_free(&start);
    return code;
}
