/* Strings that are built while the program runs. Running out of memory ends the program. */
#ifndef RF_CLI_TEXT_H
#define RF_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A new string by format; free() it. */
char *rf_text(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *rf_copy(const char *text) __attribute__((returns_nonnull));
void *rf_allocate(size_t count, size_t bytes) __attribute__((returns_nonnull));
/* Grows an array to hold one more element than `count`. */
void *rf_grow(void *array, size_t count, size_t bytes) __attribute__((returns_nonnull));

/* The part after the last slash. */
const char *rf_base_name(const char *path);
bool rf_starts_with(const char *text, const char *beginning);

/* "17 bytes", "3.4 KB", … in `buffer`, which it returns. */
enum { RF_SIZE_TEXT = 32 };
const char *rf_size_text(uint64_t bytes, char buffer[RF_SIZE_TEXT]);
/* The words of a command as a shell would need them, quoted where necessary; fit to be shown. */
char *rf_command_text(char *const *words);
/* " TRACE", as a hint must have it after the verb to mean the trace that was named; empty for NULL,
   which is the latest. */
char *rf_named(const char *trace);
/* Text from outside as it can be shown: what a terminal would obey is written as "\x1b". */
char *rf_plain(const char *text) __attribute__((returns_nonnull));
void rf_print_plain(const char *text, FILE *out);
/* "s" unless there is exactly one. */
const char *rf_plural(uint64_t count);

#endif
