/* C11 threads: the C library's own go to the same objects by ways that no hook sees. */
#include "threads/cancel.h"
#include "threads/create.h"
#include "threads/hook.h"
#include "threads/races.h"

static int run(void *argument) {
    struct rf_thread *self = argument;
    int result;
    rf_thread_enter(self);
    pthread_cleanup_push(rf_cancel_noticed, self);
    result = self->start_c11(self->argument);
    pthread_cleanup_pop(0);
    rf_cancel_await(self);
    return result;
}

RF_HOOK int thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
    uintptr_t address = RF_HERE_ADDRESS;
    if (!rf_creates(address))
        return rf_real()->thrd_create(thread, start, argument);
    struct rf_thread *self = rf_self;
    int failure;
    struct rf_thread *child = rf_create_begin(self, RF_OP_THRD_CREATE, address, &failure);
    if (failure)
        return failure;
    uint32_t number = child ? child->number : RF_NO_THREAD;
    self->inside++;
    if (child) {
        child->start_c11 = start;
        child->argument = argument;
    }
    int code = rf_real_functions.thrd_create(thread, child ? run : start, child ? child : argument);
    self->inside--;
    rf_create_end(self, RF_OP_THRD_CREATE, address, code, number, thread);
    return code;
}

RF_HOOK int thrd_join(thrd_t thread, int *result) {
    RF_PASS(thrd_join(thread, result));
    int code;
    if (!rf_threads.replays) {
        code = rf_real_functions.thrd_join(thread, result);
        if (rf_joins_tick())
            rf_rolt_take(self, RF_OP_THRD_JOIN, RF_HERE_ADDRESS, (void *)thread);
        else
            rf_step_record(self, RF_OP_THRD_JOIN);
        return code;
    }
    rf_turn_await(self, RF_OP_THRD_JOIN, RF_HERE_ADDRESS);
    rf_turn_blocks(self, RF_OP_THRD_JOIN, RF_HERE_ADDRESS);
    code = rf_real_functions.thrd_join(thread, result);
    rf_turn_goes_on(self);
    rf_turn_played(self);
    return code;
}

RF_APART int lock_other(mtx_t *mutex, uintptr_t address) {
    RF_LOCK_OTHER(MTX_LOCK, address, mutex, mtx_lock(mutex), mtx_trylock(mutex), thrd_busy);
}

RF_HOOK int mtx_lock(mtx_t *mutex) {
    RF_LOCK(MTX_LOCK, mutex, mtx_lock(mutex), lock_other(mutex, RF_HERE_ADDRESS));
}

RF_HOOK int mtx_trylock(mtx_t *mutex) {
    RF_PASS(mtx_trylock(mutex));
    RF_TRY(MTX_TRYLOCK, mutex, mtx_trylock(mutex), mtx_trylock(mutex), thrd_busy, mtx_lock(mutex),
           code == thrd_success, rf_take_lock);
}

RF_HOOK int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
    RF_PASS(mtx_timedlock(mutex, until));
    RF_TRY(MTX_TIMEDLOCK, mutex, mtx_timedlock(mutex, until), mtx_trylock(mutex), thrd_busy,
           mtx_lock(mutex), code == thrd_success, rf_take_lock);
}

RF_UNLOCK(mtx_unlock, mtx_t, rf_turn_wake_soon)

RF_HOOK int cnd_signal(cnd_t *condition) {
    RF_PASS(cnd_signal(condition));
    rf_race_before(condition);
    RF_RELEASE(CND_SIGNAL, condition, cnd_signal(condition));
}

RF_HOOK int cnd_broadcast(cnd_t *condition) {
    RF_PASS(cnd_broadcast(condition));
    rf_race_before(condition);
    RF_RELEASE(CND_BROADCAST, condition, cnd_broadcast(condition));
}

/* As for POSIX conditions: see condition.c. */
static int replay(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  cnd_t *condition, mtx_t *mutex) {
    rf_real_functions.mtx_unlock(mutex);
    int code = rf_turn_await(self, what, address);
    if (code != RF_TURN_CUT) {
        if (code == 0)
            rf_turn_played(self);
        rf_turn_await(self, RF_OP_COND_RELOCK, address);
        rf_turn_blocks(self, RF_OP_COND_RELOCK, address);
    }
    rf_real_functions.mtx_lock(mutex);
    rf_turn_goes_on(self);
    rf_turn_played(self);
    if (code == 0)
        rf_race_after(condition);
    return code == RF_TURN_CUT ? thrd_success : code;
}

RF_HOOK int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    RF_PASS(cnd_wait(condition, mutex));
    uintptr_t address = RF_HERE_ADDRESS;
    if (rf_unlocks_tick())
        rf_tick(self, RF_OP_UNLOCK, address, mutex);
    if (rf_threads.replays)
        return replay(self, RF_OP_CND_WAIT, address, condition, mutex);
    return rf_record_wait(self, RF_OP_CND_WAIT, address, condition, mutex,
                          rf_real_functions.cnd_wait(condition, mutex));
}

RF_HOOK int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                          const struct timespec *restrict until) {
    RF_PASS(cnd_timedwait(condition, mutex, until));
    uintptr_t address = RF_HERE_ADDRESS;
    if (rf_unlocks_tick())
        rf_tick(self, RF_OP_UNLOCK, address, mutex);
    if (rf_threads.replays)
        return replay(self, RF_OP_CND_TIMEDWAIT, address, condition, mutex);
    return rf_record_wait(self, RF_OP_CND_TIMEDWAIT, address, condition, mutex,
                          rf_real_functions.cnd_timedwait(condition, mutex, until));
}
