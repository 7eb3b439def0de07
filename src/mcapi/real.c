#include "mcapi/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/error.h"

struct rf_real rf_reals;
int rf_reals_ready;

static void *find(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* Without the function nothing can go on, and nobody could say what was recorded. */
static void *need(const char *name) {
    void *function = find(name);
    if (!function) {
        fprintf(stderr, "refrain: the MCAPI library of this program has no %s\n", name);
        _exit(RF_EXIT_ENVIRONMENT);
    }
    return function;
}

void rf_reals_find(void) {
    void *function;
#define RF_FUNCTION(result, name, parameters, arguments)                                           \
    function = need("mcapi_" #name);                                                               \
    memcpy(&rf_reals.name, &function, sizeof function);
#include "mcapi/functions.def"
#undef RF_FUNCTION
    function = find("mcapix_origin");
    memcpy(&rf_reals.origin, &function, sizeof function);
    function = find("mcapix_stamp_matches");
    memcpy(&rf_reals.stamp_matches, &function, sizeof function);
    function = find("mcapix_endpoint_name");
    memcpy(&rf_reals.endpoint_name, &function, sizeof function);
    __atomic_store_n(&rf_reals_ready, 1, __ATOMIC_RELEASE);
}
