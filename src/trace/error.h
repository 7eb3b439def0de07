/* An error that carries its cause. Functions that can fail return false (or NULL) and fill one in;
   only the top of the program prints. */
#ifndef RF_TRACE_ERROR_H
#define RF_TRACE_ERROR_H

#include <stdbool.h>

/* Exit codes of the command line, the same for every verb. The numbers never move. */
enum rf_exit {
    RF_EXIT_OK = 0,
    RF_EXIT_USAGE = 120,       /* the command line is wrong */
    RF_EXIT_DIVERGED = 121,    /* the replay differs from the recording, or cannot be trusted */
    RF_EXIT_TRACE = 122,       /* the trace is missing, damaged or of another version */
    RF_EXIT_ENVIRONMENT = 123, /* the environment cannot do it */
    RF_EXIT_BUG = 125,         /* a fault of ours */
};

struct rf_error {
    enum rf_exit code;
    char text[1024]; /* "what: why", one line, without "refrain: " */
    char hint[512];  /* a command that helps, or empty */
};

/* Sets the error and returns false, so that callers can `return rf_fail(...)`. */
bool rf_fail(struct rf_error *error, enum rf_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a hint to an error that was just set; returns false. */
bool rf_hint(struct rf_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
