#include "real.h"

#include <dlfcn.h>

struct rf_libc rf_libc_functions;
bool rf_libc_known;

/* Threads that do this at the same time store the same. */
void rf_libc_find(void) {
#define RF_LIBC(name) *(void **)&rf_libc_functions.name = dlsym(RTLD_NEXT, #name);
#include "functions.def"
#undef RF_LIBC
    __atomic_store_n(&rf_libc_known, true, __ATOMIC_RELEASE);
}
