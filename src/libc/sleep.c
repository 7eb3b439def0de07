/* Sleeping until a time of a clock whose times are replayed: they lie in the past, or in the future
   if the recording was made on a machine that has been up for longer. */
#include "clocks.h"
#include "real.h"
#include "values.h"

#define RF_NANO 1000000000

RF_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                            struct timespec *left) {
    int64_t now = flags & TIMER_ABSTIME ? rf_time_latest(clock) : 0;
    if (!now || !rf_value_thread(RF_VALUES_TIME, RF_HERE_ADDRESS))
        return rf_libc()->clock_nanosleep(clock, flags, until, left);
    int64_t nanoseconds = (int64_t)until->tv_sec * RF_NANO + until->tv_nsec - now;
    if (nanoseconds < 0)
        nanoseconds = 0;
    struct timespec length = {nanoseconds / RF_NANO, nanoseconds % RF_NANO};
    return rf_libc()->clock_nanosleep(clock, flags & ~TIMER_ABSTIME, &length, NULL);
}
