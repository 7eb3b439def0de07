#include "threads/hook.h"

RF_APART int lock_other(pthread_spinlock_t *lock, uintptr_t address) {
    RF_LOCK_OTHER(SPIN_LOCK, address, lock, pthread_spin_lock(lock), pthread_spin_trylock(lock),
                  EBUSY);
}

RF_HOOK int pthread_spin_lock(pthread_spinlock_t *lock) {
    RF_LOCK(SPIN_LOCK, lock, pthread_spin_lock(lock), lock_other(lock, RF_HERE_ADDRESS));
}

RF_HOOK int pthread_spin_trylock(pthread_spinlock_t *lock) {
    RF_PASS(pthread_spin_trylock(lock));
    RF_TRY(SPIN_TRYLOCK, lock, pthread_spin_trylock(lock), pthread_spin_trylock(lock), EBUSY,
           pthread_spin_lock(lock), code == 0, rf_take_lock);
}

RF_UNLOCK(pthread_spin_unlock, pthread_spinlock_t, rf_turn_wake_soon)
