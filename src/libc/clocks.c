/* Clocks. A thread's times of one clock are kept as differences, which are small. */
#include "clocks.h"

#include <errno.h>
#include <string.h>

#include "real.h"
#include "values.h"

#define RF_NANO 1000000000
/* A difference that is none: the error follows. */
#define RF_FAILED INT64_MIN

enum { FIRST = RF_OP_CLOCK_REALTIME, TIMES = RF_OP_MPI_WTIME - FIRST + 1, CLOCKS = 8 };
_Static_assert(RF_OP_CLOCK_REALTIME + CLOCK_BOOTTIME == RF_OP_CLOCK_BOOTTIME, "order of clocks");

static _Thread_local int64_t last[TIMES];
static int64_t latest[CLOCKS];

int64_t rf_time_latest(clockid_t clock) {
    return clock >= 0 && clock < CLOCKS ? __atomic_load_n(&latest[clock], __ATOMIC_RELAXED) : 0;
}

static void record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                   int64_t time) {
    int64_t before = last[what - FIRST];
    last[what - FIRST] = time;
    rf_value_record(self, what, address, (int64_t)((uint64_t)time - (uint64_t)before));
}

enum outcome { OVER, FAILED, PLAYED };

/* After FAILED errno is set. */
static enum outcome play(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                         int64_t *time) {
    int64_t difference, cause;
    if (!rf_value_get(self, what, address, &difference))
        return OVER;
    if (difference == RF_FAILED) {
        if (!rf_value_get(self, what, address, &cause))
            return OVER;
        errno = (int)cause;
        return FAILED;
    }
    *time = (int64_t)((uint64_t)last[what - FIRST] + (uint64_t)difference);
    last[what - FIRST] = *time;
    return PLAYED;
}

static void remember(clockid_t clock, int64_t time) {
    __atomic_store_n(&latest[clock], time, __ATOMIC_RELAXED);
}

static void record_failure(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    int cause = errno;
    rf_value_record(self, what, address, RF_FAILED);
    rf_value_record(self, what, address, cause);
    errno = cause;
}

int rf_clock_gettime(clockid_t clock, struct timespec *time, uintptr_t address) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_TIME, address);
    if (!self)
        return rf_libc()->clock_gettime(clock, time);
    bool named = clock >= 0 && clock < CLOCKS;
    enum rf_operation what =
        named ? (enum rf_operation)(RF_OP_CLOCK_REALTIME + clock) : RF_OP_CLOCK_OTHER;
    int64_t played;
    enum outcome outcome = rf_turns_record() ? OVER : play(self, what, address, &played);
    if (outcome == FAILED)
        return -1;
    if (outcome == PLAYED) {
        if (named)
            remember(clock, played);
        time->tv_sec = played / RF_NANO;
        time->tv_nsec = played % RF_NANO;
        return 0;
    }
    int code = rf_libc()->clock_gettime(clock, time);
    if (!rf_turns_record())
        return code;
    if (code == 0)
        record(self, what, address, (int64_t)time->tv_sec * RF_NANO + time->tv_nsec);
    else
        record_failure(self, what, address);
    return code;
}

RF_HOOK int clock_gettime(clockid_t clock, struct timespec *time) {
    return rf_clock_gettime(clock, time, RF_HERE_ADDRESS);
}

/* The header declares that programs give no NULL here, and the compiler believes it. */
static bool is_there(const void *pointer) {
    __asm__("" : "+r"(pointer));
    return pointer;
}

int rf_gettimeofday(struct timeval *time, void *zone, uintptr_t address) {
    struct rf_thread *self = is_there(time) ? rf_value_thread(RF_VALUES_TIME, address) : NULL;
    int code = rf_libc()->gettimeofday(time, zone);
    if (!self || code != 0)
        return code;
    int64_t value = (int64_t)time->tv_sec * 1000000 + time->tv_usec;
    if (rf_turns_record()) {
        record(self, RF_OP_GETTIMEOFDAY, address, value);
    } else if (play(self, RF_OP_GETTIMEOFDAY, address, &value) == PLAYED) {
        remember(CLOCK_REALTIME, value * 1000);
        time->tv_sec = value / 1000000;
        time->tv_usec = value % 1000000;
    }
    return 0;
}

RF_HOOK int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    return rf_gettimeofday(time, zone, RF_HERE_ADDRESS);
}

time_t rf_time(time_t *result, uintptr_t address) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_TIME, address);
    if (!self)
        return rf_libc()->time(result);
    int64_t value = rf_libc()->time(NULL);
    if (rf_turns_record()) {
        record(self, RF_OP_TIME, address, value);
    } else if (play(self, RF_OP_TIME, address, &value) == PLAYED) {
        remember(CLOCK_REALTIME, value * RF_NANO);
    }
    if (result)
        *result = value;
    return value;
}

RF_HOOK time_t time(time_t *result) {
    return rf_time(result, RF_HERE_ADDRESS);
}

RF_HOOK int timespec_get(struct timespec *time, int base) {
    struct rf_thread *self =
        base == TIME_UTC ? rf_value_thread(RF_VALUES_TIME, RF_HERE_ADDRESS) : NULL;
    int code = rf_libc()->timespec_get(time, base);
    if (!self || code != base)
        return code;
    int64_t value = (int64_t)time->tv_sec * RF_NANO + time->tv_nsec;
    if (rf_turns_record()) {
        record(self, RF_OP_TIMESPEC_GET, RF_HERE_ADDRESS, value);
    } else if (play(self, RF_OP_TIMESPEC_GET, RF_HERE_ADDRESS, &value) == PLAYED) {
        remember(CLOCK_REALTIME, value);
        time->tv_sec = value / RF_NANO;
        time->tv_nsec = value % RF_NANO;
    }
    return code;
}

RF_HOOK int ftime(struct timeb *time) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_TIME, RF_HERE_ADDRESS);
    int code = rf_libc()->ftime(time);
    if (!self || code != 0)
        return code;
    int64_t value = (int64_t)time->time * 1000 + time->millitm;
    if (rf_turns_record()) {
        record(self, RF_OP_FTIME, RF_HERE_ADDRESS, value);
    } else if (play(self, RF_OP_FTIME, RF_HERE_ADDRESS, &value) == PLAYED) {
        time->time = value / 1000;
        time->millitm = (unsigned short)(value % 1000);
    }
    return code;
}

RF_HOOK clock_t clock(void) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_TIME, RF_HERE_ADDRESS);
    if (!self)
        return rf_libc()->clock();
    int64_t value = rf_libc()->clock();
    if (rf_turns_record())
        record(self, RF_OP_CLOCK, RF_HERE_ADDRESS, value);
    else
        play(self, RF_OP_CLOCK, RF_HERE_ADDRESS, &value);
    return value;
}

bool rf_keeps_time(void) {
    return rf_values_keep(RF_VALUES_TIME);
}

/* Neighbours among the numbers of this type have neighbouring bits, so their differences are small
   as well, and nothing is rounded. */
double rf_time_value(const char *name, uintptr_t address, double now) {
    struct rf_thread *self = rf_value_thread_inside(RF_VALUES_TIME);
    (void)name;
    if (!self)
        return now;
    int64_t bits;
    memcpy(&bits, &now, sizeof bits);
    if (rf_turns_record())
        record(self, RF_OP_MPI_WTIME, address, bits);
    else
        play(self, RF_OP_MPI_WTIME, address, &bits);
    memcpy(&now, &bits, sizeof now);
    return now;
}
