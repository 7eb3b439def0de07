/* Several threads may have such a lock at once, so its turns are those of any object. */
#include "threads/hook.h"

#define READ(operation, plain)                                                                     \
    RF_TRY(operation, lock, plain, pthread_rwlock_tryrdlock(lock), EBUSY,                          \
           pthread_rwlock_rdlock(lock), code == 0, rf_take)
#define WRITE(operation, plain)                                                                    \
    RF_TRY(operation, lock, plain, pthread_rwlock_trywrlock(lock), EBUSY,                          \
           pthread_rwlock_wrlock(lock), code == 0, rf_take)

RF_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_rdlock(lock));
    RF_WAIT(RWLOCK_RDLOCK, RF_HERE_ADDRESS, lock, pthread_rwlock_rdlock(lock),
            pthread_rwlock_tryrdlock(lock), EBUSY, rf_take);
}

RF_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_wrlock(lock));
    RF_WAIT(RWLOCK_WRLOCK, RF_HERE_ADDRESS, lock, pthread_rwlock_wrlock(lock),
            pthread_rwlock_trywrlock(lock), EBUSY, rf_take);
}

RF_HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_tryrdlock(lock));
    READ(RWLOCK_TRYRDLOCK, pthread_rwlock_tryrdlock(lock));
}

RF_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_trywrlock(lock));
    WRITE(RWLOCK_TRYWRLOCK, pthread_rwlock_trywrlock(lock));
}

RF_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until) {
    RF_PASS(pthread_rwlock_timedrdlock(lock, until));
    READ(RWLOCK_TIMEDRDLOCK, pthread_rwlock_timedrdlock(lock, until));
}

RF_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until) {
    RF_PASS(pthread_rwlock_timedwrlock(lock, until));
    WRITE(RWLOCK_TIMEDWRLOCK, pthread_rwlock_timedwrlock(lock, until));
}

RF_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
                                       const struct timespec *until) {
    RF_PASS(pthread_rwlock_clockrdlock(lock, clock, until));
    READ(RWLOCK_CLOCKRDLOCK, pthread_rwlock_clockrdlock(lock, clock, until));
}

RF_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
                                       const struct timespec *until) {
    RF_PASS(pthread_rwlock_clockwrlock(lock, clock, until));
    WRITE(RWLOCK_CLOCKWRLOCK, pthread_rwlock_clockwrlock(lock, clock, until));
}

RF_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, rf_turn_wake_soon)
