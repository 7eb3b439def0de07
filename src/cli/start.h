/* rank-R.start: how the process of an extracted rank was started. */
#ifndef RF_CLI_START_H
#define RF_CLI_START_H

#include "launch.h"

struct rf_start {
    char *executable; /* absolute */
    char *directory;
    char **arguments;
    char **environment; /* without what ties the process to its launcher or to us */
    char rank[16];      /* as a word */
    char streams[4];    /* the kinds of its standard streams, or empty */
    bool recorded;      /* its contents were kept while it was recorded: events are not counted */
};

bool rf_start_load(struct rf_start *start, const char *trace, int rank, struct rf_error *error);
/* What starts the rank again, alone. */
struct rf_launch rf_start_launch(const struct rf_start *start);
void rf_start_free(struct rf_start *start);

#endif
