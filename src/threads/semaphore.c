/* Semaphores say what went wrong in errno. */
#include "threads/cancel.h"
#include "threads/hook.h"

RF_HOOK int sem_post(sem_t *semaphore) {
    RF_PASS(sem_post(semaphore));
    RF_RELEASE(SEM_POST, semaphore, sem_post(semaphore));
}

/* In a replay: the turn has come, so that it can mostly be had at once. Helgrind does not know
   sem_trywait(). */
static int have(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                sem_t *semaphore) {
    int before = errno, code = 0, state;
    if (rf_threads.races || rf_real_functions.sem_trywait(semaphore) != 0) {
        rf_turn_blocks(self, what, address);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        do
            code = rf_real_functions.sem_wait(semaphore);
        while (code != 0 && errno == EINTR);
        pthread_setcancelstate(state, NULL);
        rf_turn_goes_on(self);
    }
    if (code == 0)
        errno = before;
    rf_turn_played(self);
    return code;
}

/* `plain` is the real call, after which `code` is recorded. A wait has to come after all posts
   before it, each of which comes after the one before; but no post, and no other wait, has to come
   after it (see docs/threads.md). */
#define WAIT(operation, plain)                                                                     \
    do {                                                                                           \
        if (!rf_threads.replays) {                                                                 \
            int result;                                                                            \
            RF_CANCELLABLE(result, rf_real_functions.plain, self, RF_OP_##operation,               \
                           RF_HERE_ADDRESS, NULL);                                                 \
            int error = errno;                                                                     \
            if (result == 0)                                                                       \
                rf_follow(self, RF_OP_##operation, RF_HERE_ADDRESS, semaphore);                    \
            else                                                                                   \
                rf_failure_record(self, RF_OP_##operation, RF_HERE_ADDRESS, error);                \
            errno = error;                                                                         \
            return result;                                                                         \
        }                                                                                          \
        int code = rf_turn_await(self, RF_OP_##operation, RF_HERE_ADDRESS);                        \
        if (code == RF_CANCELLED)                                                                  \
            rf_cancel_here(self, RF_HERE_ADDRESS, NULL);                                           \
        if (code == RF_TURN_CUT)                                                                   \
            return rf_real_functions.plain;                                                        \
        if (code) {                                                                                \
            errno = code;                                                                          \
            return -1;                                                                             \
        }                                                                                          \
        return have(self, RF_OP_##operation, RF_HERE_ADDRESS, semaphore);                          \
    } while (0)

RF_HOOK int sem_wait(sem_t *semaphore) {
    RF_PASS(sem_wait(semaphore));
    WAIT(SEM_WAIT, sem_wait(semaphore));
}

RF_HOOK int sem_trywait(sem_t *semaphore) {
    RF_PASS(sem_trywait(semaphore));
    WAIT(SEM_TRYWAIT, sem_trywait(semaphore));
}

RF_HOOK int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    RF_PASS(sem_timedwait(semaphore, until));
    WAIT(SEM_TIMEDWAIT, sem_timedwait(semaphore, until));
}

RF_HOOK int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until) {
    RF_PASS(sem_clockwait(semaphore, clock, until));
    WAIT(SEM_CLOCKWAIT, sem_clockwait(semaphore, clock, until));
}

RF_HOOK int sem_getvalue(sem_t *semaphore, int *value) {
    RF_PASS(sem_getvalue(semaphore, value));
    int code = rf_real_functions.sem_getvalue(semaphore, value);
    if (!rf_threads.replays) {
        rf_value_record(self, RF_OP_SEM_GETVALUE, RF_HERE_ADDRESS, *value);
    } else {
        int recorded = (int)rf_value_play(self, RF_OP_SEM_GETVALUE, RF_HERE_ADDRESS);
        if (!self->free)
            *value = recorded;
    }
    return code;
}
