/* The list of --values. */
#ifndef RF_CLI_VALUES_H
#define RF_CLI_VALUES_H

#include "trace/error.h"

enum { RF_VALUES_TEXT = 32 };

/* Brings a list as given (time,pid or all) into the form that manifests and ranks get: every kind
   once, in our order. */
bool rf_values_parse(const char *list, char text[RF_VALUES_TEXT], struct rf_error *error);

#endif
