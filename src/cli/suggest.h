/* The nearest known word to a mistyped one. */
#ifndef RF_CLI_SUGGEST_H
#define RF_CLI_SUGGEST_H

#include <stddef.h>

/* NULL when nothing is near enough to be meant. */
const char *rf_suggest(const char *word, const char *const *known, size_t count);

#endif
