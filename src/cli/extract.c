/* refrain extract: replays the job, and keeps the contents of everything that some ranks get. */
#include "extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "extracted.h"
#include "messages.h"
#include "ranks.h"
#include "text.h"
#include "utf8.h"

struct chosen {
    int *ranks;
    size_t count;
};

static void announce(const struct rf_rerun *rerun, const struct rf_options *options,
                     const struct chosen *chosen, int status) {
    json_t *list = json_array();
    for (size_t i = 0; i < chosen->count; i++) {
        char size[RF_SIZE_TEXT];
        int rank = chosen->ranks[i];
        uint64_t bytes = rf_extracted_bytes(rerun->directory, rank);
        json_array_append_new(list,
                              json_pack("{s:i,s:I}", "rank", rank, "bytes", (json_int_t)bytes));
        if (!options->json)
            rf_say("extracted: %s: rank %d: %s", rerun->shown, rank, rf_size_text(bytes, size));
    }
    if (options->json)
        rf_say_json(json_pack("{s:o,s:O,s:i}", "extracted", rf_utf8_json(rerun->shown), "ranks",
                              list, "status", status));
    else
        rf_say_hint("refrain debug --rank %d%s", chosen->ranks[0], rerun->named);
    json_decref(list);
}

/* A job that ended as recorded may have taken a rank with it before that came to its own end. */
static void warn(const struct rf_rerun *rerun, const struct chosen *chosen) {
    for (size_t i = 0; i < chosen->count; i++)
        for (size_t j = 0; j < rerun->supervision.count; j++) {
            const struct rf_progress *rank = &rerun->supervision.ranks[j];
            const struct rf_rank_summary *recorded = rf_summary_rank(&rerun->summary, rank->rank);
            if (rank->rank == chosen->ranks[i] && rank->events < recorded->events)
                rf_say("rank %d was extracted only up to event %llu of %llu: the job ended before",
                       rank->rank, (unsigned long long)rank->events,
                       (unsigned long long)recorded->events);
        }
}

static int nothing_left(const struct rf_rerun *rerun, int rank) {
    struct rf_error error = {0};
    rf_fail(&error, RF_EXIT_ENVIRONMENT,
            "nothing extracted: rank %d left no contents in %s: is there room to write?", rank,
            rerun->shown);
    rf_hint(&error, "refrain doctor");
    return rf_report_error(&error);
}

/* The replay was good: all chosen ranks are kept, or none; with `some`, those that can be. */
static int accept(const struct rf_rerun *rerun, const struct rf_options *options,
                  const struct chosen *chosen, bool some, int status) {
    size_t kept = 0;
    for (size_t i = 0; i < chosen->count; i++)
        if (rf_extracted_accept(rerun->directory, chosen->ranks[i])) {
            kept++;
        } else if (!some) {
            for (size_t j = i; j < chosen->count; j++)
                rf_extracted_reject(rerun->directory, chosen->ranks[j]);
            return nothing_left(rerun, chosen->ranks[i]);
        }
    if (!kept)
        return nothing_left(rerun, chosen->ranks[0]);
    warn(rerun, chosen);
    if (!options->quiet)
        announce(rerun, options, chosen, status);
    return RF_EXIT_OK;
}

/* Two at once would write into the same files. Where the file system knows no locks nothing is done
   about that. `lock` is to be closed, if it is not negative. */
static bool lock_contents(const struct rf_rerun *rerun, int *lock) {
    *lock = open(rerun->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static int extract_now(struct rf_rerun *rerun, const struct rf_options *options, const bool *marked,
                       bool some) {
    struct chosen chosen = {.ranks = rf_allocate((size_t)rerun->summary.size, sizeof(int))};
    for (int rank = 0; rank < rerun->summary.size; rank++)
        if (marked[rank]) {
            chosen.ranks[chosen.count++] = rank;
            rf_extracted_set_aside(rerun->directory, rank);
        }
    /* What a good replay has to say is said here. */
    struct rf_options silent = *options;
    silent.quiet = true;
    rerun->replayed.extracts = !options->quiet;
    char *keep = rf_ranks_text(chosen.ranks, chosen.count);
    enum rf_verdict verdict;
    int code = rf_rerun_job(rerun, &silent, keep, &verdict);
    if (verdict == RF_VERDICT_SAME || verdict == RF_VERDICT_CUT_SHORT ||
        verdict == RF_VERDICT_OTHER_STATUS) {
        code = accept(rerun, options, &chosen, some, code);
    } else {
        for (size_t i = 0; i < chosen.count; i++)
            rf_extracted_reject(rerun->directory, chosen.ranks[i]);
        if (verdict == RF_VERDICT_STOPPED && !(options->json && !options->quiet))
            rf_say("nothing extracted: the replay was stopped");
    }
    free(keep);
    free(chosen.ranks);
    return code;
}

int rf_extract(struct rf_rerun *rerun, const struct rf_options *options, const bool *marked,
               bool some) {
    struct rf_error error = {0};
    int lock, code;
    if (lock_contents(rerun, &lock)) {
        code = extract_now(rerun, options, marked, some);
    } else {
        rf_fail(&error, RF_EXIT_ENVIRONMENT, "%s: another extraction into this trace is under way",
                rerun->shown);
        code = rf_report_error(&error);
    }
    if (lock >= 0)
        close(lock);
    return code;
}

int rf_verb_extract(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_rerun rerun = {0};
    bool *marked = NULL;
    int code;
    if (!options->ranks) {
        rf_fail(&error, RF_EXIT_USAGE,
                "extract: --rank is missing: which ranks are to be extracted?");
        char *named = rf_named(options->trace);
        rf_hint(&error, "refrain extract --rank 0%s", named);
        free(named);
        return rf_report_error(&error);
    }
    if (!rf_rerun_open(&rerun, options, &error) ||
        !rf_rerun_extractable(&rerun, "extract", &error) ||
        !rf_summary_whole(&rerun.summary, rerun.shown, &error)) {
        code = rf_report_error(&error);
    } else {
        marked = rf_allocate((size_t)rerun.summary.size, sizeof *marked);
        code = rf_ranks_parse(options->ranks, rerun.summary.size, "extract", rerun.named, marked,
                              &error)
                   ? rf_extract(&rerun, options, marked, false)
                   : rf_report_error(&error);
    }
    free(marked);
    rf_rerun_close(&rerun);
    return code;
}
