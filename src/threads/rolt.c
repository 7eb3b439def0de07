/* The order of paper 004: logical clocks on threads and objects (section 4.1). A turn sets both to
   the larger one plus one; only jumps beyond the thread's own next value are written (4.2). A
   replay makes each turn wait until no thread can still come with a smaller time stamp. That is a
   total order, more than what happened: whatever the hooks do not see (a pipe, a flag, another
   rank's answer) may contradict it, and the replay then stands still and says so.

   The clocks also tick where locks are given up, and where threads begin, end and are joined (4.3);
   RF_ORDER_ROLT_UNLOCKS and RF_ORDER_ROLT_JOINS show what that is good for. */
#include <sched.h>

#include "threads/rolt.h"

void rf_rolt_take(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  const volatile void *object) {
    uint64_t *slot = rf_slot_of(object);
    uint64_t before = __atomic_load_n(slot, __ATOMIC_RELAXED);
    uint64_t after;
    do
        after = (before > self->clock ? before : self->clock) + 1;
    while (!__atomic_compare_exchange_n(slot, &before, after, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
    if (after > self->clock + 1)
        rf_log_number(self, RF_THREAD_LOG_JUMP, what, address, after - self->clock - 1);
    self->clock = after;
    rf_commit(self, what);
}

uint64_t rf_rolt_first(const struct rf_thread *parent) {
    return rf_joins_tick() ? parent->clock : 0;
}

/* A thread that is about to be created may come with small time stamps: the others have to know
   before its parent goes on to larger ones. */
void rf_rolt_announce(const struct rf_thread *parent, uint32_t number) {
    if (number >= rf_threads.places->count)
        return;
    struct rf_place *place = &rf_threads.places->place[number];
    __atomic_store_n(&place->next, rf_rolt_first(parent) + 1, __ATOMIC_SEQ_CST);
    place->state = RF_PLACE_RUNS;
}

/* It does not come after all. */
void rf_rolt_recall(uint32_t number) {
    if (number < rf_threads.places->count)
        rf_threads.places->place[number].state = RF_PLACE_ENDED;
}

/* The earliest time stamp that the thread's next turn can have. */
void rf_rolt_show(struct rf_thread *self) {
    bool jumps = self->next.type == RF_THREAD_LOG_JUMP && self->next.operation == self->done + 1;
    uint64_t next = self->clock + 1 + (jumps ? self->next.count : 0);
    /* Past its last operation nobody has to wait for it. */
    if (self->done >= self->recorded)
        next = UINT64_MAX;
    __atomic_store_n(&self->place->next, next, __ATOMIC_SEQ_CST);
}

static void wait_for(struct rf_thread *self, uint32_t thread, uint64_t stamp) {
    struct rf_place *other = &rf_threads.places->place[thread];
    unsigned looks = 0;
    while (__atomic_load_n(&other->next, __ATOMIC_SEQ_CST) < stamp &&
           other->state != RF_PLACE_UNBORN && other->state != RF_PLACE_ENDED &&
           !rf_threads.places->free) {
        if (++looks < 100)
            __builtin_ia32_pause();
        else if (looks < 200)
            sched_yield();
        else
            rf_nap(100000);
        self->place->thread = thread;
        self->place->count = stamp;
        self->place->state = RF_PLACE_WAITS;
    }
    self->place->state = RF_PLACE_RUNS;
}

void rf_tick(struct rf_thread *self, enum rf_operation what, uintptr_t address,
             const volatile void *object) {
    if (rf_threads.replays) {
        rf_turn_await(self, what, address);
        rf_turn_played(self);
    } else {
        rf_rolt_take(self, what, address, object);
    }
}

void rf_rolt_await_any(struct rf_thread *self) {
    for (uint32_t i = 0; i < rf_threads.places->count; i++)
        if (i != self->number)
            wait_for(self, i, self->place->next);
}

void rf_rolt_await(struct rf_thread *self) {
    uint64_t stamp = self->clock + 1;
    if (self->next.type == RF_THREAD_LOG_JUMP && self->next.operation == self->done + 1) {
        stamp += self->next.count;
        rf_replay_next(self);
    }
    for (uint32_t i = 0; i < rf_threads.places->count; i++)
        if (i != self->number)
            wait_for(self, i, stamp);
    self->clock = stamp;
}
