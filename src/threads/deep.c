#include <dlfcn.h>

#include "threads/real.h"
#include "threads/state.h"

/* What is bound deeply goes past every hook. Where the program made the call decides which paths
   are searched, so this must be a jump and not a call. */
RF_HOOK void *dlopen(const char *file, int mode) {
    return rf_real()->dlopen(file, rf_threads.wanted ? mode & ~RTLD_DEEPBIND : mode);
}
