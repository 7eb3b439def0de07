/* Variables inside functions of C++ that are initialised by who comes first. The compiler's code
   looks at a byte before it calls, so a thread that found it set makes no call that could be
   counted: only who initialises is recorded, and in a replay all others wait for it. */
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads/hook.h"

typedef int acquire_function(uint64_t *guard);

RF_HOOK int __cxa_guard_acquire(uint64_t *guard);

/* The library of C++ may have come late, and with a module that keeps it to itself. */
static acquire_function *find(void) {
    static acquire_function *known;
    acquire_function *found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (found)
        return found;
    void *symbol = dlsym(RTLD_NEXT, "__cxa_guard_acquire");
    void *library = symbol ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        symbol = dlsym(library, "__cxa_guard_acquire");
    memcpy(&found, &symbol, sizeof found);
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    return found;
}

static bool is_initialised(const uint64_t *guard) {
    return __atomic_load_n((const char *)guard, __ATOMIC_ACQUIRE) != 0;
}

RF_HOOK int __cxa_guard_acquire(uint64_t *guard) {
    struct rf_thread *self = rf_here();
    uintptr_t address = RF_HERE_ADDRESS;
    if (!self)
        return find()(guard);
    if (!rf_threads.replays) {
        int mine = find()(guard);
        if (mine)
            rf_value_record(self, RF_OP_GUARD, address, mine);
        return mine;
    }
    if (rf_replay_has_value(self, RF_OP_GUARD)) {
        rf_value_play(self, RF_OP_GUARD, address);
        return find()(guard);
    }
    rf_turn_wake(self);
    rf_turn_blocks(self, RF_OP_GUARD, address);
    while (!is_initialised(guard) && !rf_threads.places->free) {
        struct timespec nap = {0, 50000};
        syscall(SYS_nanosleep, &nap, NULL);
    }
    rf_turn_goes_on(self);
    return find()(guard);
}
