#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "threads/state.h"

unsigned rf_values_kept = RF_VALUES_UNKNOWN;

static _Thread_local unsigned held;

static const struct {
    const char *name;
    unsigned kind;
} kinds[] = {{"time", RF_VALUES_TIME}, {"random", RF_VALUES_RANDOM}, {"pid", RF_VALUES_PID}};

/* The command line has checked the list. */
static unsigned find_kinds(void) {
    const char *list = getenv("REFRAIN_VALUES");
    unsigned found = 0;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (strlen(kinds[i].name) == length && strncmp(list, kinds[i].name, length) == 0)
                found |= kinds[i].kind;
        list += length + (list[length] == ',');
    }
    return found;
}

bool rf_values_keep(unsigned kind) {
    if (rf_values_kept & RF_VALUES_UNKNOWN)
        rf_values_kept = find_kinds();
    return rf_values_kept & kind;
}

/* Programs that only lead to the one that is meant ask for values as well. */
static bool leads_on(void) {
    static const char *const names[] = {"bash",    "busybox", "csh",   "dash",    "env", "fish",
                                        "ksh",     "nice",    "nohup", "numactl", "sh",  "setsid",
                                        "stdbuf",  "taskset", "tcsh",  "time",    "zsh", "ksh93",
                                        "setarch", "timeout", "xargs"};
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(slash + 1, names[i]) == 0)
            return true;
    return false;
}

/* With the first value, in the first thread, the session begins, if no thread was created before.
 */
static void begin(void) {
    static bool tried;
    int before = errno;
    rf_threads_look();
    if (!tried && rf_threads.wanted && getpid() == gettid()) {
        tried = true;
        held++;
        if (!leads_on())
            rf_threads_begin();
        held--;
    }
    errno = before;
}

/* This thread, inside a library or not. */
static struct rf_thread *here(void) {
    if (__builtin_expect(!rf_threads.on, 0))
        begin();
    return rf_threads.on && rf_self && !rf_self->free ? rf_self : NULL;
}

/* In a child made by fork nothing is. There nobody may even look where a call comes from: the
   dynamic linker's lock may have been held by another thread in that moment, and is never released.
 */
static bool is_anything_kept(void) {
    if (__builtin_expect(!rf_threads.on, 0))
        rf_threads_look();
    return rf_threads.on || rf_threads.wanted;
}

struct rf_thread *rf_value_ask(unsigned kind, uintptr_t address) {
    if (!rf_values_keep(kind) || held || (rf_self ? rf_self->inside : rf_inside_early) ||
        !is_anything_kept() || rf_is_internal(address))
        return NULL;
    return here();
}

/* The adapter has said that it is inside; the value is the program's. */
struct rf_thread *rf_value_thread_inside(unsigned kind) {
    return rf_values_keep(kind) && !held ? here() : NULL;
}

void rf_values_hold(void) {
    held++;
}

void rf_values_release(void) {
    held--;
}

/* A thread may have been ended while it read, but not by asking for a value. */
static void expect_more(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    bool reads = what >= RF_OP_RANDOM_READ && what <= RF_OP_RANDOM_FGETC;
    if (!reads && self->ended && rf_turn_cut(self))
        rf_turn_differs(self, what, address, "the recorded thread has ended before this");
}

bool rf_value_get(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  int64_t *value) {
    int before = errno;
    expect_more(self, what, address);
    *value = rf_value_play(self, what, address);
    errno = before;
    return !self->free;
}

bool rf_bytes_get(struct rf_thread *self, enum rf_operation what, uintptr_t address, void *bytes,
                  size_t size) {
    int before = errno;
    expect_more(self, what, address);
    rf_bytes_play(self, what, address, bytes, size);
    errno = before;
    return !self->free;
}

/* First how many are missing, or the error below 0; it is mostly 0, and then only counted. Then the
   bytes. */
void rf_random_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                      const void *bytes, size_t asked, ssize_t got) {
    if (got == (ssize_t)asked)
        rf_step_record(self, what);
    else
        rf_value_record(self, what, address, got < 0 ? -(int64_t)errno : (int64_t)asked - got);
    if (got > 0)
        rf_bytes_record(self, what, address, bytes, (size_t)got);
}

bool rf_random_get(struct rf_thread *self, enum rf_operation what, uintptr_t address, void *bytes,
                   size_t asked, ssize_t *got) {
    int64_t missing = 0;
    int before = errno;
    expect_more(self, what, address);
    rf_step_play(self, what, address, &missing);
    errno = before;
    if (self->free)
        return false;
    if (missing < 0) {
        errno = (int)-missing;
        *got = -1;
        return true;
    }
    if ((uint64_t)missing > asked)
        rf_turn_differs(self, what, address, "asks for %zu bytes, recorded were more", asked);
    *got = (ssize_t)(asked - (size_t)missing);
    return *got == 0 || rf_bytes_get(self, what, address, bytes, (size_t)*got);
}
