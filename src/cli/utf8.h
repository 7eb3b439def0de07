/* Texts in JSON. Command lines, paths and variables need not be UTF-8; JSON must be. */
#ifndef RF_CLI_UTF8_H
#define RF_CLI_UTF8_H

#include <jansson.h>

/* The text itself. If it is not UTF-8, each byte from 0x80 on becomes the character U+F700 + byte,
   which is for private use; so do those of a text that has such characters already. */
json_t *rf_utf8_json(const char *text);
/* A new string: the bytes again. free() it. */
char *rf_utf8_bytes(const char *text) __attribute__((returns_nonnull));

#endif
