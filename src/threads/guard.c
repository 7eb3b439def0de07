/* Variables inside functions of C++ that are initialised by who comes first. The compiler's code
   looks at a byte before it calls, so a thread that found it set makes no call that could be
   counted: only who initialises is recorded, with 1 + how often that had failed before, and in a
   replay all others wait for it. */
#include <dlfcn.h>
#include <string.h>

#include "threads/attempts.h"
#include "threads/hook.h"

RF_HOOK int __cxa_guard_acquire(uint64_t *guard);
RF_HOOK void __cxa_guard_abort(uint64_t *guard);

static struct {
    int (*acquire)(uint64_t *guard);
    void (*abort)(uint64_t *guard);
    bool found;
} real;

/* The library of C++ may have come late, and with a module that keeps it to itself. */
static void *find(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    void *library = symbol ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : symbol;
}

/* Threads that do this at the same time store the same. */
static void prepare(void) {
    if (__atomic_load_n(&real.found, __ATOMIC_ACQUIRE))
        return;
    void *acquire = find("__cxa_guard_acquire"), *abort = find("__cxa_guard_abort");
    memcpy(&real.acquire, &acquire, sizeof acquire);
    memcpy(&real.abort, &abort, sizeof abort);
    __atomic_store_n(&real.found, true, __ATOMIC_RELEASE);
}

static bool is_initialised(const uint64_t *guard) {
    return __atomic_load_n((const char *)guard, __ATOMIC_ACQUIRE) != 0;
}

RF_HOOK int __cxa_guard_acquire(uint64_t *guard) {
    struct rf_thread *self = rf_here();
    uintptr_t address = RF_HERE_ADDRESS;
    prepare();
    if (!self)
        return real.acquire(guard);
    if (!rf_threads.replays) {
        int mine = real.acquire(guard);
        if (mine)
            rf_value_record(self, RF_OP_GUARD, address, 1 + (int64_t)rf_attempts_failed(guard));
        return mine;
    }
    if (rf_replay_has_value(self, RF_OP_GUARD) && rf_replay_is_here(self, address)) {
        uint64_t failed = (uint64_t)rf_value_play(self, RF_OP_GUARD, address) - 1;
        rf_attempts_await(self, RF_OP_GUARD, address, guard, failed);
        return real.acquire(guard);
    }
    rf_turn_wake(self);
    rf_turn_blocks(self, RF_OP_GUARD, address);
    while (!is_initialised(guard) && !rf_threads.places->free)
        rf_nap(50000);
    rf_turn_goes_on(self);
    return real.acquire(guard);
}

/* What initialises the variable has thrown an exception. */
RF_HOOK void __cxa_guard_abort(uint64_t *guard) {
    prepare();
    if (rf_here())
        rf_attempt_fails(guard);
    real.abort(guard);
}
