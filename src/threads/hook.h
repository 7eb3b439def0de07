/* The common shapes of hooks. All expect that the caller's own parameters are evaluated twice. */
#ifndef RF_THREADS_HOOK_H
#define RF_THREADS_HOOK_H

#include <errno.h>

#include "threads/real.h"
#include "threads/state.h"

#define RF_PASS_FROM(address, call)                                                                \
    if (__builtin_expect(rf_threads.passes, 1))                                                    \
        return rf_real_functions.call;                                                             \
    struct rf_thread *self = rf_here_from(address);                                                \
    if (__builtin_expect(!self, 1))                                                                \
    return (rf_self ? (void)0 : rf_stranger_calls(address)), rf_real()->call
#define RF_PASS(call) RF_PASS_FROM(RF_HERE_ADDRESS, call)

/* In a replay, what is to be had now can mostly be had at once: `trying` says `busy` if not. Only
   then the thread says that it blocks, and waits. Those who look for data races know all that
   waits, but not all that tries. */
#define RF_HAVE(operation, address, trying, busy, waiting)                                         \
    do {                                                                                           \
        code = __builtin_expect(rf_threads.races, 0) ? (busy) : rf_real_functions.trying;          \
        if (code == (busy)) {                                                                      \
            rf_turn_blocks(self, RF_OP_##operation, address);                                      \
            code = rf_real_functions.waiting;                                                      \
            rf_turn_goes_on(self);                                                                 \
        }                                                                                          \
        rf_turn_played(self);                                                                      \
    } while (0)

/* One that waits until it has the object: `plain` is the real call, `take` what takes the turn. */
#define RF_WAIT(operation, address, object, plain, trying, busy, take)                             \
    do {                                                                                           \
        int code;                                                                                  \
        if (!rf_threads.replays) {                                                                 \
            code = rf_real_functions.plain;                                                        \
            take(self, RF_OP_##operation, address, object);                                        \
            return code;                                                                           \
        }                                                                                          \
        if (rf_turn_await(self, RF_OP_##operation, address) == RF_TURN_CUT)                        \
            return rf_real_functions.plain;                                                        \
        RF_HAVE(operation, address, trying, busy, plain);                                          \
        return code;                                                                               \
    } while (0)

/* A lock that one thread has at a time: the path of almost every call. It calls nothing but the
   real function and needs no atomic instruction. What it does not return from is for a function
   that is not inlined, `other`, made by RF_LOCK_OTHER: so this one has little to save and to
   restore. What it needs after the call it looks up before: loads that come behind the atomic
   instruction of a lock have to wait for it, and the one of the unlock for them. */
#define RF_LOCK(operation, mutex, plain, other)                                                    \
    do {                                                                                           \
        const struct rf_thread *self = rf_anybody;                                                 \
        if (__builtin_expect(self->special != RF_RUN_OF(RF_OP_##operation), 0))                    \
            return rf_threads.passes ? rf_real_functions.plain : (other);                          \
        struct rf_lock *entry = rf_lock_of(mutex);                                                 \
        if (__builtin_expect(entry->object != (mutex), 0))                                         \
            return other;                                                                          \
        struct rf_thread_log_thread *record = self->record;                                        \
        int result = rf_real_functions.plain;                                                      \
        if (__builtin_expect(entry->record != record, 0))                                          \
            return rf_lock_passes(rf_anybody_again(), entry, RF_OP_##operation, RF_HERE_ADDRESS,   \
                                  result);                                                         \
        rf_lock_count(record, entry);                                                              \
        return result;                                                                             \
    } while (0)

#define RF_LOCK_OTHER(operation, address, mutex, plain, trying, busy)                              \
    do {                                                                                           \
        RF_PASS_FROM(address, plain);                                                              \
        RF_WAIT(operation, address, mutex, plain, trying, busy, rf_take_lock);                     \
    } while (0)

#define RF_APART __attribute__((noinline)) static

/* One that may fail. In a replay what failed fails at once, and what succeeded waits for it:
   `waiting`. `good` says whether `code` is a success. */
#define RF_TRY(operation, object, plain, trying, busy, waiting, good, take)                        \
    do {                                                                                           \
        int code;                                                                                  \
        if (!rf_threads.replays) {                                                                 \
            code = rf_real_functions.plain;                                                        \
            if (good)                                                                              \
                take(self, RF_OP_##operation, RF_HERE_ADDRESS, object);                            \
            else                                                                                   \
                rf_failure_record(self, RF_OP_##operation, RF_HERE_ADDRESS, code);                 \
            return code;                                                                           \
        }                                                                                          \
        code = rf_turn_await(self, RF_OP_##operation, RF_HERE_ADDRESS);                            \
        if (code == RF_TURN_CUT)                                                                   \
            return rf_real_functions.plain;                                                        \
        if (code)                                                                                  \
            return code;                                                                           \
        RF_HAVE(operation, RF_HERE_ADDRESS, trying, busy, waiting);                                \
        return code;                                                                               \
    } while (0)

/* One that lets others go on. */
#define RF_RELEASE(operation, object, plain)                                                       \
    do {                                                                                           \
        if (!rf_threads.replays) {                                                                 \
            rf_take(self, RF_OP_##operation, RF_HERE_ADDRESS, object);                             \
            return rf_real_functions.plain;                                                        \
        }                                                                                          \
        rf_turn_await(self, RF_OP_##operation, RF_HERE_ADDRESS);                                   \
        int code = rf_real_functions.plain;                                                        \
        rf_turn_played(self);                                                                      \
        rf_turn_wake(self);                                                                        \
        return code;                                                                               \
    } while (0)

/* The wait on a condition has ended, and the thread has the mutex again, unless it was not its own.
 */
static inline int rf_record_wait(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                                 const void *condition, const void *mutex, int code) {
    if (code == 0 || code == EOWNERDEAD)
        rf_take(self, what, address, condition);
    else
        rf_failure_record(self, what, address, code);
    if (code != EPERM)
        rf_take_lock(self, RF_OP_COND_RELOCK, address, mutex);
    return code;
}

/* An unlock is no operation, unless clocks are to tick; in a replay it is the time to wake those
   who wait for the lock. Where it is neither, the hook is a jump to the real function. */
#define RF_UNLOCK(name, type, wake)                                                                \
    static int name##_other(type *object);                                                         \
    static int (*name##_now)(type *) = name##_other;                                               \
    RF_APART int name##_other(type *object) {                                                      \
        uintptr_t address = RF_HERE_ADDRESS; /* the hook jumps here: of its caller */              \
        struct rf_thread *self = rf_self;                                                          \
        if (!rf_threads.unlocks)                                                                   \
            __atomic_store_n(&name##_now, rf_real()->name, __ATOMIC_RELAXED);                      \
        if (rf_unlocks_tick() && rf_here_from(address))                                            \
            rf_tick(self, RF_OP_UNLOCK, address, object);                                          \
        int code = rf_real()->name(object);                                                        \
        if (self && rf_threads.replays)                                                            \
            wake(self);                                                                            \
        return code;                                                                               \
    }                                                                                              \
    RF_HOOK int name(type *object) {                                                               \
        return __atomic_load_n(&name##_now, __ATOMIC_RELAXED)(object);                             \
    }

#endif
