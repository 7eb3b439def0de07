#include "threads/hook.h"

RF_HOOK int pthread_spin_lock(pthread_spinlock_t *lock) {
    RF_PASS(pthread_spin_lock(lock));
    RF_LOCK(SPIN_LOCK, lock, pthread_spin_lock(lock));
}

RF_HOOK int pthread_spin_trylock(pthread_spinlock_t *lock) {
    RF_PASS(pthread_spin_trylock(lock));
    RF_TRY(SPIN_TRYLOCK, lock, pthread_spin_trylock(lock), pthread_spin_lock(lock), code == 0);
}

RF_HOOK int pthread_spin_unlock(pthread_spinlock_t *lock) {
    RF_UNLOCK(lock, pthread_spin_unlock(lock));
}
