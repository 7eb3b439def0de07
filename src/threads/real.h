/* The functions behind the hooks. */
#ifndef RF_THREADS_REAL_H
#define RF_THREADS_REAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <threads.h>
#include <time.h>

#include "trace/compiler.h"

/* reals.def declares every one: RF_REAL(result, name, (parameters)). */
struct rf_real {
    bool found;
#define RF_REAL(result, name, parameters) result(*name) parameters;
#include "reals.def"
#undef RF_REAL
};

extern struct rf_real rf_real_functions RF_OURS;

void rf_reals_find(void);

/* Constructors of other libraries may run before ours. */
RF_STEP const struct rf_real *rf_real(void) {
    if (__builtin_expect(!rf_real_functions.found, 0))
        rf_reals_find();
    return &rf_real_functions;
}

#define RF_HOOK __attribute__((visibility("default")))

#endif
