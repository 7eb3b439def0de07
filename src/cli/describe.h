/* What an event says, in words. */
#ifndef RF_CLI_DESCRIBE_H
#define RF_CLI_DESCRIBE_H

#include <stdio.h>

#include "trace/event.h"

/* Room for one number in words. */
enum { RF_VALUE_TEXT = 24 };

const char *rf_value_text(enum rf_column column, int32_t value, char buffer[RF_VALUE_TEXT]);
/* "source 3, tag 7", "index 2, count 4", …: the columns of its kind, then what else it has. */
void rf_describe(const struct rf_event *event, FILE *out);

#endif
