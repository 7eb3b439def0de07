/* Every clock, and a program whose way depends on them. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

static long long now(clockid_t clock) {
    struct timespec time;
    MUST(clock_gettime(clock, &time) == 0);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void by_number(void) {
    struct timeval value;
    struct tms used;
    struct rusage usage;
    MUST(syscall(SYS_gettimeofday, &value, NULL) == 0);
    SAY("syscall: %ld.%06ld", (long)value.tv_sec, (long)value.tv_usec);
    SAY("syscall: %ld", syscall(SYS_time, NULL));
    SAY("syscall: %ld", syscall(SYS_times, &used));
    MUST(syscall(SYS_getrusage, RUSAGE_SELF, &usage) == 0);
    SAY("syscall: %ld.%06ld, %ld faults", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec,
        usage.ru_minflt);
}

static void all(void) {
    static const clockid_t clocks[] = {
        CLOCK_REALTIME,          CLOCK_MONOTONIC,     CLOCK_PROCESS_CPUTIME_ID,
        CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
        CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME,      CLOCK_TAI};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
        SAY("clock %d: %lld", (int)clocks[i], now(clocks[i]));
    struct timeval value;
    MUST(gettimeofday(&value, NULL) == 0);
    SAY("gettimeofday: %ld.%06ld", (long)value.tv_sec, (long)value.tv_usec);
    struct timespec spec;
    MUST(timespec_get(&spec, TIME_UTC) == TIME_UTC);
    SAY("timespec_get: %ld.%09ld", (long)spec.tv_sec, spec.tv_nsec);
    time_t seconds;
    MUST(time(&seconds) == seconds);
    SAY("time: %ld %s", (long)time(NULL), asctime(localtime(&seconds)));
    struct timeb millis;
    MUST(ftime(&millis) == 0);
    SAY("ftime: %ld.%03d", (long)millis.time, millis.millitm);
    SAY("clock: %ld", (long)clock());
    struct tms used;
    long ticks = (long)times(&used);
    SAY("times: %ld, %ld %ld", ticks, (long)used.tms_utime, (long)used.tms_stime);
    SAY("syscall: %d", (int)syscall(SYS_clock_gettime, CLOCK_REALTIME, &spec));
    SAY("syscall: %ld.%09ld", (long)spec.tv_sec, spec.tv_nsec);
    by_number();
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD};
    for (int i = 0; i < 3; i++) {
        struct rusage usage;
        MUST(getrusage(whose[i], &usage) == 0);
        SAY("getrusage %d: %ld.%06ld %ld.%06ld, %ld KiB, %ld faults, %ld switches", whose[i],
            (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec, (long)usage.ru_stime.tv_sec,
            (long)usage.ru_stime.tv_usec, usage.ru_maxrss, usage.ru_minflt, usage.ru_nivcsw);
    }
}

static void failures(void) {
    struct timespec time;
    struct rusage usage;
    int code = clock_gettime(77, &time);
    SAY("no such clock: %d, %d", code, errno == EINVAL);
    code = getrusage((__rusage_who_t)77, &usage);
    SAY("usage of nobody: %d, %d", code, errno == EINVAL);
}

int main(void) {
    all();
    failures();
    /* How often it goes round is up to the machine. */
    long rounds = 0;
    for (long long begin = now(CLOCK_MONOTONIC); now(CLOCK_MONOTONIC) - begin < 2000000;)
        rounds++;
    SAY("%ld rounds in 2 ms", rounds);
    struct timespec until;
    MUST(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_sec += until.tv_nsec >= 990000000;
    until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
    MUST(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
    all();
    srand((unsigned)time(NULL) ^ (unsigned)now(CLOCK_REALTIME));
    SAY("rand: %d %d %d", rand(), rand(), rand());
    return 0;
}
