#include "process.h"

#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "threads/adapter.h"
#include "values.h"

/* Recorded and real number, in one word, at a place given by the recorded one. Numbers that the
   system gives out in one run are close to each other, so few want the same place. */
enum { PLACES = 4096 };
static uint64_t known[PLACES];
static bool any;
static uint64_t own; /* the pair of this process */

static void remember(pid_t recorded, pid_t real) {
    if (recorded == real)
        return;
    uint64_t pair = (uint64_t)(uint32_t)recorded << 32 | (uint32_t)real;
    __atomic_store_n(&known[(uint32_t)recorded % PLACES], pair, __ATOMIC_RELAXED);
    __atomic_store_n(&any, true, __ATOMIC_RELAXED);
}

/* A child is not replayed, but it may compare the number of its parent with what the parent got. */
static pid_t parent(pid_t real) {
    return (uint32_t)own == (uint32_t)real ? (pid_t)(own >> 32) : real;
}

pid_t rf_real_id(pid_t id) {
    if (__builtin_expect(!any, 1) || id == 0 || id == -1)
        return id;
    uint32_t number = (uint32_t)(id < 0 ? -id : id); /* below 0: the group of that number */
    uint64_t pair = __atomic_load_n(&known[number % PLACES], __ATOMIC_RELAXED);
    if (pair >> 32 != number)
        return id;
    return id < 0 ? -(pid_t)(uint32_t)pair : (pid_t)(uint32_t)pair;
}

const char *rf_real_path(const char *path, struct rf_path *room) {
    static const char begin[] = "/proc/";
    if (__builtin_expect(!any, 1) || !path || strncmp(path, begin, sizeof begin - 1) != 0)
        return path;
    char *end;
    long number = strtol(path + sizeof begin - 1, &end, 10);
    if (number <= 0 || (*end && *end != '/') || rf_real_id((pid_t)number) == number)
        return path;
    int length =
        snprintf(room->text, sizeof room->text, "%s%d%s", begin, rf_real_id((pid_t)number), end);
    return length < (int)sizeof room->text ? room->text : path;
}

static pid_t number(enum rf_operation what, pid_t real, uintptr_t address) {
    static _Thread_local int64_t last[3];
    struct rf_thread *self = rf_value_thread(RF_VALUES_PID, address);
    if (!self)
        return what == RF_OP_GETPPID ? parent(real) : real;
    int64_t *before = &last[what - RF_OP_GETPID];
    if (rf_turns_record()) {
        rf_value_record(self, what, address, real - *before);
        *before = real;
        return real;
    }
    int64_t difference;
    if (!rf_value_get(self, what, address, &difference))
        return real;
    *before += difference;
    remember((pid_t)*before, real);
    if (what == RF_OP_GETPID)
        own = (uint64_t)(uint32_t)*before << 32 | (uint32_t)real;
    return (pid_t)*before;
}

pid_t rf_getpid(uintptr_t address) {
    return number(RF_OP_GETPID, rf_libc()->getpid(), address);
}

pid_t rf_getppid(uintptr_t address) {
    return number(RF_OP_GETPPID, rf_libc()->getppid(), address);
}

pid_t rf_gettid(uintptr_t address) {
    return number(RF_OP_GETTID, rf_libc()->gettid(), address);
}

RF_HOOK pid_t getpid(void) {
    return rf_getpid(RF_HERE_ADDRESS);
}

RF_HOOK pid_t getppid(void) {
    return rf_getppid(RF_HERE_ADDRESS);
}

RF_HOOK pid_t gettid(void) {
    return rf_gettid(RF_HERE_ADDRESS);
}

pid_t rf_killed(pid_t id, int signal) {
    pid_t self = rf_libc()->getpid();
    if (id == self || id == 0 || -id == getpgrp())
        rf_threads_raise(signal);
    return id;
}

RF_HOOK int raise(int signal) {
    rf_threads_raise(signal);
    return rf_libc()->raise(signal);
}

RF_HOOK int pthread_kill(pthread_t thread, int signal) {
    rf_threads_raise(signal);
    return rf_libc()->pthread_kill(thread, signal);
}

/* What takes such a number: RF_TAKES(result, name, parameters, arguments). */
#define RF_TAKES(result, name, parameters, arguments)                                              \
    RF_HOOK result name parameters {                                                               \
        return rf_libc()->name arguments;                                                          \
    }
RF_TAKES(int, kill, (pid_t id, int signal), (rf_killed(rf_real_id(id), signal), signal))
RF_TAKES(int, sigqueue, (pid_t id, int signal, const union sigval value),
         (rf_killed(rf_real_id(id), signal), signal, value))
RF_TAKES(int, tgkill, (pid_t process, pid_t thread, int signal),
         (rf_killed(rf_real_id(process), signal), rf_real_id(thread), signal))
RF_TAKES(pid_t, getpgid, (pid_t id), (rf_real_id(id)))
RF_TAKES(int, setpgid, (pid_t id, pid_t group), (rf_real_id(id), rf_real_id(group)))
RF_TAKES(pid_t, getsid, (pid_t id), (rf_real_id(id)))
RF_TAKES(int, getpriority, (__priority_which_t which, id_t who),
         (which, which == PRIO_USER ? who : (id_t)rf_real_id((pid_t)who)))
RF_TAKES(int, setpriority, (__priority_which_t which, id_t who, int priority),
         (which, which == PRIO_USER ? who : (id_t)rf_real_id((pid_t)who), priority))
RF_TAKES(int, sched_getaffinity, (pid_t id, size_t size, cpu_set_t *set),
         (rf_real_id(id), size, set))
RF_TAKES(int, sched_setaffinity, (pid_t id, size_t size, const cpu_set_t *set),
         (rf_real_id(id), size, set))
RF_TAKES(int, sched_getscheduler, (pid_t id), (rf_real_id(id)))
RF_TAKES(int, sched_setscheduler, (pid_t id, int policy, const struct sched_param *parameter),
         (rf_real_id(id), policy, parameter))
RF_TAKES(int, sched_getparam, (pid_t id, struct sched_param *parameter),
         (rf_real_id(id), parameter))
RF_TAKES(int, sched_setparam, (pid_t id, const struct sched_param *parameter),
         (rf_real_id(id), parameter))
RF_TAKES(int, prlimit,
         (pid_t id, __rlimit_resource_t resource, const struct rlimit *wanted,
          struct rlimit *before),
         (rf_real_id(id), resource, wanted, before))
RF_TAKES(int, prlimit64,
         (pid_t id, __rlimit_resource_t resource, const struct rlimit64 *wanted,
          struct rlimit64 *before),
         (rf_real_id(id), resource, wanted, before))
