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

static bool plain(const char *word) {
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-+=./:,@%";
    return *word && word[strspn(word, harmless)] == 0;
}

char *rf_command_text(char *const *words) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = need(open_memstream(&text, &length));
    for (size_t i = 0; words[i]; i++) {
        if (i)
            fputc(' ', out);
        if (plain(words[i])) {
            fputs(words[i], out);
            continue;
        }
        fputc('\'', out);
        for (const char *at = words[i]; *at; at++)
            if (*at == '\'')
                fputs("'\\''", out);
            else
                fputc(*at, out);
        fputc('\'', out);
    }
    fclose(out);
    return need(text);
}

const char *rf_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}
