/* What an object file or an archive of them says about calls of MCAPI. */
#ifndef RF_CLI_OBJECTS_H
#define RF_CLI_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "mcapi_names.h"
#include "trace/error.h"

struct rf_object_facts {
    bool archive;
    size_t members; /* 1 for an object */
    size_t calls;   /* places that refer to a function */
    size_t renamed; /* places that refer to a renamed one */
    size_t functions;
    bool called[RF_MCAPI_NAMES];
    const char *defined;  /* a function that the file itself has, or NULL */
    bool defines_renamed; /* it was the library, and was compiled with renamed calls */
};

/* Reads the file; false when it is not one whose symbols can be renamed. */
bool rf_object_facts(const char *path, struct rf_object_facts *facts, struct rf_error *error);

#endif
