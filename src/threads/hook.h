/* The common shapes of hooks. All expect that the caller's own parameters are evaluated twice. */
#ifndef RF_THREADS_HOOK_H
#define RF_THREADS_HOOK_H

#include <errno.h>

#include "threads/real.h"
#include "threads/state.h"

#define RF_PASS(call)                                                                              \
    struct rf_thread *self = rf_here_from(RF_HERE_ADDRESS);                                        \
    if (__builtin_expect(!self, 1))                                                                \
    return rf_real()->call

/* One that waits until it has the object: `plain` is the real call. */
#define RF_LOCK(operation, object, plain)                                                          \
    do {                                                                                           \
        if (!rf_threads.replays) {                                                                 \
            int code = rf_real_functions.plain;                                                    \
            rf_take(self, RF_OP_##operation, RF_HERE_ADDRESS, object);                             \
            return code;                                                                           \
        }                                                                                          \
        rf_turn_await(self, RF_OP_##operation, RF_HERE_ADDRESS);                                   \
        rf_turn_blocks(self, RF_OP_##operation, RF_HERE_ADDRESS);                                  \
        int code = rf_real_functions.plain;                                                        \
        rf_turn_goes_on(self);                                                                     \
        rf_turn_played(self);                                                                      \
        return code;                                                                               \
    } while (0)

/* One that may fail. In a replay what failed fails at once, and what succeeded waits for it:
   `waiting`. `good` says whether `code` is a success. */
#define RF_TRY(operation, object, plain, waiting, good)                                            \
    do {                                                                                           \
        int code;                                                                                  \
        if (!rf_threads.replays) {                                                                 \
            code = rf_real_functions.plain;                                                        \
            if (good)                                                                              \
                rf_take(self, RF_OP_##operation, RF_HERE_ADDRESS, object);                         \
            else                                                                                   \
                rf_failure_record(self, RF_OP_##operation, RF_HERE_ADDRESS, code);                 \
            return code;                                                                           \
        }                                                                                          \
        code = rf_turn_await(self, RF_OP_##operation, RF_HERE_ADDRESS);                            \
        if (code == RF_TURN_CUT)                                                                   \
            return rf_real_functions.plain;                                                        \
        if (code)                                                                                  \
            return code;                                                                           \
        rf_turn_blocks(self, RF_OP_##operation, RF_HERE_ADDRESS);                                  \
        code = rf_real_functions.waiting;                                                          \
        rf_turn_goes_on(self);                                                                     \
        rf_turn_played(self);                                                                      \
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

/* An unlock is no operation, unless clocks are to tick; in a replay it is the time to wake those
   who wait for the lock. */
#define RF_UNLOCK(object, plain)                                                                   \
    do {                                                                                           \
        struct rf_thread *self = rf_self;                                                          \
        if (rf_ticks() && rf_here_from(RF_HERE_ADDRESS))                                           \
            rf_tick(self, RF_OP_UNLOCK, RF_HERE_ADDRESS, object);                                  \
        int code = rf_real()->plain;                                                               \
        if (__builtin_expect(self != NULL, 0) && rf_threads.replays)                               \
            rf_turn_wake(self);                                                                    \
        return code;                                                                               \
    } while (0)

#endif
