/* One extracted rank alone, under gdb. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug.h"
#include "extract.h"
#include "extracted.h"
#include "install.h"
#include "manifest.h"
#include "messages.h"
#include "ranks.h"
#include "run_directory.h"
#include "start.h"
#include "text.h"

bool rf_debug_has_event(const struct rf_debug *debug, int rank, struct rf_error *error) {
    uint64_t events = rf_summary_rank(&debug->rerun.summary, rank)->events;
    uint64_t wanted = debug->options->event;
    if (wanted == UINT64_MAX || wanted < events)
        return true;
    if (events)
        rf_fail(error, RF_EXIT_USAGE, "--event %llu: rank %d has the events 0-%llu",
                (unsigned long long)wanted, rank, (unsigned long long)events - 1);
    else
        rf_fail(error, RF_EXIT_USAGE, "--event %llu: rank %d has no events",
                (unsigned long long)wanted, rank);
    return rf_hint(error, "refrain dump --rank %d%s", rank, debug->rerun.named);
}

/* Events are played only where the replay of the job goes. */
static bool plays_events(const struct rf_rerun *rerun, int rank) {
    struct rf_error ignored = {0};
    struct rf_start start = {0};
    bool plays = !rf_start_load(&start, rerun->directory, rank, &ignored) || !start.recorded;
    rf_start_free(&start);
    return plays;
}

bool rf_debug_must_extract(const struct rf_debug *debug, int rank) {
    return !rf_extracted_bytes(debug->rerun.directory, rank) || debug->options->command ||
           (debug->options->event != UINT64_MAX && !plays_events(&debug->rerun, rank));
}

/* "rank 3 was not extracted yet", "ranks 0-3 are extracted from another command" */
static void announce(const struct rf_debug *debug, const bool *marked) {
    int size = debug->rerun.summary.size, count = 0;
    int *ranks = rf_allocate((size_t)size, sizeof *ranks);
    for (int rank = 0; rank < size; rank++)
        if (marked[rank])
            ranks[count++] = rank;
    char *list = rf_ranks_text(ranks, (size_t)count);
    bool command = debug->options->command != NULL;
    rf_say("%s: rank%s %s %s %s: replaying the job once", debug->rerun.shown, rf_plural(count),
           list,
           count == 1 ? command ? "is" : "was"
           : command  ? "are"
                      : "were",
           command ? "extracted from another command" : "not extracted yet");
    free(list);
    free(ranks);
}

/* Where our standard input stands before the extraction's launcher reads it, to its end: the rank
   alone is to find there what it found in the job. */
struct input {
    off_t place; /* -1: it cannot be put back */
    bool waits;  /* something can be read */
    bool ended;  /* nothing more comes */
};

static struct input look_at_input(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct stat facts;
    struct input now = {.place = lseek(STDIN_FILENO, 0, SEEK_CUR)};
    bool pipe =
        fstat(STDIN_FILENO, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
    if (pipe && poll(&input, 1, 0) > 0) {
        now.waits = input.revents & POLLIN;
        now.ended = input.revents & POLLHUP;
    }
    return now;
}

/* Who sits at a terminal sees what was read, and can type it again. */
static void put_input_back(const struct input *before) {
    struct input now = look_at_input();
    if (before->place >= 0)
        lseek(STDIN_FILENO, before->place, SEEK_SET);
    else if (before->waits || (now.ended && !before->ended))
        rf_say(
            "standard input is a pipe, which the replay of the job has read: the rank alone gets "
            "nothing of that (a file would be read again)");
}

/* The extraction moves its process into the recorded directory and environment, so it has one of
   its own. Standard output is for what gdb prints. */
int rf_debug_extract(struct rf_debug *debug, const bool *marked, bool some) {
    if (!debug->options->quiet)
        announce(debug, marked);
    fflush(NULL);
    rf_signals_guard(0);
    const struct input input = look_at_input();
    pid_t child = fork();
    if (child == 0) {
        struct rf_options silent = *debug->options;
        silent.quiet = true;
        dup2(STDERR_FILENO, STDOUT_FILENO);
        int code = rf_extract(&debug->rerun, &silent, marked, some);
        fflush(NULL);
        _exit(code);
    }
    rf_signals_guard(child);
    int status = child > 0 ? rf_launch_wait(child) : -1;
    if (child < 0) {
        rf_say("nothing extracted: no process could be started");
        return RF_EXIT_ENVIRONMENT;
    }
    if (!WIFEXITED(status)) {
        rf_say("nothing extracted: the extraction was ended by signal %d", WTERMSIG(status));
        return RF_EXIT_BUG;
    }
    if (WEXITSTATUS(status) == RF_EXIT_OK)
        put_input_back(&input);
    return WEXITSTATUS(status);
}

/* What the script is to do, as a file in the run directory; its path, or NULL. */
static char *write_task(const struct rf_debug *debug, const struct rf_start *start, int rank,
                        const char *run, struct rf_error *error) {
    const struct rf_rerun *rerun = &debug->rerun;
    const struct rf_options *options = debug->options;
    const struct rf_rank_summary *recorded = rf_summary_rank(&rerun->summary, rank);
    char *self = rf_find_self();
    json_t *task =
        json_pack("{s:[s,s,s,s,s,s,s],s:[s,s,s,s],s:b,s:i,s:I,s:b}", "start", self, "--become",
                  rerun->directory, start->rank, run, debug->adapter,
                  rf_manifest_text(rerun->manifest, "scheme"), "look", self, "--played", run,
                  start->rank, "recorded", start->recorded, "rank", rank, "events",
                  (json_int_t)recorded->events, "aborts", recorded->ending.how == RF_END_ABORT);
    if (options->event != UINT64_MAX)
        json_object_set_new(task, "event", json_integer((json_int_t)options->event));
    if (options->at)
        json_object_set_new(task, "at",
                            json_pack("{s:s,s:I}", "where", debug->place.where, "times",
                                      (json_int_t)debug->place.times));
    if (options->batch)
        json_object_set_new(task, "batch", json_string(options->batch));
    char *path = rf_text("%s/task.json", run);
    bool good = task && json_dump_file(task, path, 0) == 0;
    free(self);
    if (!task)
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s: gdb's scripts take no directories whose names are not UTF-8", rerun->shown);
    else if (!good)
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written", path);
    json_decref(task);
    if (good)
        return path;
    free(path);
    return NULL;
}

/* Returns gdb's status as wait() has it. */
static int run_gdb(const struct rf_debug *debug, const struct rf_start *start, const char *task) {
    rf_signals_guard(0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("REFRAIN_TASK", task, 1);
        /* gdb starts programs through it, and people's own ones may read files and talk. */
        setenv("SHELL", "/bin/sh", 1);
        /* Before the files of the user, who may know better. */
        const char *style = rf_no_colour() ? "set style enabled off" : "echo";
        if (debug->options->batch)
            execl(debug->gdb, "gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                  "-iex", style, "-x", debug->script, start->executable, (char *)NULL);
        else
            execl(debug->gdb, "gdb", "-q", "-iex", style, "-x", debug->script, start->executable,
                  (char *)NULL);
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

int rf_debug_rank(struct rf_debug *debug, int rank) {
    struct rf_error error = {0};
    struct rf_start start = {0};
    struct rf_rerun *rerun = &debug->rerun;
    char *run = NULL;
    int code;
    if (!rf_rerun_extracted(rerun, rank, &error) ||
        !rf_start_load(&start, rerun->directory, rank, &error) ||
        !(run = rf_run_directory(&error))) {
        code = rf_report_error(&error);
    } else {
        char *task = write_task(debug, &start, rank, run, &error);
        code =
            task ? judge(rerun, run_gdb(debug, &start, task), run, rank) : rf_report_error(&error);
        free(task);
    }
    if (run)
        rf_run_directory_remove(run);
    rf_start_free(&start);
    return code;
}
