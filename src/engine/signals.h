/* By which signal a recorded process ended. */
#ifndef RF_ENGINE_SIGNALS_H
#define RF_ENGINE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Not one of those with which launchers and users end a program. */
static inline bool rf_is_crash(int number) {
    return number > 0 && number != SIGTERM && number != SIGINT;
}

/* Before the message library starts: what it puts in place of nothing is its own affair, what the
   program had put there stays untouched. */
void rf_signals_look(void);
/* While recording: a signal that ends the process is told, then does what it would have done. The
   function may do what a handler may. */
typedef void rf_signal_function(int number);
void rf_signals_watch(rf_signal_function *function);

#endif
