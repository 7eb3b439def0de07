#include "run_directory.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

static const char *place(void) {
    const char *base = getenv("TMPDIR");
    return base && *base ? base : "/tmp";
}

char *rf_run_directory_like(void) {
    return rf_text("%s/refrain-XXXXXX", place());
}

char *rf_run_directory(struct rf_error *error) {
    char *path = rf_run_directory_like();
    if (mkdtemp(path))
        return path;
    rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot create a directory for the replay in %s: %s",
            place(), strerror(errno));
    free(path);
    return NULL;
}

static int take_away(const char *path, const struct stat *facts, int kind, struct FTW *depth) {
    (void)facts;
    (void)kind;
    (void)depth;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

/* A rank alone that crashed leaves directories of Open MPI in it. */
void rf_run_directory_remove(char *path) {
    nftw(path, take_away, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}
