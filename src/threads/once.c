/* Who comes first runs the routine. Its end is an operation inside it, before anybody else comes
   through, and so all the others come after it. If it is left by an exception, somebody runs it
   again, and records how often that had happened. */
#include "threads/attempts.h"
#include "threads/hook.h"
#include "threads/races.h"

static _Thread_local void (*routine)(void) __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t from __attribute__((tls_model("initial-exec")));
static _Thread_local const void *object __attribute__((tls_model("initial-exec")));

struct attempt {
    const void *control;
    uintptr_t address;
    bool done;
};

/* Also when an exception passes by, or the thread is cancelled. That is an operation, so that what
   the thread does next is not taken for a part of the call. */
static void leave(const struct attempt *attempt) {
    if (attempt->done) {
        rf_attempt_succeeds(attempt->control);
        return;
    }
    struct rf_thread *self = rf_here();
    int64_t value;
    if (self && !rf_threads.replays)
        rf_step_record(self, RF_OP_ONCE_FAILS);
    else if (self)
        rf_step_play(self, RF_OP_ONCE_FAILS, attempt->address, &value);
    rf_attempt_fails(attempt->control);
}

/* In a replay the thread has waited for those that failed before it. */
static void tell_failures(uintptr_t address, const void *control) {
    struct rf_thread *self = rf_here();
    uint64_t failed = self && !rf_threads.replays ? rf_attempts_failed(control) : 0;
    if (failed)
        rf_value_record(self, RF_OP_ONCE_AGAIN, address, (int64_t)failed);
    if (self && rf_threads.replays && rf_replay_has_value(self, RF_OP_ONCE_AGAIN))
        rf_value_play(self, RF_OP_ONCE_AGAIN, address);
}

/* The routine may itself call pthread_once for something else. */
static void run(void) {
    uintptr_t address = from;
    const void *control = object;
    __attribute__((cleanup(leave))) struct attempt attempt = {control, address, false};
    tell_failures(address, control);
    routine();
    attempt.done = true;
    rf_race_before(control);
    struct rf_thread *self = rf_here();
    if (!self)
        return;
    if (!rf_threads.replays) {
        rf_take(self, RF_OP_ONCE_RUN, address, control);
        return;
    }
    rf_turn_await(self, RF_OP_ONCE_RUN, address);
    rf_turn_played(self);
    rf_turn_wake(self);
}

static void prepare(void (*function)(void), uintptr_t address, const void *control) {
    routine = function;
    from = address;
    object = control;
}

/* Waits for the edges of the thread's next operation, whatever it is: if this thread did not run
   the routine in the recording, it is the one after the call. One that was cut off in the call may
   have waited for another one there. */
static void wait_early(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       const void *control) {
    if (rf_turn_cut(self)) {
        if (!rf_replay_at_end(self))
            rf_turn_await(self, what, address);
        return;
    }
    rf_turn_await_any(self, what, address);
    if (rf_replay_has_value(self, RF_OP_ONCE_AGAIN))
        rf_attempts_await(self, what, address, control, (uint64_t)self->next.value);
}

RF_HOOK int pthread_once(pthread_once_t *control, void (*function)(void)) {
    RF_PASS(pthread_once(control, function));
    /* The unwinder of a thread that is cancelled comes here before the thread's own handlers. */
    if (rf_is_internal(RF_HERE_ADDRESS))
        return rf_real()->pthread_once(control, function);
    uintptr_t address = RF_HERE_ADDRESS;
    if (rf_threads.replays)
        wait_early(self, RF_OP_ONCE, address, control);
    prepare(function, address, control);
    int code = rf_real_functions.pthread_once(control, run);
    rf_race_after(control);
    if (!rf_threads.replays) {
        rf_follow(self, RF_OP_ONCE, address, control);
    } else {
        rf_turn_await(self, RF_OP_ONCE, address);
        rf_turn_played(self);
    }
    return code;
}

RF_HOOK void call_once(once_flag *flag, void (*function)(void)) {
    struct rf_thread *self = rf_here_from(RF_HERE_ADDRESS);
    if (!self) {
        rf_real()->call_once(flag, function);
        return;
    }
    uintptr_t address = RF_HERE_ADDRESS;
    if (rf_threads.replays)
        wait_early(self, RF_OP_CALL_ONCE, address, flag);
    prepare(function, address, flag);
    rf_real_functions.call_once(flag, run);
    rf_race_after(flag);
    if (!rf_threads.replays) {
        rf_follow(self, RF_OP_CALL_ONCE, address, flag);
    } else {
        rf_turn_await(self, RF_OP_CALL_ONCE, address);
        rf_turn_played(self);
    }
}
