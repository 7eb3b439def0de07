/* Critical sections, atomic regions without an instruction for them, and locks. Their ends are no
   operations; in a replay they are the time to wake those who wait. */
#include <sched.h>

#include "threads/openmp.h"
#include "threads/races.h"

/* All critical sections without a name are one, and so are all atomic regions. */
static const char critical, atomic;

#define ENTER(operation, object, call)                                                             \
    do {                                                                                           \
        struct rf_thread *self = rf_here();                                                        \
        if (!self) {                                                                               \
            rf_gomp()->call;                                                                       \
        } else if (!rf_threads.replays) {                                                          \
            rf_gomp()->call;                                                                       \
            rf_take(self, RF_OP_##operation, RF_HERE_ADDRESS, object);                             \
        } else {                                                                                   \
            rf_turn_await(self, RF_OP_##operation, RF_HERE_ADDRESS);                               \
            rf_turn_blocks(self, RF_OP_##operation, RF_HERE_ADDRESS);                              \
            rf_gomp()->call;                                                                       \
            rf_turn_goes_on(self);                                                                 \
            rf_turn_played(self);                                                                  \
        }                                                                                          \
        rf_race_after(object);                                                                     \
    } while (0)

#define LEAVE(object, call)                                                                        \
    do {                                                                                           \
        rf_race_before(object);                                                                    \
        rf_gomp()->call;                                                                           \
        if (rf_self && rf_threads.replays)                                                         \
            rf_turn_wake(rf_self);                                                                 \
    } while (0)

void GOMP_critical_start(void) {
    ENTER(OMP_CRITICAL, &critical, GOMP_critical_start());
}

void GOMP_critical_end(void) {
    LEAVE(&critical, GOMP_critical_end());
}

void GOMP_critical_name_start(void **name) {
    ENTER(OMP_CRITICAL_NAME, name, GOMP_critical_name_start(name));
}

void GOMP_critical_name_end(void **name) {
    LEAVE(name, GOMP_critical_name_end(name));
}

void GOMP_atomic_start(void) {
    ENTER(OMP_ATOMIC, &atomic, GOMP_atomic_start());
}

void GOMP_atomic_end(void) {
    LEAVE(&atomic, GOMP_atomic_end());
}

/* The lock was got in the recording: now its holder may still be about to release it. */
static int test(enum rf_operation operation, uintptr_t address, void *lock, int (*real)(void *)) {
    struct rf_thread *self = rf_here();
    if (!self)
        return real(lock);
    int got;
    if (!rf_threads.replays) {
        got = real(lock);
        if (got)
            rf_take(self, operation, address, lock);
        else
            rf_failure_record(self, operation, address, 1);
        return got;
    }
    int code = rf_turn_await(self, operation, address);
    if (code)
        return code == RF_TURN_CUT ? real(lock) : 0;
    rf_turn_blocks(self, operation, address);
    while (!(got = real(lock)))
        sched_yield();
    rf_turn_goes_on(self);
    rf_turn_played(self);
    rf_race_after(lock);
    return got;
}

/* Fortran has names of its own, which libgomp does not lead to those of C. */
#define LOCK(kind, KIND, end)                                                                      \
    void omp_set_##kind##end(void *lock) {                                                         \
        ENTER(OMP_SET_##KIND, lock, omp_set_##kind##end(lock));                                    \
    }                                                                                              \
    void omp_unset_##kind##end(void *lock) {                                                       \
        LEAVE(lock, omp_unset_##kind##end(lock));                                                  \
    }                                                                                              \
    int omp_test_##kind##end(void *lock) {                                                         \
        return test(RF_OP_OMP_TEST_##KIND, RF_HERE_ADDRESS, lock,                                  \
                    rf_gomp()->omp_test_##kind##end);                                              \
    }

LOCK(lock, LOCK, )
LOCK(lock, LOCK, _)
LOCK(nest_lock, NEST_LOCK, )
LOCK(nest_lock, NEST_LOCK, _)
