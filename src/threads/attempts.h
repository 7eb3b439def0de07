/* What is to be initialised once may fail, by an exception, and then another thread tries. Who did
   so in the recording has to wait for those that failed. */
#ifndef RF_THREADS_ATTEMPTS_H
#define RF_THREADS_ATTEMPTS_H

#include "threads/state.h"

/* How often it has failed for this object. */
uint64_t rf_attempts_failed(const void *object);
/* By who tries, before another one can: it has failed once more. */
void rf_attempt_fails(const void *object);
/* Replay: waits until it has failed so often. */
void rf_attempts_await(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       const void *object, uint64_t failed);

#endif
