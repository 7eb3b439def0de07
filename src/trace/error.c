#include "error.h"

#include <stdarg.h>
#include <stdio.h>

bool rf_fail(struct rf_error *error, enum rf_exit code, const char *format, ...) {
    if (!error)
        return false;
    error->code = code;
    error->hint[0] = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool rf_hint(struct rf_error *error, const char *format, ...) {
    if (!error)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->hint, sizeof error->hint, format, arguments);
    va_end(arguments);
    return false;
}
