#include "threads/attempts.h"

#include <stdlib.h>

/* Objects for which it has failed: hardly ever any. They are never taken out of the list. */
struct attempts {
    struct attempts *next;
    const void *object;
    uint64_t failed;
};

static struct attempts *all;

static struct attempts *find(const void *object) {
    struct attempts *attempts = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (attempts && attempts->object != object)
        attempts = attempts->next;
    return attempts;
}

uint64_t rf_attempts_failed(const void *object) {
    const struct attempts *attempts = find(object);
    return attempts ? __atomic_load_n(&attempts->failed, __ATOMIC_ACQUIRE) : 0;
}

void rf_attempt_fails(const void *object) {
    struct attempts *attempts = find(object);
    if (attempts) {
        __atomic_fetch_add(&attempts->failed, 1, __ATOMIC_ACQ_REL);
        return;
    }
    attempts = malloc(sizeof *attempts);
    if (!attempts)
        abort(); /* a replay would wait for this one for ever */
    *attempts = (struct attempts){__atomic_load_n(&all, __ATOMIC_RELAXED), object, 1};
    while (!__atomic_compare_exchange_n(&all, &attempts->next, attempts, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        ;
}

void rf_attempts_await(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       const void *object, uint64_t failed) {
    rf_turn_wake(self);
    rf_turn_blocks(self, what, address);
    while (rf_attempts_failed(object) < failed && !rf_threads.places->free)
        rf_nap(50000);
    rf_turn_goes_on(self);
}
