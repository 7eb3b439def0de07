/* What the clocks say, and what they said last in this replay. */
#ifndef RF_LIBC_CLOCKS_H
#define RF_LIBC_CLOCKS_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

/* In nanoseconds, by any thread; 0 if nobody has asked this clock, or nothing is replayed. */
int64_t rf_time_latest(clockid_t clock);

/* The functions of these names, called from `address`. */
int rf_clock_gettime(clockid_t clock, struct timespec *time, uintptr_t address);
int rf_gettimeofday(struct timeval *time, void *zone, uintptr_t address);
time_t rf_time(time_t *result, uintptr_t address);
/* usage.c */
clock_t rf_times(struct tms *used, uintptr_t address);
int rf_getrusage(int who, struct rusage *usage, uintptr_t address);

#endif
