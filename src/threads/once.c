/* Who comes first runs the routine. Its end is an operation inside it, before anybody else comes
   through, and so all the others come after it. If it is left by an exception, that is an operation
   too, and somebody runs it again, who comes after it. */
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

static void take_turn(enum rf_operation what, const struct attempt *attempt) {
    struct rf_thread *self = rf_here();
    if (!self)
        return;
    if (!rf_threads.replays) {
        rf_take(self, what, attempt->address, attempt->control);
        return;
    }
    rf_turn_await(self, what, attempt->address);
    rf_turn_played(self);
    rf_turn_wake(self);
}

/* That the routine is begun tells a replay who runs it: what this thread does next is not
   taken for something after the call, nor for something in another one inside the routine. */
static void begin(const struct attempt *attempt) {
    struct rf_thread *self = rf_here();
    if (!self)
        return;
    if (!rf_threads.replays) {
        rf_follow(self, RF_OP_ONCE_BEGIN, attempt->address, attempt->control);
        return;
    }
    rf_turn_await(self, RF_OP_ONCE_BEGIN, attempt->address);
    rf_turn_played(self);
}

/* Also when an exception passes by, or the thread is cancelled. */
static void leave(const struct attempt *attempt) {
    if (!attempt->done)
        take_turn(RF_OP_ONCE_FAILS, attempt);
}

/* The routine may itself call pthread_once for something else. */
static void run(void) {
    __attribute__((cleanup(leave))) struct attempt attempt = {object, from, false};
    begin(&attempt);
    routine();
    attempt.done = true;
    rf_race_before(attempt.control);
    take_turn(RF_OP_ONCE_RUN, &attempt);
}

static void prepare(void (*function)(void), uintptr_t address, const void *control) {
    routine = function;
    from = address;
    object = control;
}

/* Waits for the edges of the thread's next operation: that the routine is begun, if it ran it in
   the recording, else the call itself. One that was cut off in the call may have waited for another
   one there. */
static void wait_early(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    if (!rf_turn_cut(self))
        rf_turn_await_any(self, what, address);
    else if (!rf_replay_at_end(self))
        rf_turn_await(self, what, address);
}

RF_HOOK int pthread_once(pthread_once_t *control, void (*function)(void)) {
    RF_PASS(pthread_once(control, function));
    /* The unwinder of a thread that is cancelled comes here before the thread's own handlers. */
    if (rf_is_internal(RF_HERE_ADDRESS))
        return rf_real()->pthread_once(control, function);
    uintptr_t address = RF_HERE_ADDRESS;
    if (rf_threads.replays)
        wait_early(self, RF_OP_ONCE, address);
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
        wait_early(self, RF_OP_CALL_ONCE, address);
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
