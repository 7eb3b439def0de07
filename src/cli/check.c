/* refrain check: is the trace whole, and if not, what is still usable? */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "options.h"
#include "pager.h"
#include "summary.h"
#include "text.h"
#include "utf8.h"

static void print_rank(int number, const struct rf_rank_summary *rank, struct rf_symbols *symbols) {
    if (!rank) {
        printf("rank %d: missing: it has no file\n", number);
    } else if (rank->damaged) {
        printf("rank %d: damaged: %s; %" PRIu64 " event%s before it %s usable\n", number,
               rank->error.text, rank->events, rf_plural(rank->events),
               rank->events == 1 ? "is" : "are");
    } else {
        char *ending = rf_ending_text(rank, symbols);
        printf("rank %d: whole: %" PRIu64 " event%s, %s\n", number, rank->events,
               rf_plural(rank->events), ending);
        free(ending);
    }
}

static json_t *rank_object(int number, const struct rf_rank_summary *rank,
                           struct rf_symbols *symbols) {
    const char *state = !rank ? "missing" : rank->damaged ? "damaged" : "whole";
    json_t *object = json_pack("{s:i,s:s,s:I}", "rank", number, "state", state, "events",
                               (json_int_t)(rank ? rank->events : 0));
    if (rank && rank->damaged)
        json_object_set_new(object, "damage", rf_utf8_json(rank->error.text));
    if (rank && !rank->damaged) {
        char *ending = rf_ending_text(rank, symbols);
        json_object_set_new(object, "ending", rf_utf8_json(ending));
        free(ending);
    }
    return object;
}

static int examine(const struct rf_options *options, const char *path,
                   const struct rf_summary *summary) {
    struct rf_symbols *symbols = rf_symbols_new();
    json_t *list = json_array();
    int bad = 0;
    size_t size;
    int *numbers = rf_summary_numbers(summary, &size);
    rf_pager_begin();
    for (size_t i = 0; i < size; i++) {
        const struct rf_rank_summary *rank = rf_summary_rank(summary, numbers[i]);
        bad += !rank || rank->damaged;
        if (options->json)
            json_array_append_new(list, rank_object(numbers[i], rank, symbols));
        else
            print_rank(numbers[i], rank, symbols);
    }
    free(numbers);
    if (options->json) {
        json_t *object = json_pack("{s:o,s:b,s:O}", "trace", rf_utf8_json(path), "whole",
                                   bad == 0 && size > 0, "ranks", list);
        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(object);
    }
    rf_pager_end();
    json_decref(list);
    rf_symbols_free(symbols);
    if (bad == 0 && size > 0)
        return RF_EXIT_OK;
    struct rf_error error = {0};
    if (size == 0)
        rf_fail(&error, RF_EXIT_TRACE, "%s: the trace holds no rank at all", rf_shown_path(path));
    else
        rf_fail(&error, RF_EXIT_TRACE, "%s: %d of %zu ranks %s damaged or missing",
                rf_shown_path(path), bad, size, bad == 1 ? "is" : "are");
    rf_hint(&error, "refrain dump %s", rf_shown_path(path));
    return rf_report_error(&error);
}

int rf_verb_check(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_summary summary = {0};
    json_t *manifest = NULL;
    char *path = rf_find_trace(options->trace, &error);
    int code;
    if (!path || !(manifest = rf_manifest_load(path, &error)) ||
        !rf_summary_read(path, manifest, &summary, &error))
        code = rf_report_error(&error);
    else
        code = examine(options, path, &summary);
    rf_summary_free(&summary);
    json_decref(manifest);
    free(path);
    return code;
}
