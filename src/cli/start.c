#include "start.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "location.h"
#include "text.h"
#include "utf8.h"

/* By these a process finds its launcher; without them MPI starts as a job of one. An entry that
   ends with "=" is a whole name, any other the beginning of one. What only tells the program its
   rank and the like stays: programs read that. */
static const char *const ties[] = {
    /* Open MPI */
    "PMIX_",
    "OMPI_MCA_ess",
    "OMPI_MCA_orte_",
    "OMPI_MCA_pmix=",
    "ORTE_",
    "PRTE_",
    /* MPICH */
    "PMI_FD=",
    "PMI_PORT=",
    "PMI_ID=",
    "HYDI_",
    /* our own */
    "REFRAIN_",
};

static bool is_tie(const char *variable) {
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++)
        if (rf_starts_with(variable, ties[i]))
            return true;
    return false;
}

/* What was preloaded besides our libraries, if they stood first; else all of it, in its order. */
static const char *others_preloaded(const char *value) {
    for (;;) {
        size_t length = strcspn(value, ":");
        char *first = rf_text("%.*s", (int)length, value);
        bool ours =
            rf_starts_with(rf_base_name(first), "librefrain-") || rf_starts_with(first, "/proc/");
        free(first);
        if (!ours || !*value)
            return value;
        value += length + (value[length] == ':');
    }
}

static char **environment_of(const json_t *variables) {
    char **list = rf_allocate(json_object_size(variables) + 3, sizeof *list);
    size_t count = 0;
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)variables, name, value) {
        const char *text = json_string_value(value);
        if (text && strcmp(name, "LD_PRELOAD") == 0)
            text = others_preloaded(text);
        char *variable = rf_text("%s=%s", name, text ? text : "");
        if (text && !is_tie(variable))
            list[count++] = rf_utf8_bytes(variable);
        free(variable);
    }
    /* Else Open MPI starts a daemon for the one process. */
    list[count++] = rf_copy("OMPI_MCA_ess_singleton_isolated=1");
    /* Does not make windows for a single process. */
    list[count] = rf_copy("OMPI_MCA_osc=^ucx");
    return list;
}

static char **arguments_of(const json_t *words) {
    char **list = rf_allocate(json_array_size(words) + 1, sizeof *list);
    for (size_t i = 0; i < json_array_size(words); i++)
        list[i] = rf_utf8_bytes(json_string_value(json_array_get(words, i)));
    return list;
}

static bool all_text(const json_t *list) {
    bool good = json_array_size(list) > 0;
    size_t i;
    const json_t *word;
    json_array_foreach(list, i, word) good = good && json_is_string(word);
    return good;
}

bool rf_start_load(struct rf_start *start, const char *trace, int rank, struct rf_error *error) {
    json_error_t cause;
    *start = (struct rf_start){0};
    char *path = rf_text("%s/rank-%d.start", trace, rank);
    json_t *object = json_load_file(path, 0, &cause);
    const json_t *arguments = json_object_get(object, "arguments");
    const json_t *environment = json_object_get(object, "environment");
    const char *executable = json_string_value(json_object_get(object, "executable"));
    const char *directory = json_string_value(json_object_get(object, "directory"));
    bool good = all_text(arguments) && json_is_object(environment) && executable && directory;
    if (good) {
        *start = (struct rf_start){.executable = rf_utf8_bytes(executable),
                                   .directory = rf_utf8_bytes(directory),
                                   .arguments = arguments_of(arguments),
                                   .environment = environment_of(environment),
                                   .recorded = json_is_true(json_object_get(object, "recorded"))};
        snprintf(start->rank, sizeof start->rank, "%d", rank);
        const char *streams = json_string_value(json_object_get(object, "streams"));
        snprintf(start->streams, sizeof start->streams, "%s", streams ? streams : "");
    } else {
        rf_fail(error, RF_EXIT_TRACE, "%s: damaged: %s", path,
                object ? "it does not say how the rank was started" : cause.text);
        char *named = rf_named(rf_shown_path(trace));
        rf_hint(error, "refrain extract --rank %d%s", rank, named);
        free(named);
    }
    json_decref(object);
    free(path);
    return good;
}

struct rf_launch rf_start_launch(const struct rf_start *start) {
    return (struct rf_launch){.command = start->arguments,
                              .launcher = RF_LAUNCHER_NONE,
                              .mode = "alone",
                              .rank = start->rank,
                              .directory = start->directory,
                              .executable = start->executable,
                              .environment = start->environment};
}

void rf_start_free(struct rf_start *start) {
    rf_free_words(start->environment);
    rf_free_words(start->arguments);
    free(start->directory);
    free(start->executable);
}
