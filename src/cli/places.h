/* Where the threads of replayed processes stand, as they show it in the run directory. */
#ifndef RF_CLI_PLACES_H
#define RF_CLI_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "symbols.h"
#include "threads/places.h"

/* The threads of a rank, or NULL if it does not show any (yet). */
const struct rf_places *rf_places_map(const char *run, int rank);
void rf_places_unmap(const struct rf_places *places);

/* Changes whenever a thread gets on. */
uint64_t rf_places_movement(const struct rf_places *places);
/* Is there no thread that could get on by itself? */
bool rf_places_still(const struct rf_places *places);

/* Has a thread more to do than it has done, and follows its recording? */
bool rf_places_behind(const struct rf_places *places);
/* How many of the recorded operations its threads have done. */
uint64_t rf_places_played(const struct rf_places *places);
/* Does a thread wait for its turn? */
bool rf_places_wait(const struct rf_places *places);

/* One line for each thread that has not ended. */
void rf_places_print(const struct rf_places *places, struct rf_symbols *symbols, FILE *out);

#endif
