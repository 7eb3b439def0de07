#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"
#include "text.h"

/* The last one stands for all before it. */
static const char *const kinds[] = {"time", "random", "pid", "all"};
enum { KINDS = sizeof kinds / sizeof kinds[0], ALL = KINDS - 1 };

static bool refuse(const char *list, const char *word, struct rf_error *error) {
    const char *nearest = rf_suggest(word, kinds, KINDS);
    if (!*word)
        rf_fail(error, RF_EXIT_USAGE, "--values %s: a word of the list is empty", list);
    else if (nearest)
        rf_fail(error, RF_EXIT_USAGE, "--values %s: unknown kind %s, did you mean %s?", list, word,
                nearest);
    else
        rf_fail(error, RF_EXIT_USAGE, "--values %s: unknown kind %s: time, random, pid or all",
                list, word);
    return rf_hint(error, "refrain record --values %s COMMAND...", nearest ? nearest : "all");
}

bool rf_values_parse(const char *list, char text[RF_VALUES_TEXT], struct rf_error *error) {
    bool wanted[KINDS] = {0};
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        char *word = rf_text("%.*s", (int)length, at);
        size_t kind = 0;
        while (kind < KINDS && strcmp(word, kinds[kind]) != 0)
            kind++;
        if (kind == KINDS) {
            refuse(list, word, error);
            free(word);
            return false;
        }
        wanted[kind] = true;
        free(word);
        at += length;
        if (!*at)
            break;
    }
    size_t length = 0;
    for (size_t i = 0; i < ALL; i++)
        if (wanted[i] || wanted[ALL])
            length += (size_t)snprintf(text + length, RF_VALUES_TEXT - length, "%s%s",
                                       length ? "," : "", kinds[i]);
    return true;
}
