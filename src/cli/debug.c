/* refrain debug: one rank alone, or every one, under gdb. */
#include "debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "install.h"
#include "messages.h"
#include "processes.h"
#include "text.h"

static bool number_after(char *colon, uint64_t *value) {
    char *end = NULL;
    errno = 0;
    *value = strtoull(colon + 1, &end, 10);
    return colon[1] >= '0' && colon[1] <= '9' && !*end && !errno && *value > 0;
}

static bool hint_debug(const char *trace, const char *words, struct rf_error *error) {
    char *named = rf_named(trace);
    rf_hint(error, "refrain debug %s%s", words, named);
    free(named);
    return false;
}

static bool parse_place(const char *text, const char *trace, struct rf_place *place,
                        struct rf_error *error) {
    uint64_t last, line;
    place->where = rf_copy(text);
    place->times = 1;
    char *colon = strrchr(place->where, ':');
    bool good = colon && colon > place->where && number_after(colon, &last);
    if (good) {
        *colon = 0;
        char *before = strrchr(place->where, ':');
        if (before && before > place->where && number_after(before, &line))
            place->times = last;
        else
            *colon = ':';
    }
    if (good)
        return true;
    rf_fail(error, RF_EXIT_USAGE, "--at %s: not a line of the source", text);
    return hint_debug(trace, "--rank 0 --at work.c:33", error);
}

/* What is wrong with the command line itself. */
static bool check_options(struct rf_debug *debug, struct rf_error *error) {
    const struct rf_options *options = debug->options;
    if (!options->ranks && !options->all) {
        rf_fail(error, RF_EXIT_USAGE,
                "debug: --rank is missing: which rank is to be looked at? (--all: every one)");
        return hint_debug(options->trace, "--rank 0", error);
    }
    if (options->ranks && options->all) {
        rf_fail(error, RF_EXIT_USAGE, "--all, --rank: one rank can be looked at, or every one");
        return rf_hint(error, "refrain debug -h");
    }
    if (options->at && options->event != UINT64_MAX) {
        rf_fail(error, RF_EXIT_USAGE, "--at, --event: only one place to stop can be given");
        return rf_hint(error, "refrain debug -h");
    }
    return !options->at || parse_place(options->at, options->trace, &debug->place, error);
}

static bool find_tools(struct rf_debug *debug, struct rf_error *error) {
    debug->gdb = rf_find_executable("gdb");
    if (!debug->gdb) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "gdb: not found in PATH");
        return rf_hint(error, "apt-get install gdb");
    }
    if (!rf_may_trace()) {
        rf_fail(
            error, RF_EXIT_ENVIRONMENT,
            "gdb: cannot start programs here: ptrace is forbidden, as it is in some containers");
        return rf_hint(error, "refrain doctor");
    }
    debug->script = rf_find_gdb_script();
    if (!debug->script)
        return rf_fail(error, RF_EXIT_ENVIRONMENT,
                       "refrain-gdb.py: not found: it is installed in "
                       "share/refrain") ||
               rf_hint(error, "make install");
    debug->adapter = rf_rerun_adapter(&debug->rerun, error);
    return debug->adapter != NULL;
}

static int debug_one(struct rf_debug *debug) {
    struct rf_error error = {0};
    int rank = 0, code = RF_EXIT_OK;
    if (!rf_rerun_rank(&debug->rerun, debug->options, "debug", &rank, &error) ||
        !rf_debug_has_event(debug, rank, &error) || !find_tools(debug, &error))
        return rf_report_error(&error);
    if (rf_debug_must_extract(debug, rank)) {
        bool *marked = rf_allocate((size_t)debug->rerun.summary.size, sizeof *marked);
        marked[rank] = true;
        code = rf_debug_extract(debug, marked, false);
        free(marked);
    }
    return code == RF_EXIT_OK ? rf_debug_rank(debug, rank) : code;
}

int rf_verb_debug(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_debug debug = {.options = options};
    int code;
    if (!check_options(&debug, &error) || !rf_rerun_open(&debug.rerun, options, &error) ||
        !rf_rerun_extractable(&debug.rerun, "debug", &error))
        code = rf_report_error(&error);
    else if (!options->all)
        code = debug_one(&debug);
    else
        code = find_tools(&debug, &error) ? rf_debug_all(&debug) : rf_report_error(&error);
    free(debug.place.where);
    free(debug.gdb);
    free(debug.script);
    free(debug.adapter);
    rf_rerun_close(&debug.rerun);
    return code;
}
