/* refrain dump: every event, one line each. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "detect.h"
#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "options.h"
#include "pager.h"
#include "ranks.h"
#include "summary.h"
#include "symbols.h"
#include "text.h"
#include "utf8.h"

struct dump {
    struct rf_reader *reader;
    struct rf_symbols *symbols;
    int rank;
    char **places; /* text of each site, filled in when it is first met */
    size_t place_count;
    bool threaded; /* the stream has said whose its events are */
    int32_t thread;
};

/* Neither belongs to a single call. */
static bool has_site(enum rf_kind kind) {
    return kind != RF_CHECK && kind != RF_THREAD;
}

static const char *place_of(struct dump *dump, uint32_t number, const struct rf_site *site) {
    if (!site || number >= dump->place_count)
        return "?";
    if (!dump->places[number]) {
        char text[RF_PLACE_TEXT];
        rf_symbols_place(dump->symbols, rf_reader_module(dump->reader, site->module), site->offset,
                         text);
        dump->places[number] = rf_copy(text);
    }
    return dump->places[number];
}

static json_t *value_json(enum rf_column column, int32_t value) {
    char buffer[RF_VALUE_TEXT];
    if (column == RF_COL_HASH)
        return json_string(rf_value_text(column, value, buffer));
    if (column == RF_COL_CALL)
        return json_integer((json_int_t)(uint32_t)value);
    return value == RF_UNKNOWN || value == RF_UNDEFINED ? json_null() : json_integer(value);
}

static void print_text(struct dump *dump, const struct rf_event *event) {
    const struct rf_site *site = rf_reader_site(dump->reader, event->site);
    if (rf_is_decision(event->kind))
        printf("%5d %9" PRIu64 "  %-6s", dump->rank, event->number, rf_kind_names[event->kind]);
    else
        printf("%5d %9s  %-6s", dump->rank, "", rf_kind_names[event->kind]);
    if (!has_site(event->kind))
        printf(" %-16s %-20s", "", "");
    else
        printf(" %-16s %-20s", site ? site->function : "?", place_of(dump, event->site, site));
    putchar(' ');
    rf_describe(event, stdout);
    if (dump->threaded && event->kind != RF_THREAD)
        printf("  (thread %" PRId32 ")", dump->thread);
    putchar('\n');
}

static void print_json(struct dump *dump, const struct rf_event *event) {
    const struct rf_site *site = rf_reader_site(dump->reader, event->site);
    const struct rf_module *module = site ? rf_reader_module(dump->reader, site->module) : NULL;
    unsigned flags = rf_kind_flags[event->kind];
    json_t *number =
        rf_is_decision(event->kind) ? json_integer((json_int_t)event->number) : json_null();
    json_t *object = json_pack("{s:i,s:o,s:s}", "rank", dump->rank, "event", number, "kind",
                               rf_kind_names[event->kind]);
    if (site && has_site(event->kind)) {
        json_object_set_new(object, "function", json_string(site->function));
        json_object_set_new(object, "at", rf_utf8_json(place_of(dump, event->site, site)));
        json_object_set_new(object, "module", rf_utf8_json(module ? module->path : ""));
        json_object_set_new(object, "offset", json_integer((json_int_t)site->offset));
    }
    json_object_set_new(object, "channel", json_integer(event->channel));
    const int32_t values[2] = {event->first, event->second};
    for (int i = 0; i < 2; i++) {
        enum rf_column column = rf_kind_columns[event->kind][i];
        if (column != RF_COL_NONE)
            json_object_set_new(object, rf_column_names[column], value_json(column, values[i]));
    }
    if (dump->threaded)
        json_object_set_new(object, "thread", json_integer(dump->thread));
    if (flags & RF_BACK)
        json_object_set_new(object, "back", json_integer(event->back));
    if (flags & RF_LIST) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < event->list_length; i++)
            json_array_append_new(list, json_integer(event->list[i]));
        json_object_set_new(object, "list", list);
    }
    if (flags & RF_REPEATS)
        json_object_set_new(object, "times", json_integer((json_int_t)event->run));
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

/* How the rank ended is the last line, whether the end itself was written or not. */
static void print_end(struct dump *dump, uint64_t events, uint32_t last, bool json) {
    struct rf_rank_summary rank = {.rank = dump->rank, .events = events};
    rank.ending = *rf_reader_ending(dump->reader);
    rf_rank_stood(&rank, dump->reader, last);
    char *text = rf_ending_text(&rank, dump->symbols);
    if (json) {
        json_t *object = json_pack("{s:i,s:I,s:s,s:o,s:i}", "rank", dump->rank, "event",
                                   (json_int_t)events, "kind", rf_kind_names[RF_END], "ending",
                                   rf_utf8_json(text), "code", rf_ending_code(&rank.ending));
        json_dumpf(object, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(object);
    } else {
        printf("%5d %9" PRIu64 "  %-6s %s\n", dump->rank, events, rf_kind_names[RF_END], text);
    }
    free(text);
}

static bool dump_rank(const char *path, const json_t *manifest, int rank,
                      const struct rf_options *options, struct rf_symbols *symbols,
                      struct rf_error *error) {
    struct dump dump = {.rank = rank, .symbols = symbols};
    dump.reader = rf_reader_open(path, rank, error);
    if (!dump.reader)
        return false;
    dump.place_count = rf_reader_site_count(dump.reader) + 1;
    dump.places = rf_allocate(dump.place_count, sizeof *dump.places);
    struct rf_event event;
    uint64_t lines = 0, events = 0;
    uint32_t last = 0;
    enum rf_read result = RF_READ_EVENT;
    while (lines < options->limit && !ferror(stdout) &&
           (result = rf_reader_next(dump.reader, &event, error)) == RF_READ_EVENT) {
        if (event.kind == RF_END)
            continue;
        if (event.kind == RF_THREAD) {
            dump.threaded = true;
            dump.thread = event.first;
        }
        if (rf_is_decision(event.kind)) {
            events += event.run;
            last = event.site;
        }
        /* What Refrain itself adds to the stream would drown the rest. */
        if (!options->all && !rf_is_decision(event.kind))
            continue;
        if (options->json)
            print_json(&dump, &event);
        else
            print_text(&dump, &event);
        lines++;
    }
    if (result == RF_READ_END)
        print_end(&dump, events, last, options->json);
    for (size_t i = 0; i < dump.place_count; i++)
        free(dump.places[i]);
    free(dump.places);
    rf_reader_close(dump.reader);
    return result != RF_READ_DAMAGED && !rf_thread_log_missing(path, manifest, rank, error) &&
           rf_thread_dump(path, rank, symbols, options->limit, options->all, options->json, error);
}

/* How many ranks the program had, by the first file that can be read; at least those of the files.
 */
static int count_ranks(const char *path, const int *numbers, size_t count) {
    int size = count ? numbers[count - 1] + 1 : 0;
    for (size_t i = 0; i < count; i++) {
        struct rf_reader *reader = rf_reader_open(path, numbers[i], NULL);
        if (!reader)
            continue;
        int recorded = rf_reader_node(reader)->size;
        rf_reader_close(reader);
        return recorded > size ? recorded : size;
    }
    return size;
}

/* The ranks to show: those asked for, or all; one without a file will be missed. */
static bool choose(const char *path, bool sparse, const struct rf_options *options, bool **chosen,
                   int *size, struct rf_error *error) {
    const char *list = options->ranks;
    int *numbers = NULL;
    size_t count = 0;
    if (!rf_trace_ranks(path, &numbers, &count, error))
        return false;
    *size = count_ranks(path, numbers, count);
    *chosen = rf_allocate((size_t)*size, sizeof **chosen);
    for (int rank = 0; rank < *size && !list && !sparse; rank++)
        (*chosen)[rank] = true;
    for (size_t i = 0; i < count && !list; i++)
        (*chosen)[numbers[i]] = true;
    free(numbers);
    if (!*size)
        return rf_fail(error, RF_EXIT_TRACE, "%s: the trace holds no rank at all",
                       rf_shown_path(path));
    char *named = rf_named(options->trace);
    bool good = !list || rf_ranks_parse(list, *size, "dump", named, *chosen, error);
    free(named);
    return good;
}

/* What can be read of the other ranks is shown even if one is damaged. False with the first error.
 */
static bool dump_ranks(const struct rf_options *options, const char *path, const json_t *manifest,
                       const bool *chosen, int size, struct rf_error *first) {
    struct rf_symbols *symbols = rf_symbols_new();
    struct rf_error error = {0};
    bool good = true;
    rf_pager_begin();
    if (!options->json)
        printf("%5s %9s  %-6s %-16s %-20s %s\n", "rank", "event", "kind", "function", "at", "what");
    for (int rank = 0; rank < size; rank++)
        if (chosen[rank] && !dump_rank(path, manifest, rank, options, symbols, &error)) {
            if (good)
                *first = error;
            good = false;
        }
    rf_pager_end();
    rf_symbols_free(symbols);
    return good;
}

/* `damage`: of the manifest, or NULL. */
static bool dump_trace(const struct rf_options *options, const char *path, const json_t *manifest,
                       const struct rf_error *damage, struct rf_error *error) {
    /* Who the ranks are is not known without the manifest: those that have files. */
    bool sparse = damage || !rf_is_mpi(rf_manifest_mpi(manifest));
    bool *chosen = NULL;
    int size = 0;
    bool good = choose(path, sparse, options, &chosen, &size, error);
    if (good) {
        good = dump_ranks(options, path, manifest, chosen, size, error) && !damage;
        if (damage)
            *error = *damage;
        if (!good && !error->hint[0]) {
            char *named = rf_named(options->trace);
            rf_hint(error, "refrain check%s", named);
            free(named);
        }
    }
    free(chosen);
    return good;
}

int rf_verb_dump(const struct rf_options *options) {
    struct rf_error error = {0};
    json_t *manifest = NULL;
    bool damaged = false, good = false;
    char *path = rf_find_trace(options->trace, &error);
    if (path && ((manifest = rf_manifest_load(path, &damaged, &error)) || damaged)) {
        struct rf_error damage = error;
        good = dump_trace(options, path, manifest, damaged ? &damage : NULL, &error);
    }
    json_decref(manifest);
    free(path);
    return good ? RF_EXIT_OK : rf_report_error(&error);
}
