/* One counter for the process says that something has changed; who waits looks again. This is for
   replays only, where a few wrong wakings do not matter. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads/openmp.h"

static unsigned changes, sleepers;

void rf_omp_changed(void) {
    __atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool rf_omp_await(struct rf_thread *self, enum rf_operation operation, uintptr_t address,
                  bool (*ready)(void *what, uint64_t value), void *what, uint64_t value) {
    bool done = false;
    for (int i = 0; i < 20; i++) {
        if (ready(what, value))
            return true;
        sched_yield();
    }
    if (self) {
        rf_turn_wake(self);
        rf_turn_blocks(self, operation, address);
    }
    __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        unsigned seen = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
        if ((done = ready(what, value)) || rf_threads.places->free)
            break;
        rf_sleep_on(&changes, seen, 50000000); /* that all are free is not said here */
    }
    __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
    if (self)
        rf_turn_goes_on(self);
    return done;
}

void rf_omp_lock(int *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

void rf_omp_unlock(int *lock) {
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

void *rf_omp_allocate(size_t size) {
    if (rf_self)
        rf_self->inside++;
    void *memory = calloc(1, size);
    if (rf_self)
        rf_self->inside--;
    if (!memory)
        abort(); /* the program would fare no better: libgomp ends it as well */
    return memory;
}

/* Tools that look for data races do not know that this memory is freed, and would take the next
   task's arguments for those of the last one there. */
void rf_omp_free(void *memory) {
    if (__builtin_expect(rf_threads.races, 0))
        return;
    if (rf_self)
        rf_self->inside++;
    free(memory);
    if (rf_self)
        rf_self->inside--;
}
