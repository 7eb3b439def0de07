#include "threads/cancel.h"

#include "threads/hook.h"

void rf_cancelled(void *argument) {
    const struct rf_cancelled *cancelled = argument;
    struct rf_thread *self = cancelled->self;
    self->record->cancelled |= RF_CANCEL_TOLD;
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

/* The number of a thread, or -1. Handles are given away again: it is the one that has not ended. If
   all have, the last one is meant, whose end nobody has waited for. */
static int64_t find_thread(pthread_t thread) {
    uint32_t count = rf_threads.head->threads;
    int64_t ended = -1;
    for (uint32_t i = count < RF_THREAD_LOG_THREADS ? count : RF_THREAD_LOG_THREADS; i-- > 0;) {
        const struct rf_thread_log_thread *record =
            __atomic_load_n(&rf_threads.records[i], __ATOMIC_ACQUIRE);
        if (!record || __atomic_load_n(&rf_threads.handles[i], __ATOMIC_ACQUIRE) != thread)
            continue;
        if (record->state != RF_THREAD_ENDED)
            return i;
        if (ended < 0)
            ended = i;
    }
    return ended;
}

/* A thread notices some time later that it is cancelled: where it calls us it says so itself. For
   other calls, such as read(), it is recorded how far it had come, and in a replay it is not told
   before, nor as long as it gets on with what it did in the recording. */
static void tell(struct rf_thread *self, uintptr_t address, pthread_t thread) {
    int64_t number = find_thread(thread), value = -1;
    if (number >= 0) {
        struct rf_thread_log_thread *record = rf_threads.records[number];
        __atomic_fetch_or(&record->cancelled, RF_CANCEL_ASKED, __ATOMIC_RELAXED);
        value = (int64_t)(record->done << RF_THREAD_LOG_NUMBER_BITS) | number;
    }
    rf_value_record(self, RF_OP_CANCEL, address, value);
}

/* False: it ended before it noticed, or it is told by itself. */
static bool is_to_be_told(struct rf_thread *self, uintptr_t address) {
    int64_t value = rf_value_play(self, RF_OP_CANCEL, address);
    if (value < 0 || self->free)
        return true;
    uint32_t number = (uint32_t)(value & (RF_THREAD_LOG_THREADS - 1));
    const struct rf_thread_log_thread *record = rf_thread_log_thread(rf_threads.turns, number);
    bool ended = record && record->state == RF_THREAD_ENDED && record->cancelled;
    if (ended && record->cancelled != (RF_CANCEL_ASKED | RF_CANCEL_ENDED))
        return false;
    rf_turn_wait_for(self, RF_OP_CANCEL, address, number,
                     (uint64_t)value >> RF_THREAD_LOG_NUMBER_BITS);
    if (ended)
        rf_replay_settle(self, number, record->done);
    return true;
}

RF_HOOK int pthread_cancel(pthread_t thread) {
    RF_PASS(pthread_cancel(thread));
    uintptr_t address = RF_HERE_ADDRESS;
    if (!rf_threads.replays)
        tell(self, address, thread);
    else if (!is_to_be_told(self, address))
        return 0;
    return rf_real_functions.pthread_cancel(thread);
}

/* ---- how a thread ends ---- */

void rf_cancel_noticed(void *argument) {
    const struct rf_thread *self = argument;
    if (!rf_threads.replays && !self->exits)
        __atomic_fetch_or(&self->record->cancelled, RF_CANCEL_ENDED, __ATOMIC_RELAXED);
}

/* It was cancelled before it came so far, and may not have been told yet. */
void rf_cancel_await(struct rf_thread *self) {
    if (rf_threads.replays && !self->free)
        rf_replay_await_cancel(self, RF_OP_THREAD_EXIT, 0);
}

static void exits(void) {
    struct rf_thread *self = rf_here();
    if (!self)
        return;
    rf_cancel_await(self);
    self->exits = true;
}

RF_HOOK void pthread_exit(void *result) {
    exits();
    rf_real()->pthread_exit(result);
    __builtin_unreachable();
}

RF_HOOK void thrd_exit(int result) {
    exits();
    rf_real()->thrd_exit(result);
    __builtin_unreachable();
}
