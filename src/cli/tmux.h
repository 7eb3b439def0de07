/* The little that we want from tmux. */
#ifndef RF_CLI_TMUX_H
#define RF_CLI_TMUX_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/error.h"

/* The ranks' panes, tiled, in as many windows as they need to be readable. */
struct rf_tmux {
    bool inside;    /* we run in a pane ourselves: the windows are in our session */
    char *session;  /* else a session of its own, by its name */
    char **windows; /* their ids; ends with NULL */
};

/* Opens a pane for each rank that runs `program --pane DIRECTORY RANK`. After a failure nothing is
   left. */
bool rf_tmux_open(struct rf_tmux *tmux, int ranks, const char *program, const char *directory,
                  struct rf_error *error);
/* Brings the first window to the front, or attaches this terminal to the session: then the process
   that does is returned, else 0. */
pid_t rf_tmux_enter(const struct rf_tmux *tmux);
/* Is the session of its own still there? */
bool rf_tmux_lives(const struct rf_tmux *tmux);
/* Ends what still runs in the panes. */
void rf_tmux_close(const struct rf_tmux *tmux);
void rf_tmux_free(struct rf_tmux *tmux);

#endif
