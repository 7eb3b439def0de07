/* refrain bench: runs the script that reproduces a published table. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "install.h"
#include "launch.h"
#include "messages.h"
#include "options.h"
#include "status.h"
#include "suggest.h"
#include "text.h"

enum { NAMES_MOST = 256 };

static int by_name(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A table is an executable file; its name is shown without an ending. */
static size_t list_names(const char *folder, char *names[NAMES_MOST]) {
    size_t count = 0;
    DIR *entries = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; entries && count < NAMES_MOST && (entry = readdir(entries));) {
        struct stat facts;
        if (entry->d_name[0] != '.' && fstatat(dirfd(entries), entry->d_name, &facts, 0) == 0 &&
            S_ISREG(facts.st_mode) && facts.st_mode & S_IXUSR)
            names[count++] = rf_copy(entry->d_name);
    }
    if (entries)
        closedir(entries);
    qsort(names, count, sizeof *names, by_name);
    return count;
}

static int run_script(const char *folder, const char *name, char *const *words) {
    char *path = rf_text("%s/%s", folder, name);
    char *self = rf_find_self();
    char *programs = rf_find_bench_programs();
    size_t count = 0;
    while (words[count])
        count++;
    char **arguments = rf_allocate(count + 2, sizeof *arguments);
    arguments[0] = path;
    memcpy(arguments + 1, words, count * sizeof *words);
    /* The script measures this very program, with the programs built beside it. */
    setenv("REFRAIN", self, 1);
    if (programs)
        setenv("REFRAIN_BENCH_PROGRAMS", programs, 0);
    rf_signals_guard(0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execv(path, arguments);
        _exit(127);
    }
    rf_signals_guard(child);
    int status = child > 0 ? rf_launch_wait(child) : 127 << 8;
    free(arguments);
    free(programs);
    free(self);
    free(path);
    return rf_program_status(status, RF_LAUNCHER_NONE, RF_FATE_GOOD, NULL);
}

int rf_verb_bench(const struct rf_options *options) {
    struct rf_error error = {0};
    char *folder = rf_find_bench();
    char *names[NAMES_MOST];
    size_t count = list_names(folder, names);
    int code = RF_EXIT_OK;
    bool known = false;
    for (size_t i = 0; i < count && options->name; i++)
        known = known || strcmp(names[i], options->name) == 0;
    if (!folder) {
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "bench: the tables are measured in the source tree; this Refrain is installed "
                "elsewhere");
        rf_hint(&error, "make bench");
        code = rf_report_error(&error);
    } else if (!options->name) {
        for (size_t i = 0; i < count; i++)
            puts(names[i]);
    } else if (known) {
        code = run_script(folder, options->name, options->command);
    } else {
        const char *nearest = rf_suggest(options->name, (const char *const *)names, count);
        if (nearest)
            rf_fail(&error, RF_EXIT_USAGE, "%s: unknown table, did you mean %s?", options->name,
                    nearest);
        else
            rf_fail(&error, RF_EXIT_USAGE, "%s: unknown table", options->name);
        rf_hint(&error, "refrain bench");
        code = rf_report_error(&error);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(folder);
    return code;
}
