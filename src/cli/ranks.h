/* Lists of ranks as people write them: "7", "0,3,8-11". */
#ifndef RF_CLI_RANKS_H
#define RF_CLI_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/error.h"

/* Marks the ranks of `list` in `chosen`, which has room for `size`. `verb` and
   `named`, what follows it to mean the trace, are for the hint. */
bool rf_ranks_parse(const char *list, int size, const char *verb, const char *named, bool *chosen,
                    struct rf_error *error);
/* The one rank that `list` names. */
bool rf_rank_parse(const char *list, int size, const char *verb, const char *named, int *rank,
                   struct rf_error *error);
/* The text of an ascending list; free() it. */
char *rf_ranks_text(const int *ranks, size_t count);

#endif
