#include "bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "include/mcapi.h"

#define SECOND 1000000000u

uint64_t mc_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t mc_deadline(uint32_t milliseconds) {
    if (milliseconds == MCAPI_TIMEOUT_INFINITE)
        return MC_FOREVER;
    return milliseconds ? mc_now() + milliseconds * UINT64_C(1000000) : 0;
}

void mc_bell_sleep(struct mc_bell *bell, uint32_t heard, uint64_t nanoseconds) {
    struct timespec time = {.tv_sec = (time_t)(nanoseconds / SECOND),
                            .tv_nsec = (long)(nanoseconds % SECOND)};
    syscall(SYS_futex, &bell->rung, FUTEX_WAIT, heard, &time, NULL, 0);
}

void mc_bell_wake(struct mc_bell *bell) {
    __atomic_add_fetch(&bell->rung, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void mc_lock_wait(struct mc_lock *lock) {
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void mc_lock_wake(struct mc_lock *lock) {
    syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
