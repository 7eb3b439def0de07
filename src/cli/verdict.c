#include "verdict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/signals.h"
#include "launch.h"
#include "manifest.h"
#include "messages.h"
#include "places.h"
#include "status.h"
#include "text.h"
#include "utf8.h"

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

/* The names are part of --json. */
static const char *const verdict_names[] = {
    [RF_VERDICT_SAME] = "same",       [RF_VERDICT_CUT_SHORT] = "cut short",
    [RF_VERDICT_STOPPED] = "stopped", [RF_VERDICT_BROKE_OFF] = "broke off",
    [RF_VERDICT_STALLED] = "stalled", [RF_VERDICT_DIVERGED] = "diverged",
    [RF_VERDICT_NOTHING] = "nothing", [RF_VERDICT_OTHER_STATUS] = "other status",
};

/* A recording that is finished ends where MPI_Finalize begins; who had come that far has played all
   of it, even if the job was ended before the call returned. */
static bool at_end(const struct rf_progress *rank) {
    return rank->state == RF_STATE_FINISHED ||
           (rank->state == RF_STATE_WAITING && strcmp(rank->current.function, "MPI_Finalize") == 0);
}

static bool is_alone(const struct rf_replayed *replayed) {
    return replayed->alone != RF_NOT_ALONE;
}

/* One thread of the rank ended the process by the recorded signal. Others may not have come as far
   as they had then. */
static bool fell(const struct rf_progress *rank, const struct rf_rank_summary *recorded) {
    int number = (int)rank->signal;
    return rf_is_crash(number) && recorded && recorded->ending.how == RF_END_NONE &&
           recorded->ending.code == number;
}

/* Of a program without messages, its threads are all there is to tell how far it came. */
static bool is_plain(const struct rf_rank_summary *recorded) {
    return recorded && strcmp(recorded->node.adapter, "threads") == 0;
}

static bool threads_are_behind(const struct rf_replayed *replayed,
                               const struct rf_rank_summary *recorded) {
    const struct rf_places *threads =
        is_plain(recorded) ? rf_places_map(replayed->supervision->run, recorded->rank) : NULL;
    bool behind = threads && rf_places_behind(threads);
    rf_places_unmap(threads);
    return behind;
}

/* Did every rank come to the end of its recording? If not, a rank that ended the job as it did in
   the recording (by a crash, an abort, an exit) may have cut the others short. */
static enum rf_verdict compare_ends(const struct rf_replayed *replayed) {
    const struct rf_supervision *supervision = replayed->supervision;
    size_t expected = is_alone(replayed) ? 1 : (size_t)replayed->summary->size;
    bool all = supervision->count == expected, cause = false;
    for (size_t i = 0; i < supervision->count; i++) {
        const struct rf_progress *rank = &supervision->ranks[i];
        const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank->rank);
        bool finished = at_end(rank);
        bool cut = rf_at_cut(replayed->summary, rank) && !threads_are_behind(replayed, recorded);
        all = all && (finished || cut);
        /* The job may have ended sooner when the rank was extracted than when it was recorded. */
        cause = cause || cut || rank->state == RF_STATE_LEFT || fell(rank, recorded) ||
                (finished && recorded && recorded->ending.how != RF_END_FINALIZE);
    }
    if (all)
        return RF_VERDICT_SAME;
    /* A launcher does not die of a signal by itself; a rank may, and a program without one. */
    bool launched = !is_alone(replayed) && !is_plain(rf_summary_rank(replayed->summary, 0));
    if (rf_signal_seen() || (WIFSIGNALED(supervision->status) && launched))
        return RF_VERDICT_STOPPED;
    return cause ? RF_VERDICT_CUT_SHORT : RF_VERDICT_BROKE_OFF;
}

static unsigned long long events_played(const struct rf_replayed *replayed) {
    unsigned long long events = 0;
    for (size_t i = 0; i < replayed->supervision->count; i++)
        events += replayed->supervision->ranks[i].events;
    return events;
}

/* How many of these were to be played. */
static unsigned long long events_recorded(const struct rf_replayed *replayed) {
    return is_alone(replayed) ? rf_summary_rank(replayed->summary, replayed->alone)->events
                              : replayed->summary->events;
}

/* How many operations of threads. Where nobody says, the rank came to the end without. */
static uint64_t operations_played(const struct rf_replayed *replayed) {
    uint64_t operations = 0;
    for (size_t i = 0; i < replayed->summary->count; i++) {
        const struct rf_rank_summary *rank = &replayed->summary->ranks[i];
        const struct rf_places *threads = rf_places_map(replayed->supervision->run, rank->rank);
        operations += threads ? rf_places_played(threads) : rank->threads.operations;
        rf_places_unmap(threads);
    }
    return operations;
}

/* Past the end of its recording, or of what could be followed of it. */
static bool any_free(const struct rf_replayed *replayed) {
    for (size_t i = 0; i < replayed->supervision->count; i++)
        if (replayed->supervision->ranks[i].free)
            return true;
    return false;
}

/* A rank that was killed or left early shows that by its status only; here it is said in words. */
static void announce_alone(const struct rf_replayed *replayed) {
    const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, replayed->alone);
    unsigned long long events = events_played(replayed);
    struct rf_symbols *symbols = rf_symbols_new();
    char *ending = rf_ending_text(recorded, symbols);
    bool finished = recorded->ending.how == RF_END_FINALIZE;
    rf_say("replayed: %s: rank %d alone: %llu event%s, no difference%s%s", replayed->trace,
           replayed->alone, events, rf_plural(events), finished ? "" : "; the recorded rank ",
           finished ? "" : ending);
    free(ending);
    rf_symbols_free(symbols);
}

/* Where nothing else would have shown a difference. A rank alone gets much of this from its
   contents. */
static char *unkept_text(const struct rf_summary *summary) {
    char *names = rf_summary_unsupported(summary);
    char *text = *names ? rf_text(" (not recorded: %s)", names) : rf_copy("");
    free(names);
    return text;
}

/* All was played as recorded, but what came after it is another; `end` says so. */
static void announce_other_end(const struct rf_replayed *replayed, const char *threads,
                               const char *unkept, const char *end) {
    unsigned long long events = events_played(replayed), recorded = events_recorded(replayed);
    size_t ranks = replayed->supervision->count;
    char *of = events < recorded ? rf_text(" of %llu", recorded) : rf_copy("");
    if (is_alone(replayed))
        rf_say("replayed: %s: rank %d alone: %llu%s event%s; %s", replayed->trace, replayed->alone,
               events, of, rf_plural(recorded), end);
    else
        rf_say("replayed: %s: %llu%s event%s, %zu rank%s%s; %s%s", replayed->trace, events, of,
               rf_plural(recorded), ranks, rf_plural(ranks), threads, end, unkept);
    free(of);
}

static void announce(const struct rf_replayed *replayed, enum rf_verdict verdict, const char *end) {
    size_t ranks = replayed->supervision->count;
    unsigned long long events = events_played(replayed);
    unsigned long long recorded = events_recorded(replayed);
    uint64_t operations = operations_played(replayed);
    bool sooner =
        operations < rf_summary_threads(replayed->summary).operations && !any_free(replayed);
    char *threads = rf_summary_threads_text(replayed->summary, operations);
    char *unkept = unkept_text(replayed->summary);
    if (verdict == RF_VERDICT_OTHER_STATUS)
        announce_other_end(replayed, threads, unkept, end);
    else if (verdict == RF_VERDICT_SAME && is_alone(replayed))
        announce_alone(replayed);
    else if (verdict == RF_VERDICT_SAME)
        rf_say("replayed: %s: %llu event%s, %zu rank%s%s, no difference%s%s", replayed->trace,
               events, rf_plural(events), ranks, rf_plural(ranks), threads,
               sooner ? " before the end, which came sooner for some threads" : "", unkept);
    else if (verdict == RF_VERDICT_CUT_SHORT && is_alone(replayed))
        rf_say("replayed: %s: rank %d alone: %llu of %llu events, no difference: when it was "
               "extracted "
               "the job ended there",
               replayed->trace, replayed->alone, events, recorded);
    else if (verdict == RF_VERDICT_CUT_SHORT && is_plain(rf_summary_rank(replayed->summary, 0)))
        rf_say("replayed: %s: the program ended as recorded, and before all of its threads had "
               "come to where they were",
               replayed->trace);
    else if (verdict == RF_VERDICT_CUT_SHORT)
        rf_say("replayed: %s: %llu of %llu events, %zu rank%s: the job ended as recorded, and took "
               "other ranks with it",
               replayed->trace, events, recorded, ranks, rf_plural(ranks));
    else
        rf_say("replay stopped by signal %d: %s: %llu of %llu events, %zu rank%s",
               rf_signal_seen() ? rf_signal_seen() : WTERMSIG(replayed->supervision->status),
               replayed->trace, events, recorded, ranks, rf_plural(ranks));
    free(unkept);
    free(threads);
}

/* The recorded run outlived its recording: from there on the replay is a run like any other. */
static bool ran_free(const struct rf_replayed *replayed, const struct rf_progress *rank) {
    const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank->rank);
    return rank->free && recorded && recorded->ending.incomplete;
}

/* Or it could not be followed to its end. */
static bool lost_trust(const struct rf_replayed *replayed, const struct rf_progress *rank) {
    const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank->rank);
    return rank->free && rank->reason[0] && recorded && rank->events < recorded->events;
}

static void announce_free(const struct rf_replayed *replayed) {
    for (size_t i = 0; i < replayed->supervision->count; i++) {
        const struct rf_progress *rank = &replayed->supervision->ranks[i];
        if (ran_free(replayed, rank))
            rf_say("rank %d followed its recording up to event %llu, where it stops, and ran free "
                   "from there on",
                   rank->rank, (unsigned long long)rank->events);
        else if (lost_trust(replayed, rank))
            rf_say(
                "rank %d followed its recording up to event %llu, and ran free from there on: %s",
                rank->rank, (unsigned long long)rank->events, rank->reason);
    }
}

static void announce_json(const struct rf_replayed *replayed, enum rf_verdict verdict, int status,
                          int recorded_status) {
    const struct rf_supervision *supervision = replayed->supervision;
    json_t *object =
        json_pack("{s:o,s:s,s:I,s:I,s:I,s:i}", "replayed", rf_utf8_json(replayed->trace), "outcome",
                  verdict_names[verdict], "events", (json_int_t)events_played(replayed),
                  "recorded_events", (json_int_t)events_recorded(replayed), "ranks",
                  (json_int_t)supervision->count, "status", status);
    if (recorded_status >= 0)
        json_object_set_new(object, "recorded_status", json_integer(recorded_status));
    struct rf_thread_counts threads = rf_summary_threads(replayed->summary);
    if (threads.exists && !is_alone(replayed)) {
        json_object_set_new(object, "operations",
                            json_integer((json_int_t)operations_played(replayed)));
        json_object_set_new(object, "recorded_operations",
                            json_integer((json_int_t)threads.operations));
    }
    json_t *free_ranks = json_array();
    for (size_t i = 0; i < supervision->count; i++)
        if (ran_free(replayed, &supervision->ranks[i]))
            json_array_append_new(free_ranks, json_integer(supervision->ranks[i].rank));
    json_object_set_new(object, "ran_free", free_ranks);
    if (is_alone(replayed))
        json_object_set_new(object, "alone", json_integer(replayed->alone));
    else
        json_object_set_new(object, "not_recorded", rf_summary_unsupported_json(replayed->summary));
    if (verdict == RF_VERDICT_DIVERGED)
        rf_divergence_json(replayed, object);
    if (replayed->races)
        json_object_set_new(object, "races", rf_races_json(replayed->races));
    if (replayed->extracts) {
        json_object_del(object, "replayed");
        json_object_set_new(object, "extracted", rf_utf8_json(replayed->trace));
        json_object_set_new(object, "ranks", json_array());
    }
    rf_say_json(object);
}

/* A replay of a program with data races cannot be trusted, even if it came out the same. */
static int judge_races(const struct rf_replayed *replayed, const struct rf_options *options,
                       bool good, int code) {
    const struct rf_races *races = replayed->races;
    if (good && !races->processes) {
        rf_say("--race-detect: %s looked at no process: nothing is known about data races",
               races->tool);
        return RF_EXIT_ENVIRONMENT;
    }
    if (!options->json && (races->count || (good && !options->quiet)))
        rf_races_report(races, replayed->trace, options->verbose);
    return races->count ? RF_EXIT_DIVERGED : code;
}

/* A rank that left with its recorded code has shown so: another code is a difference. */
static enum rf_fate fate_of(const struct rf_replayed *replayed) {
    const struct rf_supervision *supervision = replayed->supervision;
    if (find_unfinished(supervision))
        return RF_FATE_CRASHED;
    for (size_t i = 0; i < supervision->count; i++) {
        const struct rf_rank_summary *recorded =
            rf_summary_rank(replayed->summary, supervision->ranks[i].rank);
        if (recorded && !supervision->ranks[i].free && rf_own_code(&recorded->ending))
            return RF_FATE_LEFT;
    }
    return RF_FATE_GOOD;
}

/* Equal ends have equal names, however the launcher mixed them up: it said the same, or it was
   faster than ranks of which nobody knows either how they had ended in the recording. */
static bool ended_alike(const struct rf_replayed *replayed, enum rf_launcher launcher,
                        enum rf_fate fate, enum rf_verdict verdict) {
    int status = replayed->supervision->status;
    json_int_t recorded =
        json_integer_value(json_object_get(replayed->manifest, "launcher_status"));
    enum rf_fate recorded_fate = rf_summary_fate(replayed->summary);
    /* Hydra's 0 may be true of one of them. */
    bool zero = launcher == RF_LAUNCHER_HYDRA && status == 0;
    if (status == recorded && !(zero && fate != recorded_fate))
        return true;
    bool good = verdict == RF_VERDICT_SAME || verdict == RF_VERDICT_CUT_SHORT;
    return good && rf_hydra_hides(status, launcher, fate) && recorded_fate == RF_FATE_CRASHED &&
           !rf_summary_signal(replayed->summary);
}

/* The verdict on a run whose ranks did not differ; returns the program's status or our own. */
static int judge_end(const struct rf_replayed *replayed, enum rf_launcher launcher,
                     enum rf_verdict *verdict) {
    const struct rf_supervision *supervision = replayed->supervision;
    const json_t *recorded_status = json_object_get(replayed->manifest, "status");
    const struct rf_progress *unfinished = find_unfinished(supervision);
    enum rf_fate fate = fate_of(replayed);
    int status = rf_program_status(supervision->status, launcher, fate, replayed->summary);
    if (supervision->count == 0) {
        *verdict = RF_VERDICT_NOTHING;
        struct rf_error error = {0};
        char *text = rf_command_text(replayed->command);
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "nothing replayed: no %s with Refrain in it (the command ended with status %d)",
                rf_begin_of(rf_manifest_mpi(replayed->manifest)), status);
        rf_hint(&error, "refrain doctor -- %s", text);
        free(text);
        return rf_report_error(&error);
    }
    *verdict = compare_ends(replayed);
    /* What we were sent ourselves is another end, even if hydra calls it a success. */
    bool stopped = unfinished && rf_signal_seen();
    if (recorded_status && !stopped && !is_alone(replayed) &&
        ended_alike(replayed, launcher, fate, *verdict))
        status = (int)json_integer_value(recorded_status);
    if (*verdict != RF_VERDICT_BROKE_OFF)
        return status;
    if (unfinished) {
        rf_report_lost_rank(replayed, unfinished);
    } else {
        rf_say("the replay broke off: only %zu of %d ranks called %s", supervision->count,
               replayed->summary->size,
               strrchr(rf_begin_of(rf_manifest_mpi(replayed->manifest)), ' ') + 1);
        rf_hint_info(replayed);
    }
    return RF_EXIT_DIVERGED;
}

/* The status with which the recording says that the replayed processes ended; -1 if it does not. */
static int expected_status(const struct rf_replayed *replayed) {
    if (!is_alone(replayed)) {
        const json_t *status = json_object_get(replayed->manifest, "status");
        return status ? (int)json_integer_value(status) : -1;
    }
    const struct rf_ending *ending = &rf_summary_rank(replayed->summary, replayed->alone)->ending;
    bool known = ending->how == RF_END_ABORT || ending->how == RF_END_EXIT;
    if (ending->how == RF_END_NONE && rf_is_left(ending->code) && !ending->incomplete)
        return rf_left_status(ending->code);
    return known && !ending->incomplete ? ending->code & 0xff : -1;
}

int rf_judge(const struct rf_replayed *replayed, enum rf_launcher launcher,
             const struct rf_options *options, enum rf_verdict *verdict) {
    int code = RF_EXIT_DIVERGED;
    if (replayed->supervision->outcome == RF_OUTCOME_DIVERGED) {
        *verdict = RF_VERDICT_DIVERGED;
        rf_report_divergence(replayed);
    } else if (replayed->supervision->outcome == RF_OUTCOME_STALLED) {
        *verdict = RF_VERDICT_STALLED;
        rf_report_stall(replayed);
    } else {
        code = judge_end(replayed, launcher, verdict);
    }
    bool good = *verdict == RF_VERDICT_SAME || *verdict == RF_VERDICT_CUT_SHORT;
    /* A crashed rank runs free after the end of its recording: that may come out differently. What
       came after all that is recorded may as well. */
    int expected = expected_status(replayed);
    bool raced = replayed->races && replayed->races->count;
    bool otherwise = good && expected >= 0 && code != expected && !raced;
    char *end = rf_text("the end differs: the program ended with status %d, recorded was %d", code,
                        expected);
    if (otherwise && *verdict == RF_VERDICT_SAME)
        *verdict = RF_VERDICT_OTHER_STATUS;
    if (!options->quiet && !options->json && (good || *verdict == RF_VERDICT_STOPPED)) {
        announce(replayed, *verdict, end);
        announce_free(replayed);
    }
    bool said = !options->quiet && (options->json || *verdict == RF_VERDICT_OTHER_STATUS);
    if (otherwise && !said)
        rf_say("%s", end);
    if (otherwise && !options->json)
        rf_hint_info(replayed);
    free(end);
    if (replayed->races)
        code = judge_races(replayed, options, good, code);
    bool bad = !good && *verdict != RF_VERDICT_OTHER_STATUS;
    if (options->json && (replayed->extracts ? bad : !options->quiet))
        announce_json(replayed, *verdict, code, expected);
    return code;
}
