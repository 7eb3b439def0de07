/* Threads come and go. Their numbers are part of the recording. */
#include "threads/create.h"
#include "threads/cancel.h"
#include "threads/hook.h"
#include "threads/rolt.h"

bool rf_creates(uintptr_t address) {
    rf_threads_look();
    bool first = !rf_threads.on && (rf_threads.wanted || rf_threads.unasked);
    if (first && !rf_inside_early && !rf_is_internal(address)) {
        if (rf_threads.wanted)
            rf_threads_begin();
        else
            rf_threads_unasked();
    }
    return rf_here_from(address);
}

struct rf_thread *rf_create_begin(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                                  int *failure) {
    *failure = 0;
    if (!rf_threads.replays) {
        struct rf_thread *child =
            rf_thread_new(self, __atomic_fetch_add(&rf_threads.head->threads, 1, __ATOMIC_RELAXED));
        rf_value_record(self, what, address, child ? child->number : RF_NO_THREAD);
        return child;
    }
    if (rf_clocks() && rf_replay_has_value(self, what))
        rf_rolt_announce(self, (uint32_t)self->next.value);
    uint32_t number = (uint32_t)rf_value_play(self, what, address);
    struct rf_thread *child = NULL;
    if (!self->free &&
        !(rf_replay_fails(self, what) && rf_failure_play(self, what, address, failure)))
        child = rf_thread_new(self, number);
    /* NULL: it could not be created, or nothing of it was recorded any more. */
    if (!child && rf_clocks())
        rf_rolt_recall(number);
    return child;
}

void rf_create_end(struct rf_thread *self, enum rf_operation what, uintptr_t address, int code,
                   uint32_t number, const pthread_t *thread) {
    if (!code && !rf_threads.replays && number != RF_NO_THREAD)
        __atomic_store_n(&rf_threads.handles[number], *thread, __ATOMIC_RELEASE);
    if (code && !rf_threads.replays)
        rf_failure_record(self, what, address, code);
    else if (code && !self->free)
        rf_turn_differs(self, what, address, "the thread cannot be created, as it was recorded");
}

static void *run(void *argument) {
    struct rf_thread *self = argument;
    void *result;
    rf_thread_enter(self);
    pthread_cleanup_push(rf_cancel_noticed, self);
    result = self->start(self->argument);
    pthread_cleanup_pop(0);
    rf_cancel_await(self);
    return result;
}

RF_HOOK int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                           void *(*start)(void *), void *argument) {
    uintptr_t address = RF_HERE_ADDRESS;
    if (!rf_creates(address))
        return rf_real()->pthread_create(thread, attributes, start, argument);
    struct rf_thread *self = rf_self;
    int failure;
    /* From that version on it has locks of its own, and what its threads wait for is decided by
       atomic operations. */
    if (rf_python(address) >= 13)
        rf_unseen(RF_UNSEEN_PYTHON_LOCKS);
    struct rf_thread *child = rf_create_begin(self, RF_OP_CREATE, address, &failure);
    if (failure)
        return failure;
    uint32_t number = child ? child->number : RF_NO_THREAD; /* which may be gone soon */
    self->inside++;
    if (child) {
        child->start = start;
        child->argument = argument;
    }
    int code = rf_real_functions.pthread_create(thread, attributes, child ? run : start,
                                                child ? child : argument);
    self->inside--;
    rf_create_end(self, RF_OP_CREATE, address, code, number, thread);
    return code;
}

/* The end of the other thread orders by itself, but clocks have to go on. */
static void record_join(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                        pthread_t thread) {
    if (rf_joins_tick())
        rf_rolt_take(self, what, address, (void *)thread);
    else
        rf_step_record(self, what);
}

RF_HOOK int pthread_join(pthread_t thread, void **result) {
    RF_PASS(pthread_join(thread, result));
    int code;
    if (!rf_threads.replays) {
        RF_CANCELLABLE(code, rf_real_functions.pthread_join(thread, result), self, RF_OP_JOIN,
                       RF_HERE_ADDRESS, NULL);
        record_join(self, RF_OP_JOIN, RF_HERE_ADDRESS, thread);
        return code;
    }
    if (rf_turn_await(self, RF_OP_JOIN, RF_HERE_ADDRESS) == RF_CANCELLED)
        rf_cancel_here(self, RF_HERE_ADDRESS, NULL);
    rf_turn_blocks(self, RF_OP_JOIN, RF_HERE_ADDRESS);
    int state; /* it was not cancelled in this call */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    code = rf_real_functions.pthread_join(thread, result);
    pthread_setcancelstate(state, NULL);
    rf_turn_goes_on(self);
    rf_turn_played(self);
    return code;
}

/* The end of the other thread, if it has come. */
#define TRY(operation, plain)                                                                      \
    RF_TRY(operation, thread, plain, pthread_tryjoin_np(thread, result), EBUSY,                    \
           pthread_join(thread, result), code == 0, record_join)

RF_HOOK int pthread_tryjoin_np(pthread_t thread, void **result) {
    RF_PASS(pthread_tryjoin_np(thread, result));
    TRY(TRYJOIN, pthread_tryjoin_np(thread, result));
}

RF_HOOK int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until) {
    RF_PASS(pthread_timedjoin_np(thread, result, until));
    TRY(TIMEDJOIN, pthread_timedjoin_np(thread, result, until));
}

RF_HOOK int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                                 const struct timespec *until) {
    RF_PASS(pthread_clockjoin_np(thread, result, clock, until));
    TRY(TIMEDJOIN, pthread_clockjoin_np(thread, result, clock, until));
}
