#include "threads/state.h"

struct rf_thread rf_nobody = {.inside = 1};
_Thread_local struct rf_thread *rf_anybody = &rf_nobody;

struct rf_thread *rf_thread_here(void) {
    return rf_here();
}

bool rf_turns_record(void) {
    return !rf_threads.replays;
}

void rf_turn_take(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  const volatile void *object) {
    rf_take(self, what, address, object);
}

void rf_step_record(struct rf_thread *self, enum rf_operation what) {
    rf_commit(self, what);
}

bool rf_lock_claim(struct rf_lock *lock, const volatile void *object) {
    const volatile void *nobody = NULL;
    return __atomic_compare_exchange_n(&lock->object, &nobody, object, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED) ||
           nobody == object;
}

/* The thread before had counted its operation when it let go of the lock, so what it has done by
   now is no less; and nothing of that waited for this thread, which has not counted its own. */
int rf_lock_passes(struct rf_thread *self, struct rf_lock *lock, enum rf_operation what,
                   uintptr_t address, int code) {
    const struct rf_thread_log_thread *before = lock->record;
    if (before) {
        const struct rf_thread_log_known *known =
            &self->known[before->number % RF_THREAD_LOG_KNOWN];
        if (lock->count >= (known->thread == before->number ? known->count : 0))
            rf_log_edge(self, what, address, before->number,
                        __atomic_load_n(&before->done, __ATOMIC_ACQUIRE));
    }
    if (rf_threads.on) {
        lock->record = self->record;
        rf_enter_run(self, what);
        rf_lock_count(self->record, lock);
    } else {
        self->free = true; /* nothing more is recorded */
    }
    return code;
}
