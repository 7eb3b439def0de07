/* Every rank in a terminal of its own: panes of tmux, or windows of xterm. */
#ifndef RF_CLI_PANES_H
#define RF_CLI_PANES_H

#include <stdbool.h>

#include "trace/error.h"

/* Is there anything to show them in? `named`: what a hint must have after it to mean the trace. */
bool rf_panes_possible(const char *named, struct rf_error *error);
/* Runs `refrain debug --rank R WORDS...` in a pane for every rank, and waits until all have ended.
   Returns 0, or the exit code of the first rank that has another one. */
int rf_panes_show(int ranks, const char *const *words, bool quiet);

/* For ourselves: `refrain --pane DIRECTORY RANK` is what runs in a pane. It leaves word of its end,
   and keeps the pane open where something went wrong. */
int rf_pane(char **words);

/* In DIRECTORY: the words and the environment of every pane, each ended by a zero byte, and a pipe
   in which every pane says when it begins and ends. */
#define RF_PANE_WORDS "words"
#define RF_PANE_ENVIRONMENT "environment"
#define RF_PANE_PIPE "pipe"
enum { RF_PANE_BEGINS = -1 };
struct rf_pane_note {
    int rank, code; /* RF_PANE_BEGINS, or how it ended */
};

#endif
