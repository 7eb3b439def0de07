#include "mpi/real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/error.h"

struct rf_real rf_reals;
struct rf_real rf_library;
int rf_reals_ready;

static const struct {
    const char *name;
    size_t offset;
} table[] = {
#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name({"PMPI_" #name, offsetof(struct rf_real, name)}, )
#include "mpi/functions.def"
#undef RF_FUNCTION
};

#if defined(OPEN_MPI)
struct rf_handles rf_handles;

/* The linker may have moved these objects into the program (copy relocations), so the program is
   asked before the library. */
static void *find_object(void *library, const char *name) {
    void *object = dlsym(RTLD_DEFAULT, name);
    return object ? object : dlsym(library, name);
}

static void find_handles(void *library) {
    rf_handles.comm_world = find_object(library, "ompi_mpi_comm_world");
    rf_handles.comm_self = find_object(library, "ompi_mpi_comm_self");
    rf_handles.comm_null = find_object(library, "ompi_mpi_comm_null");
    rf_handles.request_null = find_object(library, "ompi_request_null");
    rf_handles.info_null = find_object(library, "ompi_mpi_info_null");
    rf_handles.byte = find_object(library, "ompi_mpi_byte");
    rf_handles.packed = find_object(library, "ompi_mpi_packed");
    rf_handles.group_empty = find_object(library, "ompi_mpi_group_empty");
    rf_handles.message_null = find_object(library, "ompi_message_null");
    rf_handles.message_no_proc = find_object(library, "ompi_message_no_proc");
    rf_handles.errhandler_null = find_object(library, "ompi_mpi_errhandler_null");
    rf_handles.errors_are_fatal = find_object(library, "ompi_mpi_errors_are_fatal");
    rf_handles.errors_return = find_object(library, "ompi_mpi_errors_return");
    rf_handles.win_null = find_object(library, "ompi_mpi_win_null");
    rf_handles.file_null = find_object(library, "ompi_mpi_file_null");
}
#else
static void find_handles(void *library) {
    (void)library; /* handles are constants */
}
#endif

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
    if (rf_library.Get_library_version &&
        rf_library.Get_library_version(version, &length) == MPI_SUCCESS &&
        strstr(version, RF_ABI_VERSION_TEXT))
        return;
    version[strcspn(version, "\n")] = 0;
    const char *other = strstr(version, "MPICH")      ? "record --mpi mpich COMMAND..."
                        : strstr(version, "Open MPI") ? "record --mpi openmpi COMMAND..."
                                                      : "doctor";
    fprintf(stderr,
            "refrain: the program does not use " RF_ABI_VERSION_TEXT ": it runs on %s\n"
            "hint: refrain %s\n",
            *version ? version : "no MPI that is known", other);
    _exit(RF_EXIT_ENVIRONMENT);
}

static void *library;

void rf_real_symbol(const char *name, void *function, size_t size) {
    rf_real();
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
}

void rf_reals_find(void) {
    library = dlsym(RTLD_NEXT, "PMPI_Init") ? RTLD_NEXT : find_library();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = library ? dlsym(library, table[i].name) : NULL;
        memcpy((char *)&rf_library + table[i].offset, &function, sizeof function);
    }
    if (library)
        find_handles(library);
    rf_reals = rf_library;
    rf_reals_ready = 1;
    refuse_other_library();
}
