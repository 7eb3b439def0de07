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
    bool settled = !options->mpi && !options->command;
    if (!rf_detect(command, settled ? recorded : options->mpi, detected, error))
        return false;
    if (settled)
        snprintf(detected->because, sizeof detected->because, "as recorded");
    if (recorded && strcmp(detected->mpi, recorded) == 0)
        return true;
    rf_fail(error, RF_EXIT_TRACE, "the trace was recorded with %s, but the command uses %s (%s)",
            rf_mpi_title(recorded), rf_mpi_title(detected->mpi), detected->because);
    return rf_hint(error, "refrain info");
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

/* What came of a replay. The names are part of --json. */
enum verdict { SAME, CUT_SHORT, STOPPED, BROKE_OFF, STALLED, DIVERGED, NOTHING };
static const char *const verdict_names[] = {"same",    "cut short", "stopped", "broke off",
                                            "stalled", "diverged",  "nothing"};

/* A recording that is finished ends where MPI_Finalize begins; who had come that far has played all
   of it, even if the job was ended before the call returned. */
static bool at_end(const struct rf_progress *rank) {
    return rank->state == RF_STATE_FINISHED ||
           (rank->state == RF_STATE_WAITING && strcmp(rank->current.function, "MPI_Finalize") == 0);
}

/* Did every rank come to the end of its recording? If not, a rank that ended the job as it did in
   the recording (by a crash, an abort, an exit) may have cut the others short. */
static enum verdict compare_ends(const struct rf_replayed *replayed) {
    const struct rf_supervision *supervision = replayed->supervision;
    bool all = supervision->count == (size_t)replayed->summary->size, cause = false;
    for (size_t i = 0; i < supervision->count; i++) {
        const struct rf_progress *rank = &supervision->ranks[i];
        const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank->rank);
        bool finished = at_end(rank);
        bool cut = rf_at_cut(replayed->summary, rank);
        all = all && (finished || cut);
        cause = cause || cut || (finished && recorded && recorded->ending.how != RF_END_FINALIZE);
    }
    if (all)
        return SAME;
    if (rf_signal_seen() || WIFSIGNALED(supervision->status))
        return STOPPED;
    return cause ? CUT_SHORT : BROKE_OFF;
}

static unsigned long long events_played(const struct rf_replayed *replayed) {
    unsigned long long events = 0;
    for (size_t i = 0; i < replayed->supervision->count; i++)
        events += replayed->supervision->ranks[i].events;
    return events;
}

static void announce(const struct rf_replayed *replayed, enum verdict verdict) {
    size_t ranks = replayed->supervision->count;
    unsigned long long events = events_played(replayed);
    unsigned long long recorded = replayed->summary->events;
    if (verdict == SAME)
        rf_say("replayed: %s: %llu event%s, %zu rank%s, no difference", replayed->trace, events,
               rf_plural(events), ranks, rf_plural(ranks));
    else if (verdict == CUT_SHORT)
        rf_say("replayed: %s: %llu of %llu events, %zu rank%s: the job ended as recorded, and took "
               "other ranks with it",
               replayed->trace, events, recorded, ranks, rf_plural(ranks));
    else
        rf_say("replay stopped by signal %d: %s: %llu of %llu events, %zu rank%s",
               rf_signal_seen() ? rf_signal_seen() : WTERMSIG(replayed->supervision->status),
               replayed->trace, events, recorded, ranks, rf_plural(ranks));
}

/* The recorded run outlived its recording: from there on the replay is a run like any other. */
static bool ran_free(const struct rf_replayed *replayed, const struct rf_progress *rank) {
    const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank->rank);
    return rank->free && recorded && recorded->ending.incomplete;
}

static void announce_free(const struct rf_replayed *replayed) {
    for (size_t i = 0; i < replayed->supervision->count; i++) {
        const struct rf_progress *rank = &replayed->supervision->ranks[i];
        if (ran_free(replayed, rank))
            rf_say("rank %d followed its recording up to event %llu, where it stops, and ran free "
                   "from there on",
                   rank->rank, (unsigned long long)rank->events);
    }
}

static void announce_json(const struct rf_replayed *replayed, enum verdict verdict, int status) {
    const struct rf_supervision *supervision = replayed->supervision;
    json_t *object =
        json_pack("{s:s,s:s,s:I,s:I,s:I,s:i}", "replayed", replayed->trace, "outcome",
                  verdict_names[verdict], "events", (json_int_t)events_played(replayed),
                  "recorded_events", (json_int_t)replayed->summary->events, "ranks",
                  (json_int_t)supervision->count, "status", status);
    json_t *free_ranks = json_array();
    for (size_t i = 0; i < supervision->count; i++)
        if (ran_free(replayed, &supervision->ranks[i]))
            json_array_append_new(free_ranks, json_integer(supervision->ranks[i].rank));
    json_object_set_new(object, "ran_free", free_ranks);
    if (verdict == DIVERGED) {
        const struct rf_progress *rank = &supervision->ranks[supervision->first_diverged];
        json_object_set_new(object, "rank", json_integer(rank->rank));
        json_object_set_new(object, "event", json_integer((json_int_t)rank->event));
        json_object_set_new(object, "difference", json_string(rank->difference));
    }
    rf_say_json(object);
}

/* The verdict on a run whose ranks did not differ; returns the program's status or our own. */
static int judge_end(const struct rf_replayed *replayed, enum rf_launcher launcher,
                     enum verdict *verdict) {
    const struct rf_supervision *supervision = replayed->supervision;
    const json_t *recorded_status = json_object_get(replayed->manifest, "status");
    const struct rf_progress *unfinished = find_unfinished(supervision);
    int status = rf_program_status(supervision->status, launcher, unfinished != NULL,
                                   rf_summary_code(replayed->summary));
    /* Equal ends have equal names, however the launcher mixed them up. What we were sent ourselves
       is another end, even if hydra calls it a success. */
    bool stopped = unfinished && rf_signal_seen();
    if (recorded_status && !stopped &&
        supervision->status ==
            (int)json_integer_value(json_object_get(replayed->manifest, "launcher_status")))
        status = (int)json_integer_value(recorded_status);
    if (supervision->count == 0) {
        *verdict = NOTHING;
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
    *verdict = compare_ends(replayed);
    if (*verdict != BROKE_OFF)
        return status;
    if (unfinished)
        rf_report_lost_rank(replayed, unfinished);
    else
        rf_say("the replay broke off: only %zu of %d ranks called MPI_Init", supervision->count,
               replayed->summary->size);
    return RF_EXIT_DIVERGED;
}

static int judge(const struct rf_replayed *replayed, enum rf_launcher launcher,
                 const struct rf_options *options) {
    const json_t *recorded_status = json_object_get(replayed->manifest, "status");
    enum verdict verdict = SAME;
    int code = RF_EXIT_DIVERGED;
    if (replayed->supervision->outcome == RF_OUTCOME_DIVERGED) {
        verdict = DIVERGED;
        rf_report_divergence(replayed);
    } else if (replayed->supervision->outcome == RF_OUTCOME_STALLED) {
        verdict = STALLED;
        rf_report_stall(replayed);
    } else {
        code = judge_end(replayed, launcher, &verdict);
    }
    bool ended = verdict == SAME || verdict == CUT_SHORT || verdict == STOPPED;
    if (!options->quiet && !options->json && ended) {
        announce(replayed, verdict);
        announce_free(replayed);
    }
    /* A crashed rank runs free after the end of its recording: that may come out differently. */
    if (ended && verdict != STOPPED && recorded_status &&
        code != json_integer_value(recorded_status)) {
        rf_say("the end differs: the program ended with status %d, recorded was %d", code,
               (int)json_integer_value(recorded_status));
        rf_say_hint("refrain info %s", replayed->trace);
    }
    if (!options->quiet && options->json)
        announce_json(replayed, verdict, code);
    return code;
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
        code = judge(replayed, detected->launcher, options);
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
