/* mcapi_display_status. */
#include <stdio.h>

#include "api.h"

MC_API char *mcapi_display_status(mcapi_status_t status, char *message, size_t size) {
    static const char *const names[] = {
#define MC_STATUS(name) [MCAPI_##name] = "MCAPI_" #name,
#include "statuses.def"
#undef MC_STATUS
    };
    if (!message || !size)
        return NULL;
    const char *name = status < sizeof names / sizeof *names ? names[status] : NULL;
    snprintf(message, size, "%s", name ? name : "UNKNOWN");
    return message;
}
