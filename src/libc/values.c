#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/callsite.h"

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

/* A message-passing library also works outside the calls that the program makes to it: when it is
   loaded, and at exit. Whose call it is depends on the place, so that is remembered by place. */
static bool is_internal(uintptr_t address) {
    static uintptr_t seen[4096];
    uintptr_t *slot = &seen[address * 0x9e3779b97f4a7c15u >> 52];
    uintptr_t known = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (__builtin_expect(known >> 1 != address, 0)) {
        known = address << 1 | rf_address_of(address)->internal;
        __atomic_store_n(slot, known, __ATOMIC_RELAXED);
    }
    return known & 1;
}

struct rf_thread *rf_value_ask(unsigned kind, uintptr_t address) {
    if (!rf_values_keep(kind) || held)
        return NULL;
    held++;
    struct rf_thread *self = is_internal(address) ? NULL : rf_thread_here();
    held--;
    return self;
}

void rf_values_hold(void) {
    held++;
}

void rf_values_release(void) {
    held--;
}

/* First how many are missing, which is mostly 0, or the error below 0; then the bytes. */
void rf_random_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                      const void *bytes, size_t asked, ssize_t got) {
    rf_value_record(self, what, address, got < 0 ? -(int64_t)errno : (int64_t)asked - got);
    if (got > 0)
        rf_bytes_record(self, what, address, bytes, (size_t)got);
}

ssize_t rf_random_play(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       void *bytes, size_t asked) {
    int64_t missing = rf_value_play(self, what, address);
    if (missing < 0) {
        errno = (int)-missing;
        return -1;
    }
    if ((uint64_t)missing > asked)
        rf_turn_differs(self, what, address, "%zu bytes are asked for, and in the recording more",
                        asked);
    size_t got = asked - (size_t)missing;
    if (got)
        rf_bytes_play(self, what, address, bytes, got);
    return (ssize_t)got;
}
