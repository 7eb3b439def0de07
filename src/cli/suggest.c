#include "suggest.h"

#include <string.h>

enum { LONGEST = 40 };

/* Damerau's distance: insertions, deletions, replacements and swapped neighbours. */
static size_t distance(const char *left, const char *right) {
    size_t rows = strlen(left), columns = strlen(right);
    if (rows >= LONGEST || columns >= LONGEST)
        return LONGEST;
    size_t cost[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            size_t least = cost[i - 1][j - 1] + (left[i - 1] != right[j - 1]);
            if (cost[i - 1][j] + 1 < least)
                least = cost[i - 1][j] + 1;
            if (cost[i][j - 1] + 1 < least)
                least = cost[i][j - 1] + 1;
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] &&
                cost[i - 2][j - 2] + 1 < least)
                least = cost[i - 2][j - 2] + 1;
            cost[i][j] = least;
        }
    return cost[rows][columns];
}

const char *rf_suggest(const char *word, const char *const *known, size_t count) {
    const char *nearest = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t here = distance(word, known[i]);
        /* A beginning is what people type when they hope for completion. */
        if (*word && strncmp(word, known[i], strlen(word)) == 0)
            here = 1;
        if (here < least) {
            least = here;
            nearest = known[i];
        }
    }
    return nearest;
}
