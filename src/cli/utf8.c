#include "utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* U+F780 to U+F7FF are 0xef, 0x9e or 0x9f, and a byte of six bits more. */
static bool is_private(const unsigned char *at) {
    return at[0] == 0xef && (at[1] == 0x9e || at[1] == 0x9f) && at[2] >= 0x80 && at[2] < 0xc0;
}

static bool has_private(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at && !is_private(at))
        at++;
    return *at != 0;
}

json_t *rf_utf8_json(const char *text) {
    json_t *value = has_private(text) ? NULL : json_string(text);
    if (value)
        return value;
    char *coded = rf_allocate(3 * strlen(text) + 1, 1), *end = coded;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < 0x80) {
            *end++ = (char)*at;
        } else {
            *end++ = (char)0xef;
            *end++ = (char)(0x9c | *at >> 6);
            *end++ = (char)(0x80 | (*at & 0x3f));
        }
    value = json_stringn(coded, (size_t)(end - coded));
    free(coded);
    return value;
}

char *rf_utf8_bytes(const char *text) {
    char *bytes = rf_copy(text), *end = bytes;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (is_private(at)) {
            *end++ = (char)((at[1] & 3) << 6 | (at[2] & 0x3f));
            at += 2;
        } else {
            *end++ = (char)*at;
        }
    *end = 0;
    return bytes;
}
