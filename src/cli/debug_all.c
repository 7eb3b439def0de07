/* Every rank of a job, each alone under a gdb of its own: all are extracted in one replay. */
#include <stdlib.h>

#include "debug.h"
#include "in_order.h"
#include "messages.h"
#include "panes.h"
#include "text.h"

/* A rank may lack the event that others have; one that nobody has is a mistake. */
static bool some_have_event(const struct rf_debug *debug, struct rf_error *error) {
    uint64_t most = 0;
    for (int rank = 0; rank < debug->rerun.summary.size; rank++) {
        const struct rf_rank_summary *summary = rf_summary_rank(&debug->rerun.summary, rank);
        if (summary && summary->events > most)
            most = summary->events;
    }
    if (debug->options->event == UINT64_MAX || debug->options->event < most)
        return true;
    rf_fail(error, RF_EXIT_USAGE, "--event %llu: no rank has more than %llu event%s",
            (unsigned long long)debug->options->event, (unsigned long long)most, rf_plural(most));
    return rf_hint(error, "refrain info%s", debug->rerun.named);
}

static int extract_missing(struct rf_debug *debug) {
    int size = debug->rerun.summary.size, count = 0, code = RF_EXIT_OK;
    bool *marked = rf_allocate((size_t)size, sizeof *marked);
    for (int rank = 0; rank < size; rank++) {
        marked[rank] = rf_debug_must_extract(debug, rank);
        count += marked[rank];
    }
    if (count)
        code = rf_debug_extract(debug, marked, true);
    free(marked);
    return code;
}

static int look_at(void *context, int rank) {
    struct rf_debug *debug = context;
    struct rf_error error = {0};
    return rf_rerun_usable(&debug->rerun, rank, &error) && rf_debug_has_event(debug, rank, &error)
               ? rf_debug_rank(debug, rank)
               : rf_report_error(&error);
}

/* What follows "refrain debug --rank R" in every pane. */
static int show(struct rf_debug *debug) {
    const struct rf_options *options = debug->options;
    char *event = rf_text("%llu", (unsigned long long)options->event);
    const char *words[8] = {0};
    size_t count = 0;
    if (options->event != UINT64_MAX) {
        words[count++] = "--event";
        words[count++] = event;
    }
    if (options->at) {
        words[count++] = "--at";
        words[count++] = options->at;
    }
    if (options->quiet)
        words[count++] = "-q";
    words[count] = debug->rerun.shown;
    int code = rf_panes_show(debug->rerun.summary.size, words, options->quiet);
    free(event);
    return code;
}

int rf_debug_all(struct rf_debug *debug) {
    struct rf_error error = {0};
    if (!some_have_event(debug, &error) ||
        (!debug->options->batch && !rf_panes_possible(debug->rerun.named, &error)))
        return rf_report_error(&error);
    int code = extract_missing(debug);
    if (code != RF_EXIT_OK)
        return code;
    return debug->options->batch ? rf_in_order(debug->rerun.summary.size, look_at, debug)
                                 : show(debug);
}
