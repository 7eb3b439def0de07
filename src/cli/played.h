/* How far a rank alone is that records again: its new recording can be read at any moment, and
   after any end. */
#ifndef RF_CLI_PLAYED_H
#define RF_CLI_PLAYED_H

#include "trace/reader.h"

struct rf_played {
    uint64_t events;
    struct rf_event last, message; /* the latest one, and the latest that brought a message */
};

/* Reads what rank `rank` of a run has recorded again; false if it has recorded nothing readable. */
bool rf_played_look(const char *run, int rank, struct rf_played *played);

#endif
