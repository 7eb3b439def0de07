#include <dlfcn.h>
#include <string.h>

#include "threads/openmp.h"

struct rf_gomp rf_gomp_functions;
int rf_gomp_ready;

/* A libgomp that came with a module, as Python's do, is not among the program's own libraries. */
static void *find(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function)
        return function;
    void *library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    function = dlsym(library, name);
    dlclose(library);
    return function;
}

/* Several threads may do this at once: they find the same. */
void rf_gomp_find(void) {
    void *function;
#define RF_GOMP(result, name, parameters)                                                          \
    function = find(#name);                                                                        \
    memcpy(&rf_gomp_functions.name, &function, sizeof function);
#include "threads/openmp_asked.def"
#include "threads/openmp_functions.def"
#undef RF_GOMP
    __atomic_store_n(&rf_gomp_ready, 1, __ATOMIC_RELEASE);
}
