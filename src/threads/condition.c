/* Condition variables. A wait is two operations when it ends: one on the condition, so that it
   comes after the signal even if that was sent without the mutex, and one on the mutex. A replay
   does not touch the real condition: it hands the mutex over in the recorded order. Who looks for
   data races has to be told what it would have seen there. */
#include <string.h>

#include "threads/cancel.h"
#include "threads/hook.h"
#include "threads/races.h"

RF_HOOK int pthread_cond_signal(pthread_cond_t *condition) {
    RF_PASS(pthread_cond_signal(condition));
    rf_race_before(condition);
    RF_RELEASE(COND_SIGNAL, condition, pthread_cond_signal(condition));
}

RF_HOOK int pthread_cond_broadcast(pthread_cond_t *condition) {
    RF_PASS(pthread_cond_broadcast(condition));
    rf_race_before(condition);
    RF_RELEASE(COND_BROADCAST, condition, pthread_cond_broadcast(condition));
}

static int replay(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  pthread_cond_t *condition, pthread_mutex_t *mutex) {
    rf_real_functions.pthread_mutex_unlock(mutex);
    int code = rf_turn_await(self, what, address);
    if (code == RF_TURN_CUT) { /* who waits for nothing may be woken for nothing */
        rf_real_functions.pthread_mutex_lock(mutex);
        return 0;
    }
    if (code == RF_CANCELLED)
        rf_cancel_here(self, address, mutex);
    if (code == EPERM) /* the mutex was not its own */
        return code;
    if (code == 0)
        rf_turn_played(self);
    rf_turn_await(self, RF_OP_COND_RELOCK, address);
    rf_turn_blocks(self, RF_OP_COND_RELOCK, address);
    int locked = rf_real_functions.pthread_mutex_lock(mutex);
    rf_turn_goes_on(self);
    rf_turn_played(self);
    if (code == 0)
        rf_race_after(condition);
    return locked ? locked : code;
}

/* A thread of Python that has waited for the interpreter for some milliseconds asks for it by a
   flag, and the thread that has it looks at that flag between any two instructions of the program.
 */
static void note_python(int result, uintptr_t address) {
    if (__builtin_expect(result == ETIMEDOUT, 0) && rf_python(address))
        rf_unseen(RF_UNSEEN_PYTHON);
}

#define WAIT(operation, plain)                                                                     \
    do {                                                                                           \
        uintptr_t address = RF_HERE_ADDRESS;                                                       \
        if (rf_unlocks_tick())                                                                     \
            rf_tick(self, RF_OP_UNLOCK, address, mutex);                                           \
        if (!rf_threads.replays) {                                                                 \
            int result;                                                                            \
            RF_CANCELLABLE(result, rf_real_functions.plain, self, RF_OP_##operation, address,      \
                           mutex);                                                                 \
            note_python(result, address);                                                          \
            return rf_record_wait(self, RF_OP_##operation, address, condition, mutex, result);     \
        }                                                                                          \
        return replay(self, RF_OP_##operation, address, condition, mutex);                         \
    } while (0)

RF_HOOK int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    RF_PASS(pthread_cond_wait(condition, mutex));
    WAIT(COND_WAIT, pthread_cond_wait(condition, mutex));
}

RF_HOOK int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                   const struct timespec *until) {
    RF_PASS(pthread_cond_timedwait(condition, mutex, until));
    WAIT(COND_TIMEDWAIT, pthread_cond_timedwait(condition, mutex, until));
}

RF_HOOK int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                   clockid_t clock, const struct timespec *until) {
    RF_PASS(pthread_cond_clockwait(condition, mutex, clock, until));
    WAIT(COND_CLOCKWAIT, pthread_cond_clockwait(condition, mutex, clock, until));
}
