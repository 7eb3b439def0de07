#include "threads/real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct rf_real rf_real_functions;

static const struct {
    const char *name;
    size_t offset;
} table[] = {
#define RF_REAL(result, name, parameters) {#name, offsetof(struct rf_real, name)},
#include "threads/reals.def"
#undef RF_REAL
};

static bool same_library(void *one, void *other) {
    Dl_info first, second;
    return dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

/* Condition variables had another layout once; who asks without a version may get that. Libraries
   before the C library that hook these functions, as ThreadSanitizer's does, give no version. */
static void *find(const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    void *versioned =
        strncmp(name, "pthread_cond_", 13) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
    return versioned && (!next || same_library(next, versioned)) ? versioned : next;
}

void rf_reals_find(void) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = find(table[i].name);
        memcpy((char *)&rf_real_functions + table[i].offset, &function, sizeof function);
    }
    rf_real_functions.found = true;
}
