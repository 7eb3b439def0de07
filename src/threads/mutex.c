#include "threads/hook.h"

/* The lock of a thread that died with it is had, and says so. */
#define HAD (code == 0 || code == EOWNERDEAD)

RF_HOOK int pthread_mutex_lock(pthread_mutex_t *mutex) {
    RF_PASS(pthread_mutex_lock(mutex));
    RF_LOCK(MUTEX_LOCK, mutex, pthread_mutex_lock(mutex));
}

RF_HOOK int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    RF_PASS(pthread_mutex_trylock(mutex));
    RF_TRY(MUTEX_TRYLOCK, mutex, pthread_mutex_trylock(mutex), pthread_mutex_lock(mutex), HAD);
}

RF_HOOK int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    RF_PASS(pthread_mutex_timedlock(mutex, until));
    RF_TRY(MUTEX_TIMEDLOCK, mutex, pthread_mutex_timedlock(mutex, until), pthread_mutex_lock(mutex),
           HAD);
}

RF_HOOK int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                    const struct timespec *until) {
    RF_PASS(pthread_mutex_clocklock(mutex, clock, until));
    RF_TRY(MUTEX_CLOCKLOCK, mutex, pthread_mutex_clocklock(mutex, clock, until),
           pthread_mutex_lock(mutex), HAD);
}

RF_HOOK int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    RF_UNLOCK(mutex, pthread_mutex_unlock(mutex));
}
