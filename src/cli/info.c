/* refrain info: what was recorded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "extracted.h"
#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "options.h"
#include "pager.h"
#include "ranks.h"
#include "summary.h"
#include "text.h"
#include "utf8.h"

/* The hosts of the ranks, each once, in the order of ranks. */
static json_t *hosts_of(const struct rf_summary *summary) {
    json_t *hosts = json_array();
    for (size_t i = 0; i < summary->count; i++) {
        const char *host = summary->ranks[i].node.host;
        bool known = !*host;
        size_t j;
        const json_t *other;
        json_array_foreach(hosts, j, other) known =
            known || strcmp(json_string_value(other), host) == 0;
        if (!known)
            json_array_append_new(hosts, json_string(host));
    }
    return hosts;
}

static const char *library_of(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].node.library[0])
            return summary->ranks[i].node.library;
    return "";
}

static double bytes_per_event(const struct rf_summary *summary) {
    return summary->events ? (double)summary->bytes / (double)summary->events : 0;
}

static json_t *rank_object(const struct rf_rank_summary *rank, struct rf_symbols *symbols) {
    static const char *const ends[] = {
        [RF_END_NONE] = "none",
        [RF_END_FINALIZE] = "finalize",
        [RF_END_ABORT] = "abort",
        [RF_END_EXIT] = "exit",
    };
    json_t *object =
        json_pack("{s:i,s:s,s:i,s:I,s:I,s:b}", "rank", rank->rank, "host", rank->node.host, "pid",
                  rank->node.pid, "events", (json_int_t)rank->events, "bytes",
                  (json_int_t)rank->bytes, "damaged", rank->damaged);
    char *text = rf_ending_text(rank, symbols);
    json_object_set_new(object, "ending", rf_utf8_json(text));
    free(text);
    if (rank->damaged) {
        json_object_set_new(object, "damage", rf_utf8_json(rank->error.text));
        return object;
    }
    bool left = rank->ending.how == RF_END_NONE && rf_is_left(rank->ending.code);
    json_object_set_new(object, "end", json_string(ends[left ? RF_END_EXIT : rank->ending.how]));
    json_object_set_new(object, "code", json_integer(rf_ending_code(&rank->ending)));
    if (rank->ending.how == RF_END_NONE && rank->ending.code > 0)
        json_object_set_new(object, "signal", json_integer(rank->ending.code));
    json_object_set_new(object, "incomplete", json_boolean(rank->ending.incomplete));
    json_object_set_new(object, "unmatched", json_integer((json_int_t)rank->unmatched));
    if (rank->ending.in_flight.active) {
        char place[RF_PLACE_TEXT];
        rf_symbols_place(symbols, &rank->module, rank->site.offset, place);
        json_object_set_new(
            object, "in_flight",
            json_pack("{s:s,s:o}", "function", rank->site.function, "at", rf_utf8_json(place)));
    }
    return object;
}

static json_t *extracted_list(const char *path, const struct rf_summary *summary) {
    json_t *list = json_array();
    for (size_t i = 0; i < summary->count; i++) {
        int rank = summary->ranks[i].rank;
        uint64_t bytes = rf_extracted_bytes(path, rank);
        if (bytes)
            json_array_append_new(list,
                                  json_pack("{s:i,s:I}", "rank", rank, "bytes", (json_int_t)bytes));
    }
    return list;
}

static void print_threads(const struct rf_summary *summary) {
    struct rf_thread_counts all = rf_summary_threads(summary);
    char size[RF_SIZE_TEXT];
    if (!all.exists)
        return;
    printf("threads    %" PRIu32 ", %" PRIu64 " operations, order by %s, %s%s\n", all.threads,
           all.operations, rf_thread_order_name(all.order), rf_size_text(all.bytes, size),
           all.stopped ? ", not to the end: a log could not be lengthened" : "");
    printf("  %-8s %12" PRIu64 "\n  %-8s %12" PRIu64 "\n  %-8s %12" PRIu64 "\n", "turn", all.turns,
           "fail", all.failures, "value", all.values);
}

static json_t *threads_object(const struct rf_summary *summary) {
    struct rf_thread_counts all = rf_summary_threads(summary);
    if (!all.exists)
        return json_null();
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "order", rf_thread_order_name(all.order),
                     "threads", (json_int_t)all.threads, "operations", (json_int_t)all.operations,
                     "turns", (json_int_t)all.turns, "failures", (json_int_t)all.failures, "values",
                     (json_int_t)all.values, "bytes", (json_int_t)all.bytes);
}

static void print_json(const char *path, json_t *manifest, const struct rf_summary *summary,
                       struct rf_symbols *symbols) {
    json_t *object = json_deep_copy(manifest);
    json_t *kinds = json_object(), *ranks = json_array();
    for (int kind = 1; kind < RF_KINDS; kind++)
        if (summary->kinds[kind])
            json_object_set_new(kinds, rf_kind_names[kind],
                                json_integer((json_int_t)summary->kinds[kind]));
    for (size_t i = 0; i < summary->count; i++)
        json_array_append_new(ranks, rank_object(&summary->ranks[i], symbols));
    json_object_set_new(object, "trace", rf_utf8_json(path));
    json_object_set_new(object, "ranks", json_integer(summary->size));
    json_object_set_new(object, "hosts", hosts_of(summary));
    json_object_set_new(json_object_get(object, "mpi"), "version",
                        json_string(library_of(summary)));
    json_object_set_new(object, "bytes", json_integer((json_int_t)rf_directory_bytes(path)));
    json_object_set_new(object, "events", json_integer((json_int_t)summary->events));
    json_object_set_new(object, "checks", json_integer((json_int_t)summary->kinds[RF_CHECK]));
    json_object_set_new(object, "events_by_kind", kinds);
    json_object_set_new(object, "bytes_per_event", json_real(bytes_per_event(summary)));
    json_object_set_new(object, "not_recorded", rf_summary_unsupported_json(summary));
    json_object_set_new(object, "threads", threads_object(summary));
    json_object_set_new(object, "extracted", extracted_list(path, summary));
    json_object_set_new(object, "nodes", ranks);
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

/* What comes from outside may hold anything. */
static void print_line(const char *title, const char *text) {
    printf("%-10s ", title);
    rf_print_plain(text, stdout);
    putchar('\n');
}

/* Each node of MCAPI adds its own name to that of the library. */
static char *library_text(const json_t *manifest, const struct rf_summary *summary) {
    const char *library = library_of(summary);
    const char *end = strstr(library, ", domain ");
    return *library ? rf_text("%.*s", end ? (int)(end - library) : 255, library)
                    : rf_copy(rf_mpi_title(rf_manifest_mpi(manifest)));
}

static char *scheme_text(const json_t *manifest) {
    const char *check = rf_manifest_check(manifest);
    return rf_text("%s%s%s%s, refrain %s", rf_manifest_text(manifest, "scheme"),
                   check ? ", checksums " : "", check ? check : "",
                   json_is_true(json_object_get(manifest, "fill")) ? ", fresh memory filled" : "",
                   rf_manifest_text(manifest, "refrain"));
}

static void print_ranks(const struct rf_summary *summary) {
    printf("%-10s %d", "ranks", summary->size);
    json_t *hosts = hosts_of(summary);
    size_t i;
    const json_t *host;
    json_array_foreach(hosts, i, host) {
        fputs(i ? ", " : " on ", stdout);
        rf_print_plain(json_string_value(host), stdout);
    }
    putchar('\n');
    json_decref(hosts);
}

static void print_run(const json_t *manifest, const struct rf_summary *summary) {
    char **words = rf_manifest_command(manifest);
    char *command = rf_command_text(words), *directory = rf_manifest_directory(manifest);
    char *library = library_text(manifest, summary), *scheme = scheme_text(manifest);
    print_line("command", command);
    print_line("directory", directory);
    printf("%-10s ", "recorded");
    rf_print_plain(rf_manifest_text(manifest, "started"), stdout);
    const json_t *duration = json_object_get(manifest, "duration");
    const json_t *status = json_object_get(manifest, "status");
    if (rf_manifest_complete(manifest))
        printf(", %.3f seconds, status %d\n", json_number_value(duration),
               (int)json_integer_value(status));
    else
        puts(", and cut off: the recording is running or refrain was killed");
    print_line(rf_is_mpi(rf_manifest_mpi(manifest)) ? "MPI" : "library", library);
    print_ranks(summary);
    print_line("scheme", scheme);
    if (rf_manifest_values(manifest))
        print_line("values", rf_manifest_values(manifest));
    free(scheme);
    free(library);
    free(command);
    rf_manifest_free_command(words);
    free(directory);
}

static void print_extracted(const char *path, const struct rf_summary *summary) {
    int *ranks = rf_allocate(summary->count, sizeof *ranks);
    size_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < summary->count; i++) {
        uint64_t more = rf_extracted_bytes(path, summary->ranks[i].rank);
        if (more)
            ranks[count++] = summary->ranks[i].rank;
        bytes += more;
    }
    if (count) {
        char size[RF_SIZE_TEXT];
        char *text = rf_ranks_text(ranks, count);
        printf("extracted  rank%s %s: %s\n", rf_plural(count), text, rf_size_text(bytes, size));
        free(text);
    }
    free(ranks);
}

static void print_text(const char *path, const json_t *manifest, const struct rf_summary *summary,
                       struct rf_symbols *symbols, bool verbose) {
    char size[RF_SIZE_TEXT];
    print_line("trace", rf_shown_path(path));
    print_run(manifest, summary);
    printf("size       %s", rf_size_text(rf_directory_bytes(path), size));
    if (summary->events)
        printf(", %.2f bytes per event", bytes_per_event(summary));
    putchar('\n');
    print_extracted(path, summary);
    printf("events     %" PRIu64 "\n", summary->events);
    for (int kind = 1; kind < RF_KINDS; kind++)
        if (summary->kinds[kind] && rf_is_decision((enum rf_kind)kind))
            printf("  %-8s %12" PRIu64 "\n", rf_kind_names[kind], summary->kinds[kind]);
    /* What Refrain itself adds to the stream. */
    for (int kind = 1; verbose && kind < RF_KINDS; kind++)
        if (summary->kinds[kind] && !rf_is_decision((enum rf_kind)kind))
            printf("besides    %" PRIu64 " %s\n", summary->kinds[kind], rf_kind_names[kind]);
    print_threads(summary);
    if (summary->unsupported_count) {
        char *names = rf_summary_unsupported(summary);
        printf("not recorded: %s\n", names);
        free(names);
    }
    puts("how it ended");
    rf_summary_endings(summary, symbols, "  ", stdout);
}

int rf_verb_info(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_summary summary = {0};
    json_t *manifest = NULL;
    char *path = rf_find_trace(options->trace, &error);
    if (!path || !(manifest = rf_manifest_load(path, NULL, &error)) ||
        !rf_summary_read(path, manifest, &summary, &error)) {
        json_decref(manifest);
        free(path);
        return rf_report_error(&error);
    }
    struct rf_symbols *symbols = rf_symbols_new();
    rf_pager_begin();
    if (options->json)
        print_json(path, manifest, &summary, symbols);
    else
        print_text(path, manifest, &summary, symbols, options->verbose);
    rf_pager_end();
    int code =
        rf_summary_whole(&summary, options->trace ? options->trace : rf_shown_path(path), &error)
            ? RF_EXIT_OK
            : rf_report_error(&error);
    rf_symbols_free(symbols);
    rf_summary_free(&summary);
    json_decref(manifest);
    free(path);
    return code;
}
