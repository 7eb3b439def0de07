/* What the process has used, in several numbers: those that have changed are kept. */
#include <errno.h>
#include <string.h>

#include "clocks.h"
#include "real.h"
#include "values.h"

enum { NUMBERS_MOST = 16, KINDS = RF_OP_GETRUSAGE_THREAD - RF_OP_TIMES + 1 };

static _Thread_local int64_t last[KINDS][NUMBERS_MOST];

/* First which ones, as bits, or the error below 0; then their differences. */
static void record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                   const int64_t *numbers, int count) {
    int64_t *before = last[what - RF_OP_TIMES];
    int64_t changed = 0;
    for (int i = 0; i < count; i++)
        changed |= (int64_t)(numbers[i] != before[i]) << i;
    rf_value_record(self, what, address, changed);
    for (int i = 0; i < count; i++)
        if (changed >> i & 1) {
            rf_value_record(self, what, address, numbers[i] - before[i]);
            before[i] = numbers[i];
        }
}

static void record_failure(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    int cause = errno;
    rf_value_record(self, what, address, -(int64_t)cause);
    errno = cause;
}

enum outcome { OVER, FAILED, PLAYED };

/* After FAILED errno is set. */
static enum outcome play(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                         int64_t *numbers, int count) {
    int64_t *before = last[what - RF_OP_TIMES];
    int64_t changed;
    if (!rf_value_get(self, what, address, &changed))
        return OVER;
    if (changed < 0) {
        errno = (int)-changed;
        return FAILED;
    }
    for (int i = 0; i < count; i++) {
        int64_t difference = 0;
        if (changed >> i & 1 && !rf_value_get(self, what, address, &difference))
            return OVER;
        before[i] += difference;
        numbers[i] = before[i];
    }
    return PLAYED;
}

clock_t rf_times(struct tms *used, uintptr_t address) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_TIME, address);
    int64_t numbers[5];
    if (rf_plays(self) && play(self, RF_OP_TIMES, address, numbers, 5) == PLAYED) {
        if (used)
            *used = (struct tms){numbers[1], numbers[2], numbers[3], numbers[4]};
        return numbers[0];
    }
    struct tms filled = {0};
    clock_t now = rf_libc()->times(&filled);
    if (rf_records(self)) {
        const int64_t those[] = {now, filled.tms_utime, filled.tms_stime, filled.tms_cutime,
                                 filled.tms_cstime};
        record(self, RF_OP_TIMES, address, those, 5);
    }
    if (used)
        *used = filled;
    return now;
}

RF_HOOK clock_t times(struct tms *used) {
    return rf_times(used, RF_HERE_ADDRESS);
}

/* Its fields behind the times are all long. */
_Static_assert(sizeof(struct rusage) == 2 * sizeof(struct timeval) + 14 * sizeof(long),
               "layout of struct rusage");

static void numbers_of(const struct rusage *usage, int64_t numbers[NUMBERS_MOST]) {
    long others[14];
    memcpy(others, (const char *)usage + offsetof(struct rusage, ru_maxrss), sizeof others);
    numbers[0] = (int64_t)usage->ru_utime.tv_sec * 1000000 + usage->ru_utime.tv_usec;
    numbers[1] = (int64_t)usage->ru_stime.tv_sec * 1000000 + usage->ru_stime.tv_usec;
    for (int i = 0; i < 14; i++)
        numbers[2 + i] = others[i];
}

static void usage_of(const int64_t numbers[NUMBERS_MOST], struct rusage *usage) {
    long others[14];
    for (int i = 0; i < 14; i++)
        others[i] = (long)numbers[2 + i];
    usage->ru_utime = (struct timeval){numbers[0] / 1000000, numbers[0] % 1000000};
    usage->ru_stime = (struct timeval){numbers[1] / 1000000, numbers[1] % 1000000};
    memcpy((char *)usage + offsetof(struct rusage, ru_maxrss), others, sizeof others);
}

int rf_getrusage(int who, struct rusage *usage, uintptr_t address) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_TIME, address);
    if (!self)
        return rf_libc()->getrusage((__rusage_who_t)who, usage);
    enum rf_operation what = who == RUSAGE_CHILDREN ? RF_OP_GETRUSAGE_CHILDREN
                             : who == RUSAGE_THREAD ? RF_OP_GETRUSAGE_THREAD
                                                    : RF_OP_GETRUSAGE_SELF;
    int64_t numbers[NUMBERS_MOST];
    enum outcome outcome =
        rf_turns_record() ? OVER : play(self, what, address, numbers, NUMBERS_MOST);
    if (outcome == FAILED)
        return -1;
    if (outcome == PLAYED) {
        usage_of(numbers, usage);
        return 0;
    }
    int code = rf_libc()->getrusage((__rusage_who_t)who, usage);
    if (!rf_turns_record())
        return code;
    if (code == 0) {
        numbers_of(usage, numbers);
        record(self, what, address, numbers, NUMBERS_MOST);
    } else {
        record_failure(self, what, address);
    }
    return code;
}

RF_HOOK int getrusage(__rusage_who_t who, struct rusage *usage) {
    return rf_getrusage((int)who, usage, RF_HERE_ADDRESS);
}
