/* What the outside returns to the program, kept and returned again (--values). A value is an
   operation of the thread that asks for it. A hook has this shape:

       struct rf_thread *self = rf_value_thread(RF_VALUES_X, RF_HERE_ADDRESS);
       if (rf_plays(self) && rf_value_get(self, RF_OP_X, RF_HERE_ADDRESS, &value))
           return value;
       value = the real function, for who is not recorded, or whose recording is over;
       if (rf_records(self))
           rf_value_record(self, RF_OP_X, RF_HERE_ADDRESS, value);
       return value;
*/
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
/* The same from an adapter, which is inside its library. */
struct rf_thread *rf_value_thread_inside(unsigned kind);

RF_STEP bool rf_plays(const struct rf_thread *self) {
    return self && !rf_turns_record();
}
RF_STEP bool rf_records(const struct rf_thread *self) {
    return self && rf_turns_record();
}

/* Is this kind asked for in this process? */
bool rf_values_keep(unsigned kind);

/* Between these two, calls of this thread are not the program's own. They nest. */
void rf_values_hold(void);
void rf_values_release(void);

/* Replay: the recorded value; false if the recording is over here, and the program goes on freely.
 */
bool rf_value_get(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  int64_t *value);
bool rf_bytes_get(struct rf_thread *self, enum rf_operation what, uintptr_t address, void *bytes,
                  size_t size);

/* Bytes of which the program asked for `asked` and got `got`, or -1 and errno. */
void rf_random_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                      const void *bytes, size_t asked, ssize_t got);
bool rf_random_get(struct rf_thread *self, enum rf_operation what, uintptr_t address, void *bytes,
                   size_t asked, ssize_t *got);

/* For adapters (threads/link.h): a time that a message-passing library has told. */
bool rf_keeps_time(void);
double rf_time_value(const char *name, uintptr_t address, double now);

#endif
