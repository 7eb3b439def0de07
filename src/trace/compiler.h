/* What the compiler has to be told for the path of a call. */
#ifndef RF_TRACE_COMPILER_H
#define RF_TRACE_COMPILER_H

/* A variable of this library: reached directly, not by way of a table of addresses. */
#define RF_OURS __attribute__((visibility("hidden")))
/* A step on the path of a call. Inlined, the compiler sees through `struct rf_here` and builds it
   only where somebody needs it. */
#define RF_STEP static inline __attribute__((always_inline))

#endif
