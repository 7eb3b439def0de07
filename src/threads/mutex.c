#include "threads/hook.h"

/* The lock of a thread that died with it is had, and says so. */
#define HAD (code == 0 || code == EOWNERDEAD)

/* To try is not to try: glibc's pthread_mutex_trylock leaves a robust mutex that cannot be mended
   locked for ever. A wait that is over at once does not. */
static const struct timespec long_ago;
#define AT_ONCE pthread_mutex_timedlock(mutex, &long_ago)

#define TRY(operation, plain)                                                                      \
    RF_TRY(operation, mutex, plain, AT_ONCE, ETIMEDOUT, pthread_mutex_lock(mutex), HAD,            \
           rf_take_lock)

RF_APART int lock_other(pthread_mutex_t *mutex, uintptr_t address) {
    RF_LOCK_OTHER(MUTEX_LOCK, address, mutex, pthread_mutex_lock(mutex), AT_ONCE, ETIMEDOUT);
}

RF_HOOK int pthread_mutex_lock(pthread_mutex_t *mutex) {
    RF_LOCK(MUTEX_LOCK, mutex, pthread_mutex_lock(mutex), lock_other(mutex, RF_HERE_ADDRESS));
}

RF_HOOK int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    RF_PASS(pthread_mutex_trylock(mutex));
    TRY(MUTEX_TRYLOCK, pthread_mutex_trylock(mutex));
}

RF_HOOK int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    RF_PASS(pthread_mutex_timedlock(mutex, until));
    TRY(MUTEX_TIMEDLOCK, pthread_mutex_timedlock(mutex, until));
}

RF_HOOK int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                    const struct timespec *until) {
    RF_PASS(pthread_mutex_clocklock(mutex, clock, until));
    TRY(MUTEX_CLOCKLOCK, pthread_mutex_clocklock(mutex, clock, until));
}

RF_UNLOCK(pthread_mutex_unlock, pthread_mutex_t, rf_turn_wake_soon)
