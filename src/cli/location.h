/* Which directory a trace is, or will be. */
#ifndef RF_CLI_LOCATION_H
#define RF_CLI_LOCATION_H

#include <stdbool.h>

#include "trace/error.h"

/* The folder of traces: REFRAIN_DIR or ./refrain.data. */
const char *rf_traces_folder(void);

/* A trace about to be recorded. */
struct rf_new_trace {
    char *path;     /* absolute */
    char *shown;    /* as the user would type it */
    bool numbered;  /* in the folder of traces, so that "latest" leads to it */
    bool created;   /* the directory itself is ours to remove */
    char *previous; /* where "latest" led before, or NULL */
};

/* Creates the directory: `output`, or FOLDER/PROGRAM-K with the first K that is free. */
bool rf_new_trace(struct rf_new_trace *trace, const char *output, const char *program,
                  struct rf_error *error);
/* Points "latest" at it. */
void rf_new_trace_latest(struct rf_new_trace *trace);
/* Nothing was recorded: removes what was created, and "latest" leads where it did before. */
void rf_new_trace_discard(struct rf_new_trace *trace);
void rf_new_trace_free(struct rf_new_trace *trace);

/* The absolute path of the trace that the user named (NULL: the latest). A folder of traces stands
   for its latest one. */
char *rf_find_trace(const char *named, struct rf_error *error);
/* The path as it is best shown: relative when it lies below the current directory. */
const char *rf_shown_path(const char *path);

#endif
