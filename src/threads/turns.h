/* The order of what the threads of a process do to each other.

   Every hooked call is an operation of its thread, and counted. An operation on an object (a lock,
   a semaphore, a condition) takes a turn: while recording, the object remembers who had the last
   one, and where that was another thread the log gets an edge, "not before thread j has done its
   k-th operation", unless that is known already. A replay waits for just these edges. Edges are a
   part of what happened, in the order in which it happened, so following them cannot deadlock.

   A hook has this shape:

       struct rf_thread *self = rf_thread_here();
       if (!self)                                  not recorded, not replayed, or not the program's
           return real(object);
       if (rf_turns_record()) {
           int code = real(object);                an operation that may wait: first it, then the
   turn rf_turn_take(self, RF_OP_X, RF_HERE_ADDRESS, object); return code;
       }
       rf_turn_await(self, RF_OP_X, RF_HERE_ADDRESS);
       int code = real(object);
       rf_turn_played(self);
       return code;

   One that only lets others go on (a signal, a post) takes its turn first, in both cases. No
   operation takes two turns: two objects are two operations, one after the other.

   While recording, nothing here takes a lock, calls the system (but to lengthen the log, now and
   then) or allocates. */
#ifndef RF_THREADS_TURNS_H
#define RF_THREADS_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rf_operation {
    RF_OP_NONE,
#define RF_OPERATION(symbol, name) RF_OP_##symbol,
#include "operations.def"
#undef RF_OPERATION
    RF_OPERATIONS
};

struct rf_thread;

#define RF_HERE_ADDRESS ((uintptr_t)__builtin_return_address(0))

/* This thread, if what it calls now is to be recorded or replayed, else NULL: before the first
   thread was created, inside a message-passing library, in a thread that such a library made. */
struct rf_thread *rf_thread_here(void);
bool rf_turns_record(void); /* else replay */

/* ---- record ---- */

/* An operation on an object. */
void rf_turn_take(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  const volatile void *object);
/* An operation that failed, or ran out of time, and so changed nothing: its error code, not 0. */
void rf_failure_record(struct rf_thread *self, enum rf_operation what, uintptr_t address, int code);
/* An operation without an object that gave the program a value. */
void rf_value_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                     int64_t value);
void rf_bytes_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                     const void *bytes, size_t size);

/* An operation that is only counted. */
void rf_step_record(struct rf_thread *self, enum rf_operation what);

/* ---- replay ---- */

/* Waits until it is this operation's turn: returns 0, or the code of a recorded failure, which is
   played herewith, or RF_TURN_CUT: the recorded thread never came out of this call. After 0
   rf_turn_played() must follow. After RF_TURN_CUT the call is to be made as the program makes it:
   either it ends the thread, or the recording was cut off here and the thread is free. */
#define RF_TURN_CUT (-1)
int rf_turn_await(struct rf_thread *self, enum rf_operation what, uintptr_t address);
/* Waits for what the thread's next operation waits for, whichever that is, without playing it. */
void rf_turn_await_any(struct rf_thread *self, enum rf_operation what, uintptr_t address);
/* The operation is done: who waits for it may go on. */
void rf_turn_played(struct rf_thread *self);
/* Wakes those who wait for it. Called when a thread lets go of something; else it is done with its
   next operation. */
void rf_turn_wake(struct rf_thread *self);
/* The same, cheaper, after an atomic instruction, or where it comes again soon. */
void rf_turn_wake_soon(struct rf_thread *self);
/* Is this where the recording of the thread was cut off? For operations that have to let go of
   something before they wait for ever. */
bool rf_turn_cut(struct rf_thread *self);
/* Plays an operation that failed in the recording; false if it did not. */
bool rf_failure_play(struct rf_thread *self, enum rf_operation what, uintptr_t address, int *code);
/* Plays an operation that may have given a value. */
bool rf_step_play(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  int64_t *value);
/* Plays one that gave a value. */
int64_t rf_value_play(struct rf_thread *self, enum rf_operation what, uintptr_t address);
/* The same, into `bytes`; another size than recorded is a difference. */
void rf_bytes_play(struct rf_thread *self, enum rf_operation what, uintptr_t address, void *bytes,
                   size_t size);
/* Shows the command line that the thread is in a call that may block for other reasons, and that it
   has come out of it. */
void rf_turn_blocks(struct rf_thread *self, enum rf_operation what, uintptr_t address);
void rf_turn_goes_on(struct rf_thread *self);
const char *rf_operation_name(uint32_t operation);
/* Says where the replay differs, and ends it. */
_Noreturn void rf_turn_differs(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
