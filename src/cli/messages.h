/* What the program says on standard error, one line each: "refrain: what: why", "hint: command". */
#ifndef RF_CLI_MESSAGES_H
#define RF_CLI_MESSAGES_H

#include <jansson.h>
#include <stdbool.h>

#include "trace/error.h"

/* Prints an error and its hint; returns its exit code. */
int rf_report_error(const struct rf_error *error);
void rf_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rf_say_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Closing facts for scripts: one line of JSON. Takes the object over. */
void rf_say_json(json_t *object);

/* Escape sequences for a stream, empty where colour is unwanted. */
struct rf_colours {
    const char *strong, *bad, *good, *dim, *off;
};
struct rf_colours rf_colours_of(int descriptor);
/* Does the user want none anywhere? */
bool rf_no_colour(void);

#endif
