/* refrain debug: one rank alone, under gdb. */
#include "debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "detect.h"
#include "extract.h"
#include "extracted.h"
#include "install.h"
#include "manifest.h"
#include "messages.h"
#include "run_directory.h"
#include "start.h"
#include "text.h"

int rf_debug_become(char **words) {
    struct rf_error error = {0};
    struct rf_start start;
    for (int i = 0; i < 5; i++)
        if (!words[i])
            return RF_EXIT_USAGE;
    if (!rf_start_load(&start, words[0], atoi(words[1]), &error))
        return rf_report_error(&error);
    struct rf_launch launch = rf_start_launch(&start);
    launch.trace = words[0];
    launch.run = words[2];
    launch.adapter = words[3];
    launch.scheme = words[4];
    /* gdb may have run the rank before: its counts begin anew. */
    char *progress = rf_text("%s/rank-%s.progress", words[2], words[1]);
    unlink(progress);
    free(progress);
    rf_launch_become(&launch, start.arguments);
    rf_fail(&error, RF_EXIT_ENVIRONMENT, "cannot run %s in %s: %s", start.executable,
            start.directory, strerror(errno));
    int code = rf_report_error(&error);
    rf_start_free(&start);
    return code;
}

/* FILE:LINE or FILE:LINE:K */
struct place {
    char *where;
    uint64_t times;
};

static bool number_after(char *colon, uint64_t *value) {
    char *end = NULL;
    errno = 0;
    *value = strtoull(colon + 1, &end, 10);
    return colon[1] >= '0' && colon[1] <= '9' && !*end && !errno && *value > 0;
}

static bool parse_place(const char *text, struct place *place, struct rf_error *error) {
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
    return rf_hint(error, "refrain debug --rank 0 --at work.c:33");
}

/* What is wrong with the command line itself. */
static bool check_options(const struct rf_options *options, struct place *place,
                          struct rf_error *error) {
    if (!options->ranks) {
        rf_fail(error, RF_EXIT_USAGE, "debug: --rank is missing: which rank is to be looked at?");
        return rf_hint(error, "refrain debug --rank 0");
    }
    if (options->at && options->event != UINT64_MAX) {
        rf_fail(error, RF_EXIT_USAGE, "--at, --event: only one place to stop can be given");
        return rf_hint(error, "refrain debug -h");
    }
    return !options->at || parse_place(options->at, place, error);
}

static bool check_event(const struct rf_rerun *rerun, const struct rf_options *options, int rank,
                        struct rf_error *error) {
    uint64_t events = rf_summary_rank(&rerun->summary, rank)->events;
    if (options->event == UINT64_MAX || options->event < events)
        return true;
    if (events)
        rf_fail(error, RF_EXIT_USAGE, "--event %llu: rank %d has the events 0-%llu",
                (unsigned long long)options->event, rank, (unsigned long long)events - 1);
    else
        rf_fail(error, RF_EXIT_USAGE, "--event %llu: rank %d has no events",
                (unsigned long long)options->event, rank);
    return rf_hint(error, "refrain dump --rank %d%s", rank, rerun->named);
}

/* What gdb needs: the debugger itself, our commands for it, and the adapter. */
struct tools {
    char *gdb, *script, *adapter;
};

static bool find_tools(const struct rf_rerun *rerun, struct tools *tools, struct rf_error *error) {
    tools->gdb = rf_find_executable("gdb");
    if (!tools->gdb) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "gdb: not found in PATH");
        return rf_hint(error, "apt-get install gdb");
    }
    tools->script = rf_find_gdb_script();
    if (!tools->script)
        return rf_fail(error, RF_EXIT_ENVIRONMENT,
                       "refrain-gdb.py: not found: it is installed in "
                       "share/refrain");
    tools->adapter = rf_rerun_adapter(rerun, error);
    return tools->adapter != NULL;
}

/* The extraction moves its process into the recorded directory and environment, so it has one of
   its own; returns its exit code. Standard output is for what gdb prints. */
static int extract(struct rf_rerun *rerun, const struct rf_options *options, int rank) {
    if (!options->quiet)
        rf_say("%s: rank %d %s: replaying the job once", rerun->shown, rank,
               options->command ? "is extracted from another command" : "was not extracted yet");
    fflush(NULL);
    rf_signals_guard(0);
    pid_t child = fork();
    if (child == 0) {
        struct rf_options silent = *options;
        silent.quiet = true;
        bool *marked = rf_allocate((size_t)rerun->summary.size, sizeof *marked);
        marked[rank] = true;
        dup2(STDERR_FILENO, STDOUT_FILENO);
        int code = rf_extract(rerun, &silent, marked);
        fflush(NULL);
        _exit(code);
    }
    rf_signals_guard(child);
    int status = child > 0 ? rf_launch_wait(child) : -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : RF_EXIT_BUG;
}

/* What the script is to do, as a file in the run directory; its path, or NULL. */
static char *write_task(const struct rf_rerun *rerun, const struct rf_options *options,
                        const struct place *place, int rank, const char *run, const char *adapter,
                        struct rf_error *error) {
    const struct rf_rank_summary *recorded = rf_summary_rank(&rerun->summary, rank);
    char *self = rf_find_self();
    char *number = rf_text("%d", rank);
    json_t *task = json_pack(
        "{s:[s,s,s,s,s,s,s],s:i,s:I,s:b}", "start", self, "--become", rerun->directory, number, run,
        adapter, rf_manifest_text(rerun->manifest, "scheme"), "rank", rank, "events",
        (json_int_t)recorded->events, "aborts", recorded->ending.how == RF_END_ABORT);
    if (options->event != UINT64_MAX)
        json_object_set_new(task, "event", json_integer((json_int_t)options->event));
    if (options->at)
        json_object_set_new(
            task, "at",
            json_pack("{s:s,s:I}", "where", place->where, "times", (json_int_t)place->times));
    if (options->batch)
        json_object_set_new(task, "batch", json_string(options->batch));
    char *path = rf_text("%s/task.json", run);
    bool written = task && json_dump_file(task, path, 0) == 0;
    json_decref(task);
    free(number);
    free(self);
    if (written)
        return path;
    rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written", path);
    free(path);
    return NULL;
}

/* Returns gdb's status as wait() has it. */
static int run_gdb(const struct tools *tools, const struct rf_start *start, const char *task,
                   bool batch) {
    rf_signals_guard(0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("REFRAIN_TASK", task, 1);
        /* gdb starts programs through it, and people's own ones may read files and talk. */
        setenv("SHELL", "/bin/sh", 1);
        if (batch)
            execl(tools->gdb, "gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                  "-x", tools->script, start->executable, (char *)NULL);
        else
            execl(tools->gdb, "gdb", "-q", "-x", tools->script, start->executable, (char *)NULL);
        _exit(RF_EXIT_ENVIRONMENT);
    }
    rf_signals_guard(child);
    return child > 0 ? rf_launch_wait(child) : -1;
}

/* gdb has ended: did the rank differ, did the script complain? */
static int judge(struct rf_rerun *rerun, int status, const char *run, int rank) {
    rerun->supervision = (struct rf_supervision){.run = run, .status = status};
    rf_supervision_look(&rerun->supervision);
    rerun->replayed.alone = rank;
    if (rerun->supervision.outcome == RF_OUTCOME_DIVERGED) {
        rf_report_divergence(&rerun->replayed);
        return RF_EXIT_DIVERGED;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code != 0 && (code < RF_EXIT_USAGE || code > RF_EXIT_BUG)) {
        rf_say("gdb ended with status %d", code);
        code = RF_EXIT_ENVIRONMENT;
    }
    return code;
}

/* Events are counted only where the replay of the job goes. */
static bool counts_events(const struct rf_rerun *rerun, int rank) {
    struct rf_error ignored = {0};
    struct rf_start start = {0};
    bool counts = !rf_start_load(&start, rerun->directory, rank, &ignored) || !start.recorded;
    rf_start_free(&start);
    return counts;
}

static int debug(struct rf_rerun *rerun, const struct rf_options *options,
                 const struct place *place, const struct tools *tools, int rank) {
    struct rf_error error = {0};
    struct rf_start start = {0};
    bool to_event = options->event != UINT64_MAX;
    if (!rf_extracted_bytes(rerun->directory, rank) || options->command ||
        (to_event && !counts_events(rerun, rank))) {
        int code = extract(rerun, options, rank);
        if (code != RF_EXIT_OK)
            return code;
    }
    char *run = NULL;
    int code;
    if (!rf_start_load(&start, rerun->directory, rank, &error) ||
        !(run = rf_run_directory(&error))) {
        code = rf_report_error(&error);
    } else {
        char *task = write_task(rerun, options, place, rank, run, tools->adapter, &error);
        code = task ? judge(rerun, run_gdb(tools, &start, task, options->batch != NULL), run, rank)
                    : rf_report_error(&error);
        free(task);
    }
    if (run)
        rf_run_directory_remove(run);
    rf_start_free(&start);
    return code;
}

int rf_verb_debug(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_rerun rerun = {0};
    struct place place = {0};
    struct tools tools = {0};
    int rank = 0;
    int code = check_options(options, &place, &error) && rf_rerun_open(&rerun, options, &error) &&
                       rf_rerun_extractable(&rerun, "debug", &error) &&
                       rf_rerun_rank(&rerun, options, "debug", &rank, &error) &&
                       check_event(&rerun, options, rank, &error) &&
                       find_tools(&rerun, &tools, &error)
                   ? debug(&rerun, options, &place, &tools, rank)
                   : rf_report_error(&error);
    free(place.where);
    free(tools.gdb);
    free(tools.script);
    free(tools.adapter);
    rf_rerun_close(&rerun);
    return code;
}
