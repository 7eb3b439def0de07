/* Which ranks a trace directory holds files of. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"

/* As the recorder spells them. */
static const char *const kinds[] = {"trace", "tail", "new"};
#define KINDS (sizeof kinds / sizeof *kinds)

/* -1 for the name of anything else. */
static int rank_of(const char *name) {
    if (strncmp(name, "rank-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    if (name[5] == '0' && name[6] != '.')
        return -1;
    char *rest;
    errno = 0;
    long rank = strtol(name + 5, &rest, 10);
    if (errno || rank > INT32_MAX || *rest != '.')
        return -1;
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(rest + 1, kinds[i]) == 0)
            return (int)rank;
    return -1;
}

bool rf_trace_has_rank(const char *directory, int rank) {
    char path[4096];
    bool found = false;
    for (size_t i = 0; i < KINDS && !found; i++) {
        snprintf(path, sizeof path, "%s/rank-%d.%s", directory, rank, kinds[i]);
        found = access(path, F_OK) == 0;
    }
    return found;
}

static int ascending(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static bool collect(DIR *folder, int **ranks, size_t *count) {
    size_t room = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int rank = rank_of(entry->d_name);
        if (rank < 0)
            continue;
        if (*count == room) {
            room = room ? room * 2 : 64;
            int *bigger = realloc(*ranks, room * sizeof *bigger);
            if (!bigger)
                return false;
            *ranks = bigger;
        }
        (*ranks)[(*count)++] = rank;
    }
    return true;
}

bool rf_trace_ranks(const char *directory, int **ranks, size_t *count, struct rf_error *error) {
    *ranks = NULL;
    *count = 0;
    DIR *folder = opendir(directory);
    if (!folder)
        return rf_fail(error, RF_EXIT_TRACE, "%s: cannot open the trace: %s", directory,
                       strerror(errno));
    bool good = collect(folder, ranks, count);
    closedir(folder);
    if (!good) {
        free(*ranks);
        *ranks = NULL;
        *count = 0;
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", directory);
    }
    if (!*count)
        return true;
    qsort(*ranks, *count, sizeof **ranks, ascending);
    size_t kept = 1;
    for (size_t i = 1; i < *count; i++)
        if ((*ranks)[i] != (*ranks)[kept - 1])
            (*ranks)[kept++] = (*ranks)[i];
    *count = kept;
    return true;
}
