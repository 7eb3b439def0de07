/* The functions of the MPI library underneath. */
#ifndef RF_MPI_REAL_H
#define RF_MPI_REAL_H

#include "mpi/abi.h"

struct rf_real {
#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name(__typeof__(MPI_##name) *name;)
#include "mpi/functions.def"
#undef RF_FUNCTION
};

/* Numbers of the functions, in the order of the table. */
enum rf_function {
#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name(RF_FN_##name, )
#include "mpi/functions.def"
#undef RF_FUNCTION
    RF_FUNCTIONS
};

/* What the wrappers call: the library itself, or a layer above it (kept.h). */
extern struct rf_real rf_reals RF_OURS;
extern struct rf_real rf_library RF_OURS;
extern int rf_reals_ready RF_OURS;

void rf_reals_find(void);
/* A function of the library that is none of MPI: its address goes to `function`. */
void rf_real_symbol(const char *name, void *function, size_t size);

/* The program may load MPI late (Python does), so the functions are looked up at the first call. */
static inline const struct rf_real *rf_real(void) {
    if (__builtin_expect(!rf_reals_ready, 0))
        rf_reals_find();
    return &rf_library;
}

#endif
