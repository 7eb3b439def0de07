#include "threads/cancel.h"

#include "threads/hook.h"

void rf_cancelled(void *argument) {
    const struct rf_cancelled *cancelled = argument;
    struct rf_thread *self = cancelled->self;
    rf_failure_record(self, cancelled->what, cancelled->address, RF_CANCELLED);
    if (cancelled->mutex)
        rf_take_lock(self, RF_OP_COND_RELOCK, cancelled->address, cancelled->mutex);
}

static void relock(void *argument) {
    const struct rf_cancelled *cancelled = argument;
    if (!cancelled->mutex)
        return;
    rf_turn_await(cancelled->self, RF_OP_COND_RELOCK, cancelled->address);
    rf_real_functions.pthread_mutex_lock(cancelled->mutex);
    rf_turn_played(cancelled->self);
}

_Noreturn void rf_cancel_here(struct rf_thread *self, uintptr_t address, pthread_mutex_t *mutex) {
    struct rf_cancelled cancelled = {self, RF_OP_NONE, address, mutex};
    pthread_cleanup_push(relock, &cancelled);
    rf_real_functions.pthread_cancel(pthread_self());
    rf_real_functions.pthread_testcancel();
    pthread_cleanup_pop(1);
    rf_turn_differs(self, RF_OP_NONE, address,
                    "the thread was cancelled here in the recording, and cannot be now");
}

/* How often a thread asked before it was told. */
RF_HOOK void pthread_testcancel(void) {
    struct rf_thread *self = rf_here_from(RF_HERE_ADDRESS);
    uintptr_t address = RF_HERE_ADDRESS;
    if (!self) {
        rf_real()->pthread_testcancel();
        return;
    }
    if (!rf_threads.replays) {
        int asked;
        RF_CANCELLABLE(asked, (rf_real_functions.pthread_testcancel(), EAGAIN), self,
                       RF_OP_TESTCANCEL, address, NULL);
        rf_failure_record(self, RF_OP_TESTCANCEL, address, asked);
        return;
    }
    int code = rf_turn_await(self, RF_OP_TESTCANCEL, address);
    if (code == RF_CANCELLED)
        rf_cancel_here(self, address, NULL);
    if (code == RF_TURN_CUT)
        rf_real_functions.pthread_testcancel();
    if (code == 0)
        rf_turn_differs(self, RF_OP_TESTCANCEL, address, "recorded was another operation");
}

static int64_t find_thread(pthread_t thread) {
    uint32_t count = rf_threads.head->threads;
    for (uint32_t i = 0; i < count && i < RF_THREAD_LOG_THREADS; i++)
        if (rf_threads.handles[i] == thread && rf_threads.records[i])
            return i;
    return -1;
}

/* A thread notices some time later that it is cancelled: where it calls us it says so itself. For
   other calls, such as read(), it is recorded how far it had come, and in a replay it is not told
   before. */
RF_HOOK int pthread_cancel(pthread_t thread) {
    RF_PASS(pthread_cancel(thread));
    uintptr_t address = RF_HERE_ADDRESS;
    if (!rf_threads.replays) {
        int64_t number = find_thread(thread);
        int64_t value = -1;
        if (number >= 0)
            value =
                (int64_t)(rf_threads.records[number]->done << RF_THREAD_LOG_NUMBER_BITS) | number;
        rf_value_record(self, RF_OP_CANCEL, address, value);
    } else {
        int64_t value = rf_value_play(self, RF_OP_CANCEL, address);
        if (value >= 0 && !self->free)
            rf_turn_wait_for(self, RF_OP_CANCEL, address,
                             (uint32_t)(value & (RF_THREAD_LOG_THREADS - 1)),
                             (uint64_t)value >> RF_THREAD_LOG_NUMBER_BITS);
    }
    return rf_real_functions.pthread_cancel(thread);
}
