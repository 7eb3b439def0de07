/* The functions of MCAPI that Refrain stands before, and what a program calls instead of them when
   the adapter is linked into it. */
#ifndef RF_CLI_MCAPI_NAMES_H
#define RF_CLI_MCAPI_NAMES_H

#include <stddef.h>

#define RF_RENAMED_PREFIX "refrain_"

enum rf_mcapi_name {
#define RF_FUNCTION(result, name, parameters, arguments) RF_MCAPI_##name,
#include "mcapi/functions.def"
#undef RF_FUNCTION
    RF_MCAPI_NAMES
};

/* "mcapi_wait" becomes "refrain_mcapi_wait". */
extern const char *const rf_mcapi_names[RF_MCAPI_NAMES];

/* The place of a name in the list; RF_MCAPI_NAMES when it is none of them. */
size_t rf_mcapi_find(const char *name);
/* The header that makes a compiler rename calls in the source. */
void rf_mcapi_print_header(void);

#endif
