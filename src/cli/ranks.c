#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static bool number(const char **at, long *value) {
    char *end = NULL;
    if (**at < '0' || **at > '9')
        return false;
    *value = strtol(*at, &end, 10);
    *at = end;
    return true;
}

bool rf_ranks_parse(const char *list, int size, const char *verb, const char *named, bool *chosen,
                    struct rf_error *error) {
    const char *at = list;
    for (;;) {
        long first = 0, last = 0;
        bool good = number(&at, &first);
        last = first;
        if (good && *at == '-') {
            at++;
            good = number(&at, &last);
        }
        if (!good || last < first || (*at && *at != ',')) {
            rf_fail(error, RF_EXIT_USAGE, "--rank %s: not a list of ranks", list);
            return rf_hint(error, "refrain %s --rank 0,3,8-11%s", verb, named);
        }
        if (last >= size) {
            rf_fail(error, RF_EXIT_USAGE,
                    "--rank %s: there is no rank %ld, the trace has ranks 0-%d", list, last,
                    size - 1);
            return rf_hint(error, "refrain info%s", named);
        }
        for (long rank = first; rank <= last; rank++)
            chosen[rank] = true;
        if (!*at++)
            return true;
    }
}

bool rf_rank_parse(const char *list, int size, const char *verb, const char *named, int *rank,
                   struct rf_error *error) {
    if (list[strspn(list, "0123456789")]) {
        rf_fail(error, RF_EXIT_USAGE, "--rank %s: %s takes one rank", list, verb);
        return rf_hint(error, "refrain %s --rank 0%s", verb, named);
    }
    bool *chosen = rf_allocate((size_t)size, sizeof *chosen);
    bool good = rf_ranks_parse(list, size, verb, named, chosen, error);
    for (int i = 0; good && i < size; i++)
        if (chosen[i])
            *rank = i;
    free(chosen);
    return good;
}

char *rf_ranks_text(const int *ranks, size_t count) {
    char *text = rf_copy("");
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && ranks[last + 1] == ranks[last] + 1)
            last++;
        const char *comma = i ? "," : "";
        char *longer = last > i ? rf_text("%s%s%d%c%d", text, comma, ranks[i],
                                          last == i + 1 ? ',' : '-', ranks[last])
                                : rf_text("%s%s%d", text, comma, ranks[i]);
        free(text);
        text = longer;
        i = last + 1;
    }
    return text;
}
