#include "install.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

char *rf_find_self(void) {
    char *path = realpath("/proc/self/exe", NULL);
    return path ? path : rf_copy("refrain");
}

/* The first of two places below the program's own folder where `name` can be read; `installed` may
   be NULL. */
static char *find(const char *built, const char *installed, const char *name) {
    char *self = rf_find_self();
    char *slash = strrchr(self, '/');
    char *found = NULL;
    if (slash) {
        *slash = 0;
        const char *const places[] = {built, installed};
        for (size_t i = 0; i < 2 && places[i] && !found; i++) {
            char *path = rf_text("%s/%s/%s", self, places[i], name);
            if (access(path, R_OK) == 0)
                found = realpath(path, NULL);
            free(path);
        }
    }
    free(self);
    return found;
}

/* The loader takes spaces and colons for the ends of names. A file whose path has some is named by
   a descriptor of this process, which outlives the job. */
static char *preloadable(char *path) {
    int file = path && strpbrk(path, " :") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return path;
    free(path);
    return rf_text("/proc/%d/fd/%d", (int)getpid(), file);
}

char *rf_find_adapter(const char *mpi) {
    char *name = rf_text("librefrain-%s.so", mpi);
    char *path = find("lib", RF_RELATIVE_LIBRARIES, name);
    free(name);
    return preloadable(path);
}

char *rf_find_linked_adapter(void) {
    return find("lib", RF_RELATIVE_LIBRARIES, "librefrain-mcapi.a");
}

char *rf_find_names_header(void) {
    return find("share", RF_RELATIVE_DATA, "refrain-mcapi.h");
}

char *rf_find_atomics_header(void) {
    return find("share", RF_RELATIVE_DATA, "refrain-atomics.h");
}

char *rf_find_manual(const char *page) {
    char *name = rf_text("%s.1", page);
    char *path = find("man", RF_RELATIVE_MANUALS, name);
    /* Packagers compress manual pages. */
    if (!path) {
        char *packed = rf_text("%s.gz", name);
        path = find("man", RF_RELATIVE_MANUALS, packed);
        free(packed);
    }
    free(name);
    return path;
}

char *rf_find_suppressions(void) {
    return find("share", RF_RELATIVE_DATA, "refrain-races.supp");
}

char *rf_find_tsan_suppressions(void) {
    return find("share", RF_RELATIVE_DATA, "refrain-tsan.supp");
}

char *rf_find_gdb_script(void) {
    return find("share", RF_RELATIVE_DATA, "refrain-gdb.py");
}

char *rf_find_bench(void) {
    /* build/bench/source points into the source tree; see CMakeLists.txt. */
    return find("bench/source", NULL, ".");
}

char *rf_find_bench_programs(void) {
    return find("bench", NULL, ".");
}
