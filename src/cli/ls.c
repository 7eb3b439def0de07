/* refrain ls: the traces here. */
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "options.h"
#include "pager.h"
#include "summary.h"
#include "text.h"
#include "trace/reader.h"
#include "utf8.h"

struct row {
    char *path;
    char *command;
    char *started;
    char *state; /* "complete", "recording", "damaged" */
    size_t ranks;
    uint64_t bytes;
    bool latest;
};

static int by_time(const void *left, const void *right) {
    const struct row *a = left, *b = right;
    int order = strcmp(a->started, b->started);
    return order ? order : strcmp(a->path, b->path);
}

/* Is every file there that the recording ended with? What is in them is the matter of `check`. */
static bool has_all_files(const char *path, const json_t *manifest, const int *ranks,
                          size_t count) {
    struct rf_error ignored;
    if (count == 0 || json_integer_value(json_object_get(manifest, "ranks")) > (json_int_t)count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (rf_thread_log_missing(path, manifest, ranks[i], &ignored))
            return false;
    return true;
}

static struct row read_row(const char *path, bool latest) {
    struct rf_error ignored = {0};
    struct row row = {.path = rf_copy(path), .latest = latest, .bytes = rf_directory_bytes(path)};
    int *numbers = NULL;
    rf_trace_ranks(path, &numbers, &row.ranks, &ignored);
    json_t *manifest = rf_manifest_load(path, NULL, &ignored);
    if (manifest) {
        char **words = rf_manifest_command(manifest);
        row.command = rf_command_text(words);
        row.started = rf_copy(rf_manifest_text(manifest, "started"));
        bool whole =
            !rf_manifest_complete(manifest) || has_all_files(path, manifest, numbers, row.ranks);
        row.state = rf_copy(whole ? rf_manifest_text(manifest, "state") : "damaged");
        rf_manifest_free_command(words);
        json_decref(manifest);
    } else {
        row.command = rf_copy("?");
        row.started = rf_copy("?");
        row.state = rf_copy("damaged");
    }
    free(numbers);
    return row;
}

static struct row *read_rows(const char *folder, size_t *count) {
    struct row *rows = NULL;
    char *link = rf_text("%s/latest", folder);
    char target[4096];
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    free(link);
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "latest") == 0)
            continue;
        char *path = rf_text("%s/%s", folder, entry->d_name);
        char *manifest = rf_text("%s/manifest.json", path);
        if (access(manifest, F_OK) == 0) {
            rows = rf_grow(rows, *count, sizeof *rows);
            rows[(*count)++] = read_row(path, strcmp(entry->d_name, target) == 0);
        }
        free(manifest);
        free(path);
    }
    if (entries)
        closedir(entries);
    if (*count)
        qsort(rows, *count, sizeof *rows, by_time);
    return rows;
}

static void print_json(const struct row *rows, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:s,s:s,s:I,s:I,s:b}", "trace", rf_utf8_json(rows[i].path),
                            "command", rf_utf8_json(rows[i].command), "started", rows[i].started,
                            "state", rows[i].state, "ranks", (json_int_t)rows[i].ranks, "bytes",
                            (json_int_t)rows[i].bytes, "latest", rows[i].latest));
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
}

static void make_plain(char **text) {
    char *plain = rf_plain(*text);
    free(*text);
    *text = plain;
}

static void print_text(struct row *rows, size_t count) {
    size_t widest = strlen("trace");
    for (size_t i = 0; i < count; i++) {
        make_plain(&rows[i].path);
        make_plain(&rows[i].started);
        make_plain(&rows[i].state);
        if (strlen(rows[i].path) > widest)
            widest = strlen(rows[i].path);
    }
    printf("  %-*s  %-9s  %5s  %-20s  %10s  %s\n", (int)widest, "trace", "state", "ranks",
           "recorded", "size", "command");
    for (size_t i = 0; i < count; i++) {
        char size[RF_SIZE_TEXT];
        printf("%c %-*s  %-9s  %5zu  %-20s  %10s  %s\n", rows[i].latest ? '*' : ' ', (int)widest,
               rows[i].path, rows[i].state, rows[i].ranks, rows[i].started,
               rf_size_text(rows[i].bytes, size), rows[i].command);
    }
}

int rf_verb_ls(const struct rf_options *options) {
    size_t count = 0;
    struct row *rows = read_rows(rf_traces_folder(), &count);
    if (options->json) {
        print_json(rows, count);
    } else if (count) {
        rf_pager_begin();
        print_text(rows, count);
        rf_pager_end();
    } else {
        rf_say("no traces in %s", rf_traces_folder());
        rf_say_hint("refrain record mpirun -n 4 ./program");
    }
    for (size_t i = 0; i < count; i++) {
        free(rows[i].path);
        free(rows[i].command);
        free(rows[i].started);
        free(rows[i].state);
    }
    free(rows);
    return RF_EXIT_OK;
}
