/* Threads that end in a call because another one wants them to. */
#ifndef RF_THREADS_CANCEL_H
#define RF_THREADS_CANCEL_H

#include <pthread.h>

#include "threads/state.h"

/* The code of an operation in which the thread was cancelled. */
#define RF_CANCELLED 4095

/* Record: around a real call in which the thread may be cancelled. */
struct rf_cancelled {
    struct rf_thread *self;
    enum rf_operation what;
    uintptr_t address;
    pthread_mutex_t *mutex; /* of a condition: it is locked again before the thread ends; or NULL */
};
void rf_cancelled(void *argument);

#define RF_CANCELLABLE(result, call, self, what, address, mutex)                                   \
    do {                                                                                           \
        struct rf_cancelled cancelled_ = {self, what, address, mutex};                             \
        pthread_cleanup_push(rf_cancelled, &cancelled_);                                           \
        result = call;                                                                             \
        pthread_cleanup_pop(0);                                                                    \
    } while (0)

/* Around all that a thread does: it ends otherwise than by coming to the end of it. */
void rf_cancel_noticed(void *self);
/* Replay: it has come to the end. */
void rf_cancel_await(struct rf_thread *self);

/* Replay: ends the thread, as it was ended here. `mutex` as above; it is not locked. */
_Noreturn void rf_cancel_here(struct rf_thread *self, uintptr_t address, pthread_mutex_t *mutex);

#endif
