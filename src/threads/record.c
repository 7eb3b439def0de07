#include "threads/state.h"

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
