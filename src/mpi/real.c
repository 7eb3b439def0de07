#include "mpi/real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/error.h"

struct rf_real rf_reals;
int rf_reals_ready;

static const struct {
    const char *name;
    size_t offset;
} table[] = {
#define RF_FUNCTION(library, class, result, name, parameters, arguments, row)                      \
    RF_IN_##library({"PMPI_" #name, offsetof(struct rf_real, name)}, )
#include "mpi/functions.def"
#undef RF_FUNCTION
};

/* A program that opens its MPI with RTLD_LOCAL (a Python module) hides it from RTLD_NEXT, but the
   library is loaded and can be asked for by name. */
static void *find_library(void) {
    static const char *const names[] = RF_ABI_LIBRARIES;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library)
            return library;
    }
    return NULL;
}

/* The same names mean other types in the other library: going on would corrupt the program. */
static void refuse_other_library(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (rf_reals.Get_library_version &&
        rf_reals.Get_library_version(version, &length) == MPI_SUCCESS &&
        strstr(version, RF_ABI_VERSION_TEXT))
        return;
    version[strcspn(version, "\n")] = 0;
    fprintf(stderr,
            "refrain: the program does not use " RF_ABI_VERSION_TEXT ": it runs on %s\n"
            "hint: choose the library with --mpi\n",
            *version ? version : "no MPI that is known");
    _exit(RF_EXIT_ENVIRONMENT);
}

void rf_reals_find(void) {
    void *library = dlsym(RTLD_NEXT, "PMPI_Init") ? RTLD_NEXT : find_library();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = library ? dlsym(library, table[i].name) : NULL;
        memcpy((char *)&rf_reals + table[i].offset, &function, sizeof function);
    }
    rf_reals_ready = 1;
    refuse_other_library();
}
