/* What the outside returns to the program, kept and returned again (--values). A value is an
   operation of the thread that asks for it. */
#ifndef RF_LIBC_VALUES_H
#define RF_LIBC_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "threads/turns.h"
#include "trace/compiler.h"

enum rf_values {
    RF_VALUES_TIME = 1,
    RF_VALUES_RANDOM = 2,
    RF_VALUES_PID = 4,
    RF_VALUES_UNKNOWN = 8, /* nobody has looked yet */
};

extern RF_OURS unsigned rf_values_kept;
struct rf_thread *rf_value_ask(unsigned kind, uintptr_t address);

/* The thread, if a value of this kind is to be recorded or returned again, else NULL: it was not
   asked for, or it is not the program that calls, but a message-passing library or Refrain. */
RF_STEP struct rf_thread *rf_value_thread(unsigned kind, uintptr_t address) {
    if (__builtin_expect(!(rf_values_kept & (kind | RF_VALUES_UNKNOWN)), 1))
        return NULL;
    return rf_value_ask(kind, address);
}

/* Is this kind asked for in this process? */
bool rf_values_keep(unsigned kind);

/* Between these two, calls of this thread are not the program's own. They nest. */
void rf_values_hold(void);
void rf_values_release(void);

/* Bytes of which the program asked for `asked` and got `got`, or -1 and errno. */
void rf_random_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                      const void *bytes, size_t asked, ssize_t got);
ssize_t rf_random_play(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       void *bytes, size_t asked);

/* For adapters (threads/link.h): a time that a message-passing library has told. */
bool rf_keeps_time(void);
double rf_time_value(const char *name, uintptr_t address, double now);

#endif
