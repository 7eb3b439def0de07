#include "run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

char *rf_run_directory(struct rf_error *error) {
    const char *base = getenv("TMPDIR");
    char *path = rf_text("%s/refrain-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(path))
        return path;
    rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot create a directory for the replay in %s: %s",
            base && *base ? base : "/tmp", strerror(errno));
    free(path);
    return NULL;
}

/* The directory holds plain files only. */
void rf_run_directory_remove(char *path) {
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    rmdir(path);
    free(path);
}
