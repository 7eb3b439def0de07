#include "job_limits.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t choose(const char *variable, uint32_t asked, uint32_t least, uint32_t usual,
                       uint32_t most) {
    unsigned long long value = asked;
    const char *text = getenv(variable);
    if (!value && text && *text) {
        char *end;
        errno = 0;
        value = strtoull(text, &end, 10);
        if (*end || errno)
            value = 0;
    }
    if (!value)
        value = usual;
    return value < least ? least : value > most ? most : (uint32_t)value;
}

void mc_limits_choose(struct mc_limits *limits, const mcapi_param_t *parameters) {
    static const mcapi_param_t nothing = MCAPI_PARAM_DEFAULTS;
    if (!parameters || parameters->marker != MCAPI_PARAM_MARKER)
        parameters = &nothing;
#define MC_LIMIT(field, variable, parameter, least, usual, most)                                   \
    limits->field = choose(variable, parameters->parameter, least, usual, most);
#include "job_limits.def"
#undef MC_LIMIT
    /* A queue is found by the low bits of a position. */
    while (limits->queue_length & (limits->queue_length - 1))
        limits->queue_length += limits->queue_length & -limits->queue_length;
}
