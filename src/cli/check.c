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
        printf("rank %d: missing: there is no rank-%d.trace\n", number, number);
    } else if (rank->damaged) {
        char *damage = rf_plain(rank->error.text);
        printf("rank %d: damaged: %s; %" PRIu64 " event%s before it %s usable\n", number, damage,
               rank->events, rf_plural(rank->events), rank->events == 1 ? "is" : "are");
        free(damage);
    } else if (rank->kept_damaged) {
        char *damage = rf_plain(rank->kept.text);
        printf("rank %d: damaged: %s; all of its %" PRIu64 " event%s %s usable\n", number, damage,
               rank->events, rf_plural(rank->events), rank->events == 1 ? "is" : "are");
        free(damage);
    } else {
        char *ending = rf_ending_text(rank, symbols);
        printf("rank %d: whole: %" PRIu64 " event%s, ", number, rank->events,
               rf_plural(rank->events));
        rf_print_plain(ending, stdout);
        if (rank->kept.text[0])
            fputs("; ", stdout);
        rf_print_plain(rank->kept.text, stdout);
        putchar('\n');
        free(ending);
    }
}

static json_t *rank_object(int number, const struct rf_rank_summary *rank,
                           struct rf_symbols *symbols) {
    bool damaged = rank && (rank->damaged || rank->kept_damaged);
    const char *state = !rank ? "missing" : damaged ? "damaged" : "whole";
    json_t *object = json_pack("{s:i,s:s,s:I}", "rank", number, "state", state, "events",
                               (json_int_t)(rank ? rank->events : 0));
    if (damaged)
        json_object_set_new(object, "damage",
                            rf_utf8_json(rank->damaged ? rank->error.text : rank->kept.text));
    else if (rank && rank->kept.text[0])
        json_object_set_new(object, "incomplete", rf_utf8_json(rank->kept.text));
    if (rank && !rank->damaged) {
        char *ending = rf_ending_text(rank, symbols);
        json_object_set_new(object, "ending", rf_utf8_json(ending));
        free(ending);
    }
    return object;
}

/* `damage`: of the manifest, or NULL. */
static void print_facts(const char *path, const char *damage, bool whole, json_t *ranks) {
    json_t *object = json_pack("{s:o,s:b,s:s,s:O}", "trace", rf_utf8_json(path), "whole", whole,
                               "manifest", damage ? "damaged" : "whole", "ranks", ranks);
    if (damage)
        json_object_set_new(object, "damage", rf_utf8_json(damage));
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

/* Says of every rank how it is; returns how many are bad. */
static int examine_ranks(const struct rf_options *options, const struct rf_summary *summary,
                         json_t *list, size_t *size) {
    struct rf_symbols *symbols = rf_symbols_new();
    int bad = 0;
    int *numbers = rf_summary_numbers(summary, size);
    for (size_t i = 0; i < *size; i++) {
        const struct rf_rank_summary *rank = rf_summary_rank(summary, numbers[i]);
        bad += !rank || rank->damaged || rank->kept_damaged;
        if (options->json)
            json_array_append_new(list, rank_object(numbers[i], rank, symbols));
        else
            print_rank(numbers[i], rank, symbols);
    }
    free(numbers);
    rf_symbols_free(symbols);
    return bad;
}

/* `damage`: of the manifest, or NULL. */
static int examine(const struct rf_options *options, const char *path, const char *damage,
                   const struct rf_summary *summary) {
    json_t *list = json_array();
    size_t size;
    rf_pager_begin();
    if (damage && !options->json) {
        fputs("manifest: damaged: ", stdout);
        rf_print_plain(damage, stdout);
        putchar('\n');
    }
    size_t bad = (size_t)examine_ranks(options, summary, list, &size);
    bool whole = bad == 0 && size > 0 && !damage;
    if (options->json)
        print_facts(path, damage, whole, list);
    rf_pager_end();
    json_decref(list);
    if (whole)
        return RF_EXIT_OK;
    struct rf_error error = {0};
    const char *shown = rf_shown_path(path);
    if (size == 0)
        rf_fail(&error, RF_EXIT_TRACE, "%s: the trace holds no rank at all", shown);
    else if (damage)
        rf_fail(&error, RF_EXIT_TRACE, "%s: the manifest is damaged; %zu of %zu ranks %s whole",
                shown, size - bad, size, size - bad == 1 ? "is" : "are");
    else
        rf_fail(&error, RF_EXIT_TRACE, "%s: %zu of %zu ranks %s damaged or missing", shown, bad,
                size, bad == 1 ? "is" : "are");
    char *named = rf_named(shown);
    rf_hint(&error, "refrain dump%s", named);
    free(named);
    return rf_report_error(&error);
}

int rf_verb_check(const struct rf_options *options) {
    struct rf_error error = {0}, unreadable = {0};
    struct rf_summary summary = {0};
    json_t *manifest = NULL;
    bool damaged = false;
    char *path = rf_find_trace(options->trace, &error);
    int code;
    if (!path || (!(manifest = rf_manifest_load(path, &damaged, &error)) && !damaged)) {
        code = rf_report_error(&error);
    } else if (!rf_summary_read(path, manifest, &summary, &unreadable)) {
        code = rf_report_error(&unreadable);
    } else {
        rf_summary_read_kept(&summary, path, manifest, true);
        code = examine(options, path, damaged ? error.text : NULL, &summary);
    }
    rf_summary_free(&summary);
    json_decref(manifest);
    free(path);
    return code;
}
