/* refrain replay: runs the command again, with the recorded decisions. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "detect.h"
#include "environment.h"
#include "install.h"
#include "launch.h"
#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "options.h"
#include "processes.h"
#include "report.h"
#include "status.h"
#include "summary.h"
#include "supervise.h"
#include "text.h"

static char *make_run_directory(struct rf_error *error) {
    const char *base = getenv("TMPDIR");
    char *path = rf_text("%s/refrain-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(path))
        return path;
    rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot create a directory for the replay in %s: %s",
            base && *base ? base : "/tmp", strerror(errno));
    free(path);
    return NULL;
}

/* The directory holds plain files only. */
static void remove_run_directory(const char *path) {
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    rmdir(path);
}

/* Which MPI the command uses must be the one that was recorded: numbers and order differ. */
static bool detect_same(const struct rf_options *options, const json_t *manifest,
                        char *const *command, struct rf_detected *detected,
                        struct rf_error *error) {
    const char *recorded = rf_manifest_mpi(manifest);
    /* What was settled for the recorded command need not be found out again. */
    const char *wanted = options->mpi || options->command ? options->mpi : recorded;
    if (!rf_detect(command, wanted, detected, error))
        return false;
    if (wanted != options->mpi)
        snprintf(detected->because, sizeof detected->because, "as recorded");
    if (strcmp(detected->mpi, recorded) == 0)
        return true;
    rf_fail(error, RF_EXIT_TRACE, "the trace was recorded with %s, but the command uses %s (%s)",
            rf_mpi_title(recorded), rf_mpi_title(detected->mpi), detected->because);
    return rf_hint(error, "refrain info");
}

static bool all_finished_in_recording(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].ending.how != RF_END_FINALIZE || summary->ranks[i].ending.incomplete)
            return false;
    return true;
}

/* A rank that did not reach its end; the one that died in its own code rather than those that
   waited for it and were ended by the launcher. */
static const struct rf_progress *find_unfinished(const struct rf_supervision *supervision) {
    const struct rf_progress *found = NULL;
    for (size_t i = 0; i < supervision->count; i++) {
        const struct rf_progress *rank = &supervision->ranks[i];
        if (rank->state != RF_STATE_FINISHED &&
            (!found || (found->state == RF_STATE_WAITING && rank->state == RF_STATE_RUNNING)))
            found = rank;
    }
    return found;
}

/* The verdict on a run that is over. */
static int judge(const struct rf_replayed *replayed, enum rf_launcher launcher, bool quiet) {
    const struct rf_supervision *supervision = replayed->supervision;
    const json_t *recorded_status = json_object_get(replayed->manifest, "status");
    if (supervision->outcome == RF_OUTCOME_DIVERGED) {
        rf_report_divergence(replayed);
        return RF_EXIT_DIVERGED;
    }
    if (supervision->outcome == RF_OUTCOME_STALLED) {
        rf_report_stall(replayed);
        return RF_EXIT_DIVERGED;
    }
    const struct rf_progress *unfinished = find_unfinished(supervision);
    int status = rf_program_status(supervision->status, launcher, unfinished != NULL,
                                   rf_summary_code(replayed->summary));
    /* Equal ends have equal names, however the launcher mixed them up. */
    if (recorded_status && supervision->status == (int)json_integer_value(json_object_get(
                                                      replayed->manifest, "launcher_status")))
        status = (int)json_integer_value(recorded_status);
    if (supervision->count == 0) {
        struct rf_error error = {0};
        char *text = rf_command_text(replayed->command);
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "nothing replayed: no rank called MPI_Init with Refrain in it (the command ended "
                "with status %d)",
                status);
        rf_hint(&error, "refrain doctor -- %s", text);
        free(text);
        return rf_report_error(&error);
    }
    if (unfinished && !rf_signal_seen() && all_finished_in_recording(replayed->summary)) {
        rf_report_lost_rank(replayed, unfinished);
        return RF_EXIT_DIVERGED;
    }
    if (!quiet) {
        unsigned long long events = 0;
        for (size_t i = 0; i < supervision->count; i++)
            events += supervision->ranks[i].events;
        rf_say("replayed: %s: %llu event%s, %zu rank%s, no difference", replayed->trace, events,
               rf_plural(events), supervision->count, rf_plural(supervision->count));
    }
    /* A crashed rank runs free after the end of its recording: that may come out differently. */
    if (recorded_status && status != json_integer_value(recorded_status)) {
        rf_say("the end differs: the program ended with status %d, recorded was %d", status,
               (int)json_integer_value(recorded_status));
        rf_say_hint("refrain info %s", replayed->trace);
    }
    return status;
}

static int run(const struct rf_options *options, const struct rf_detected *detected,
               struct rf_replayed *replayed) {
    struct rf_error error = {0};
    char *adapter = rf_find_adapter(detected->mpi);
    char *directory = adapter ? make_run_directory(&error) : NULL;
    if (!adapter) {
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "librefrain-%s.so: not found: this Refrain was built without %s", detected->mpi,
                rf_mpi_title(detected->mpi));
        rf_hint(&error, "refrain doctor");
    }
    int code = RF_EXIT_BUG;
    pid_t child = -1;
    if (directory) {
        struct rf_launch launch = {.command = replayed->command,
                                   .launcher = detected->launcher,
                                   .adapter = adapter,
                                   .mode = "replay",
                                   .trace = replayed->directory,
                                   .run = directory,
                                   .scheme = rf_manifest_text(replayed->manifest, "scheme"),
                                   .verbose = options->verbose};
        rf_adopt_orphans();
        rf_signals_guard(0);
        child = rf_launch(&launch, &error);
    }
    if (child > 0) {
        struct rf_supervision supervision = {.run = directory,
                                             .stall_timeout = options->stall_timeout};
        rf_signals_guard(child);
        rf_supervise(&supervision, child);
        replayed->supervision = &supervision;
        code = judge(replayed, detected->launcher, options->quiet);
        rf_supervision_free(&supervision);
        replayed->supervision = NULL;
    } else {
        code = rf_report_error(&error);
    }
    if (directory)
        remove_run_directory(directory);
    free(directory);
    free(adapter);
    return code;
}

/* Everything that can be wrong is found before anything is run. */
static bool prepare(const struct rf_options *options, struct rf_replayed *replayed,
                    json_t *manifest, struct rf_summary *summary, struct rf_detected *detected,
                    struct rf_error *error) {
    if (!rf_summary_read(replayed->directory, summary, error) ||
        !rf_summary_whole(summary, replayed->trace, error))
        return false;
    const char *directory = rf_manifest_text(manifest, "directory");
    if (chdir(directory) != 0)
        return rf_fail(error, RF_EXIT_ENVIRONMENT,
                       "%s: the directory of the recorded run cannot be entered: %s", directory,
                       strerror(errno));
    rf_environment_restore(json_object_get(manifest, "environment"));
    if (!detect_same(options, manifest, replayed->command, detected, error))
        return false;
    if (options->verbose) {
        rf_say("trace: %s: %llu events of %zu ranks", replayed->trace,
               (unsigned long long)summary->events, summary->count);
        rf_say("MPI: %s: %s", rf_mpi_title(detected->mpi), detected->because);
    }
    return true;
}

int rf_verb_replay(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_summary summary = {0};
    struct rf_detected detected = {0};
    char *directory = rf_find_trace(options->trace, &error);
    json_t *manifest = directory ? rf_manifest_load(directory, &error) : NULL;
    if (!manifest) {
        free(directory);
        return rf_report_error(&error);
    }
    char **recorded = rf_manifest_command(manifest);
    char *shown = rf_copy(options->trace ? options->trace : rf_shown_path(directory));
    struct rf_replayed replayed = {.trace = shown,
                                   .directory = directory,
                                   .manifest = manifest,
                                   .summary = &summary,
                                   .command = options->command ? options->command : recorded};
    int code = prepare(options, &replayed, manifest, &summary, &detected, &error)
                   ? run(options, &detected, &replayed)
                   : rf_report_error(&error);
    rf_summary_free(&summary);
    rf_detected_free(&detected);
    free(shown);
    free(recorded);
    json_decref(manifest);
    free(directory);
    return code;
}
