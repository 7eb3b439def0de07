/* The system asked by number: older programs have no other way to some of these. */
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "clocks.h"
#include "devices.h"
#include "process.h"
#include "random.h"
#include "real.h"
#include "threads/state.h"

/* With all words that there may be. */
RF_HOOK long rf_syscall(long number, long a, long b, long c, long d, long e,
                        long f) __asm__("syscall");
typedef long pass_on(long number, long a, long b, long c, long d, long e, long f);

/* Does it wait no longer than until some time? */
static bool has_limit(int operation, long limit) {
    int command = operation & FUTEX_CMD_MASK;
    return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && limit;
}

long rf_syscall(long number, long a, long b, long c, long d, long e, long f) {
    uintptr_t here = RF_HERE_ADDRESS;
    switch (number) {
    case SYS_clock_gettime:
        return rf_clock_gettime((clockid_t)a, (struct timespec *)b, here);
    case SYS_gettimeofday:
        return rf_gettimeofday((struct timeval *)a, (void *)b, here);
    case SYS_time:
        return rf_time((time_t *)a, here);
    case SYS_times:
        return rf_times((struct tms *)a, here);
    case SYS_getrusage:
        return rf_getrusage((int)a, (struct rusage *)b, here);
    case SYS_read:
        if (rf_is_random((int)a))
            return rf_read((int)a, (void *)b, (size_t)c, here);
        break;
    case SYS_getrandom:
        return rf_getrandom((void *)a, (size_t)b, (unsigned)c, here);
    case SYS_getpid:
        return rf_getpid(here);
    case SYS_getppid:
        return rf_getppid(here);
    case SYS_gettid:
        return rf_gettid(here);
    case SYS_futex: /* whoever wakes another may have jumped here, from anywhere */
        if ((b & FUTEX_CMD_MASK) != FUTEX_WAKE)
            rf_futex_used(here, has_limit((int)b, d));
        break;
    case SYS_kill:
    case SYS_tkill:
        a = rf_killed(rf_real_id((pid_t)a), (int)b);
        break;
    case SYS_tgkill:
        a = rf_killed(rf_real_id((pid_t)a), (int)c);
        b = rf_real_id((pid_t)b);
        break;
    default:
        break;
    }
    long result = ((pass_on *)rf_libc()->syscall)(number, a, b, c, d, e, f);
    if (number == SYS_open || number == SYS_openat)
        rf_devices_opened((int)result);
    /* No jump instead of a call: that would put the last word back to where it came from, which is
       the caller's own if it gave fewer words, and may have changed. */
    __asm__ volatile("" ::: "memory");
    return result;
}
