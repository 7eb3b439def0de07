#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/error.h"

static void *need(void *memory) {
    if (!memory) {
        fputs("refrain: out of memory\n", stderr);
        exit(RF_EXIT_ENVIRONMENT);
    }
    return memory;
}

char *rf_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return need(length < 0 ? NULL : text);
}

char *rf_copy(const char *text) {
    return need(strdup(text));
}

void *rf_allocate(size_t count, size_t bytes) {
    return need(calloc(count ? count : 1, bytes));
}

void *rf_grow(void *array, size_t count, size_t bytes) {
    return need(reallocarray(array, count + 1, bytes));
}

const char *rf_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool rf_starts_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

const char *rf_size_text(uint64_t bytes, char buffer[RF_SIZE_TEXT]) {
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    if (bytes < 1000) {
        snprintf(buffer, RF_SIZE_TEXT, "%d byte%s", (int)bytes, rf_plural(bytes));
        return buffer;
    }
    double value = (double)bytes / 1000;
    size_t unit = 0;
    while (value >= 999.95 && unit < 3) {
        value /= 1000;
        unit++;
    }
    snprintf(buffer, RF_SIZE_TEXT, "%.1f %s", value, units[unit]);
    return buffer;
}

/* How many bytes of a character at `at` make a terminal do something; 0: it is one to be shown. */
static size_t control(const char *at) {
    const unsigned char *bytes = (const unsigned char *)at;
    if (bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0) /* the same in UTF-8 */
        return 2;
    return bytes[0] < ' ' || bytes[0] == 0x7f;
}

static bool has_control(const char *text) {
    for (; *text; text++)
        if (control(text))
            return true;
    return false;
}

/* As C and shells have it. Two digits are as many as shells read. */
static void print_control(const char *at, size_t length, FILE *out) {
    for (size_t i = 0; i < length; i++)
        if (at[i] == '\n')
            fputs("\\n", out);
        else if (at[i] == '\t')
            fputs("\\t", out);
        else
            fprintf(out, "\\x%02x", (unsigned char)at[i]);
}

void rf_print_plain(const char *text, FILE *out) {
    for (const char *at = text; *at;) {
        size_t length = control(at);
        if (length)
            print_control(at, length, out);
        else
            fputc(*at, out);
        at += length ? length : 1;
    }
}

char *rf_plain(const char *text) {
    char *shown = NULL;
    size_t length = 0;
    FILE *out = need(open_memstream(&shown, &length));
    rf_print_plain(text, out);
    fclose(out);
    return need(shown);
}

static bool harmless(const char *word) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-+=./:,@%";
    return *word && word[strspn(word, letters)] == 0;
}

/* Shells read escapes only between $' and '. */
static void print_quoted(const char *word, FILE *out) {
    bool escapes = has_control(word);
    fputs(escapes ? "$'" : "'", out);
    for (const char *at = word; *at;) {
        size_t length = escapes ? control(at) : 0;
        if (length)
            print_control(at, length, out);
        else if (*at == '\'')
            fputs(escapes ? "\\'" : "'\\''", out);
        else if (*at == '\\' && escapes)
            fputs("\\\\", out);
        else
            fputc(*at, out);
        at += length ? length : 1;
    }
    fputc('\'', out);
}

char *rf_command_text(char *const *words) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = need(open_memstream(&text, &length));
    for (size_t i = 0; words[i]; i++) {
        if (i)
            fputc(' ', out);
        if (harmless(words[i]))
            fputs(words[i], out);
        else
            print_quoted(words[i], out);
    }
    fclose(out);
    return need(text);
}

char *rf_named(const char *trace) {
    if (!trace)
        return rf_copy("");
    char *words[] = {(char *)trace, NULL};
    char *quoted = rf_command_text(words);
    char *text = rf_text(" %s", quoted);
    free(quoted);
    return text;
}

const char *rf_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}
