/* Between this library and one for message passing in the same process. */
#ifndef RF_THREADS_ADAPTER_H
#define RF_THREADS_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/progress.h"

/* Exported by adapters for message passing: how their replay says that it differs, in the process
   whose threads are those of this rank. `expected` may be NULL. */
#define RF_ADAPTER_DIFFERS "refrain_adapter_differs"
typedef void rf_adapter_differs(const char *function, uintptr_t address,
                                const struct rf_call *expected, int rank, const char *text);

/* The same: this thread is ending the process, by a signal that it sends itself and nobody catches
   or, with 0, inside a call. A replay lets the others come to where they were then. */
#define RF_ADAPTER_ENDS "refrain_adapter_ends"
typedef void rf_adapter_ends(int signal);

/* Exported by those whose processes get their numbers late: that of this process, or -1 as long as
   it has none. */
#define RF_ADAPTER_RANK "refrain_adapter_rank"
typedef int rf_adapter_rank(void);

/* The one in this process, or NULL. */
rf_adapter_differs *rf_find_adapter(void);

/* The process sends itself this signal. */
void rf_threads_raise(int signal);

/* Reports a difference and stops the job. */
_Noreturn void rf_threads_differ(const char *function, uintptr_t address,
                                 const struct rf_call *expected, const char *text);

#endif
