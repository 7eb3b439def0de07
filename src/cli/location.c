#include "location.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

const char *rf_traces_folder(void) {
    const char *folder = getenv("REFRAIN_DIR");
    return folder && *folder ? folder : "refrain.data";
}

/* mkdir -p. */
static bool make_folders(const char *path) {
    char *copy = rf_copy(path);
    bool good = true;
    for (char *at = copy + 1; good && *at; at++)
        if (*at == '/') {
            *at = 0;
            good = mkdir(copy, 0777) == 0 || errno == EEXIST;
            *at = '/';
        }
    good = good && (mkdir(copy, 0777) == 0 || errno == EEXIST);
    free(copy);
    return good;
}

static bool is_empty(const char *path) {
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    int entries = 0;
    while (entries <= 2 && readdir(folder))
        entries++;
    closedir(folder);
    return entries <= 2;
}

static bool take_named(struct rf_new_trace *trace, const char *output, struct rf_error *error) {
    char *parent = rf_copy(output);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/')
        parent[--length] = 0;
    char *slash = strrchr(parent, '/');
    if (slash && slash != parent) {
        *slash = 0;
        make_folders(parent);
    }
    free(parent);
    trace->created = mkdir(output, 0777) == 0;
    if (!trace->created && errno != EEXIST)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot create %s: %s", output,
                       strerror(errno)) ||
               rf_hint(error, "refrain record -o DIR COMMAND...");
    if (!trace->created && !is_empty(output)) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s: already exists and is not an empty directory; a trace is never overwritten",
                output);
        char *other = rf_text("%s-2", output), *named = rf_named(other);
        rf_hint(error, "refrain record -o%s COMMAND...", named);
        free(named);
        free(other);
        return false;
    }
    if (access(output, W_OK | X_OK) != 0)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot write into %s: %s", output,
                       strerror(errno)) ||
               rf_hint(error, "refrain record -o DIR COMMAND...");
    trace->shown = rf_copy(output);
    return true;
}

/* The next number after those that exist, whatever was deleted in between. */
static unsigned next_number(const char *folder, const char *program) {
    unsigned next = 1;
    size_t length = strlen(program);
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        unsigned number = 0;
        int end = 0;
        if (strncmp(entry->d_name, program, length) == 0 &&
            sscanf(entry->d_name + length, "-%u%n", &number, &end) == 1 &&
            !entry->d_name[length + (size_t)end] && number >= next && number < 1000000000)
            next = number + 1;
    }
    if (entries)
        closedir(entries);
    return next;
}

static bool take_numbered(struct rf_new_trace *trace, const char *program, struct rf_error *error) {
    const char *folder = rf_traces_folder();
    if (!make_folders(folder)) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot create %s: %s", folder, strerror(errno));
        return rf_hint(error, "refrain record -o DIR COMMAND...");
    }
    /* Another recording may take the same number at the same time: mkdir decides. */
    for (unsigned number = next_number(folder, program);; number++) {
        trace->shown = rf_text("%s/%s-%u", folder, program, number);
        if (mkdir(trace->shown, 0777) == 0)
            break;
        int cause = errno;
        if (cause != EEXIST) {
            rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot create %s: %s", trace->shown,
                    strerror(cause));
            return rf_hint(error, "refrain record -o DIR COMMAND...");
        }
        free(trace->shown);
    }
    trace->created = true;
    trace->numbered = true;
    return true;
}

bool rf_new_trace(struct rf_new_trace *trace, const char *output, const char *program,
                  struct rf_error *error) {
    *trace = (struct rf_new_trace){0};
    if (!(output ? take_named(trace, output, error) : take_numbered(trace, program, error)))
        return false;
    trace->path = realpath(trace->shown, NULL);
    return trace->path ||
           rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: %s", trace->shown, strerror(errno));
}

/* A symbolic link is replaced by renaming, so that it always leads somewhere. */
static void point_latest(const char *folder, const char *target) {
    char *link = rf_text("%s/latest", folder);
    char *fresh = rf_text("%s/.latest.%d", folder, (int)getpid());
    unlink(fresh);
    if (symlink(target, fresh) == 0 && rename(fresh, link) != 0)
        unlink(fresh);
    free(link);
    free(fresh);
}

void rf_new_trace_latest(struct rf_new_trace *trace) {
    if (!trace->numbered)
        return;
    char *folder = rf_text("%.*s", (int)(rf_base_name(trace->path) - trace->path - 1), trace->path);
    char *link = rf_text("%s/latest", folder);
    char target[4096];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length > 0) {
        target[length] = 0;
        trace->previous = rf_copy(target);
    }
    point_latest(folder, rf_base_name(trace->path));
    free(link);
    free(folder);
}

void rf_new_trace_discard(struct rf_new_trace *trace) {
    static const char *const ours[] = {"manifest.json", "manifest.json.new"};
    for (size_t i = 0; i < 2; i++) {
        char *path = rf_text("%s/%s", trace->path, ours[i]);
        unlink(path);
        free(path);
    }
    if (trace->created)
        rmdir(trace->path);
    if (!trace->numbered)
        return;
    char *folder = rf_text("%.*s", (int)(rf_base_name(trace->path) - trace->path - 1), trace->path);
    char *link = rf_text("%s/latest", folder);
    char target[4096];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length > 0 && (target[length] = 0, strcmp(target, rf_base_name(trace->path)) == 0)) {
        if (trace->previous)
            point_latest(folder, trace->previous);
        else
            unlink(link);
    }
    rmdir(folder);
    free(link);
    free(folder);
}

void rf_new_trace_free(struct rf_new_trace *trace) {
    free(trace->path);
    free(trace->shown);
    free(trace->previous);
}

char *rf_find_trace(const char *named, struct rf_error *error) {
    char *wanted = named ? rf_copy(named) : rf_text("%s/latest", rf_traces_folder());
    char *path = realpath(wanted, NULL);
    struct stat facts = {0};
    if (!path && named) {
        rf_fail(error, RF_EXIT_TRACE, "%s: no such trace: %s", wanted, strerror(errno));
        rf_hint(error, "refrain ls");
    } else if (!path) {
        rf_fail(error, RF_EXIT_TRACE, "no trace here: %s does not exist", wanted);
        rf_hint(error, "refrain record mpirun -n 4 ./program");
    } else if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode)) {
        rf_fail(error, RF_EXIT_TRACE, "%s: not a trace: a trace is a directory", wanted);
        rf_hint(error, "refrain ls");
        free(path);
        path = NULL;
    } else {
        char *manifest = rf_text("%s/manifest.json", path);
        char *latest = rf_text("%s/latest", path);
        if (access(manifest, F_OK) != 0 && access(latest, F_OK) == 0) {
            char *inner = realpath(latest, NULL);
            free(path);
            path = inner;
        }
        free(manifest);
        free(latest);
    }
    free(wanted);
    return path;
}

const char *rf_shown_path(const char *path) {
    char *here = realpath(".", NULL);
    size_t length = here ? strlen(here) : 0;
    bool below = length > 1 && strncmp(path, here, length) == 0 && path[length] == '/';
    free(here);
    return below ? path + length + 1 : path;
}
