/* Starting the user's command with an adapter in its ranks. */
#ifndef RF_CLI_LAUNCH_H
#define RF_CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "detect.h"
#include "trace/error.h"

struct rf_launch {
    char *const *command;
    enum rf_launcher launcher;
    const char *adapter; /* the library to preload */
    const char *mode;    /* REFRAIN_MODE, and so on: see engine/progress.h */
    const char *trace;
    const char *run; /* NULL: not set */
    const char *scheme;
    const char *check;     /* kind of checksums, or NULL */
    const char *threads;   /* the library for threads, to be preloaded as well; NULL: none */
    const char *order;     /* how their order is kept, if that was asked for; else NULL */
    const char *values;    /* which values are kept; NULL: none */
    bool same_addresses;   /* as in all other runs of the recording */
    bool fill;             /* fresh memory of the ranks is filled */
    const char *keep;      /* the ranks that keep contents; NULL: none */
    bool cut;              /* the recorded program did not come to its end */
    const char *rank;      /* which rank a process is that runs alone; NULL: not set */
    const char *directory; /* where to run; NULL: here */
    /* One process instead of a launcher: what it executes, whatever its first word is, and its
       whole environment. NULL: found by the first word, and ours. */
    const char *executable;
    char **environment;
    const int *streams; /* three descriptors, -1 for one of ours; NULL: all are ours */
    bool verbose;       /* say what is run */
    /* Looking for data races: the tool, the words before the program, if it needs some, and options
       for ThreadSanitizer. NULL: none. */
    const char *races;
    char *const *wrapper;
    const char *tsan_options;
};

/* Starts the command. Returns its process id, or -1. */
pid_t rf_launch(const struct rf_launch *launch, struct rf_error *error);

/* Becomes the command, in place of this process; returns only when that failed (see errno). */
void rf_launch_become(const struct rf_launch *launch, char **words);

/* The words really executed: the launcher's own options carry the variables to the ranks, so that
   nothing is loaded into the launcher. Exposed for `doctor`. Free words and array. */
char **rf_launch_words(const struct rf_launch *launch);
void rf_free_words(char **words);

/* Without randomised addresses in what we start from here on, and in what that starts on this host.
 */
void rf_fix_addresses(void);

/* From now on the terminal's interrupt is left to the command, and a request to terminate is passed
   on to it. */
void rf_signals_guard(pid_t child);
/* The last signal that was meant for the command, or 0. */
int rf_signal_seen(void);

/* Waits for the command; returns the status as wait() has it. */
int rf_launch_wait(pid_t child);

#endif
