/* A lock of one word for what threads of the program share. Nobody outside sees it: it is no lock
   of the C library, whose locks may be hooked. Free: 0; taken: 1; taken, and somebody sleeps: 2. */
#ifndef RF_ENGINE_LOCK_H
#define RF_ENGINE_LOCK_H

#include <stdbool.h>

#include "trace/compiler.h"

void rf_lock_wait(int *lock);
void rf_lock_wake(int *lock);

RF_STEP bool rf_try_lock(int *lock) {
    int expected = 0;
    return __atomic_compare_exchange_n(lock, &expected, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

RF_STEP void rf_lock(int *lock) {
    if (__builtin_expect(!rf_try_lock(lock), 0))
        rf_lock_wait(lock);
}

RF_STEP void rf_unlock(int *lock) {
    if (__builtin_expect(__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2, 0))
        rf_lock_wake(lock);
}

#endif
