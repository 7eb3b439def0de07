#include "threads/hook.h"

RF_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_rdlock(lock));
    RF_LOCK(RWLOCK_RDLOCK, lock, pthread_rwlock_rdlock(lock));
}

RF_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_wrlock(lock));
    RF_LOCK(RWLOCK_WRLOCK, lock, pthread_rwlock_wrlock(lock));
}

RF_HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_tryrdlock(lock));
    RF_TRY(RWLOCK_TRYRDLOCK, lock, pthread_rwlock_tryrdlock(lock), pthread_rwlock_rdlock(lock),
           code == 0);
}

RF_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    RF_PASS(pthread_rwlock_trywrlock(lock));
    RF_TRY(RWLOCK_TRYWRLOCK, lock, pthread_rwlock_trywrlock(lock), pthread_rwlock_wrlock(lock),
           code == 0);
}

RF_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until) {
    RF_PASS(pthread_rwlock_timedrdlock(lock, until));
    RF_TRY(RWLOCK_TIMEDRDLOCK, lock, pthread_rwlock_timedrdlock(lock, until),
           pthread_rwlock_rdlock(lock), code == 0);
}

RF_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until) {
    RF_PASS(pthread_rwlock_timedwrlock(lock, until));
    RF_TRY(RWLOCK_TIMEDWRLOCK, lock, pthread_rwlock_timedwrlock(lock, until),
           pthread_rwlock_wrlock(lock), code == 0);
}

RF_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
                                       const struct timespec *until) {
    RF_PASS(pthread_rwlock_clockrdlock(lock, clock, until));
    RF_TRY(RWLOCK_CLOCKRDLOCK, lock, pthread_rwlock_clockrdlock(lock, clock, until),
           pthread_rwlock_rdlock(lock), code == 0);
}

RF_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
                                       const struct timespec *until) {
    RF_PASS(pthread_rwlock_clockwrlock(lock, clock, until));
    RF_TRY(RWLOCK_CLOCKWRLOCK, lock, pthread_rwlock_clockwrlock(lock, clock, until),
           pthread_rwlock_wrlock(lock), code == 0);
}

RF_HOOK int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    RF_UNLOCK(lock, pthread_rwlock_unlock(lock));
}
