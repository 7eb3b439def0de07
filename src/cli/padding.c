#include "padding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

enum { COUNT_UNIT = 64, BYTES_UNIT = 16384 };

struct amount {
    size_t count, bytes;
};

static struct amount amount_of(char *const *strings, struct amount before) {
    for (size_t i = 0; strings[i]; i++) {
        before.count++;
        before.bytes += strlen(strings[i]) + 1;
    }
    return before;
}

static void add(size_t number, size_t length) {
    char name[32];
    char *value = rf_text("%0*d", (int)length, 0);
    snprintf(name, sizeof name, "REFRAIN_PADDING_%02zu", number);
    setenv(name, length ? value : "", 1);
    free(value);
}

void rf_pad_environment(char *const *words) {
    const size_t empty = sizeof "REFRAIN_PADDING_00=";
    struct amount now = amount_of(environ, amount_of(words, (struct amount){0}));
    size_t more = COUNT_UNIT - now.count % COUNT_UNIT;
    size_t least = now.bytes + more * empty;
    for (size_t i = 1; i < more; i++)
        add(i, 0);
    add(0, (BYTES_UNIT - least % BYTES_UNIT) % BYTES_UNIT);
}
