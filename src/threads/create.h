/* What the two ways of creating a thread share. */
#ifndef RF_THREADS_CREATE_H
#define RF_THREADS_CREATE_H

#include "threads/state.h"

#define RF_NO_THREAD UINT32_MAX /* the number of one of which nothing could be recorded */

/* Is the thread that is created from here one of the program's, and recorded or replayed? */
bool rf_creates(uintptr_t address);
/* Before it is created: what the new thread does may be seen before its creation has returned, so
   it is recorded now. NULL: not to be recorded, or, with a failure, not to be created. */
struct rf_thread *rf_create_begin(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                                  int *failure);
/* After it: a creation that failed is a second operation, and in a replay a difference. From here
   on the program may name the new thread by its handle, also if that has not begun yet. */
void rf_create_end(struct rf_thread *self, enum rf_operation what, uintptr_t address, int code,
                   uint32_t number, const pthread_t *thread);

#endif
