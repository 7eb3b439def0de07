/* What the clocks said last in this replay. */
#ifndef RF_LIBC_CLOCKS_H
#define RF_LIBC_CLOCKS_H

#include <stdint.h>
#include <time.h>

/* In nanoseconds, by any thread; 0 if nobody has asked this clock, or nothing is replayed. */
int64_t rf_time_latest(clockid_t clock);

int rf_clock_gettime(clockid_t clock, struct timespec *time, uintptr_t address);

#endif
