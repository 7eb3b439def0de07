#include "messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

bool rf_no_colour(void) {
    const char *none = getenv("NO_COLOR");
    return none && *none;
}

struct rf_colours rf_colours_of(int descriptor) {
    const char *terminal = getenv("TERM");
    if (!isatty(descriptor) || rf_no_colour() || (terminal && strcmp(terminal, "dumb") == 0))
        return (struct rf_colours){"", "", "", "", ""};
    return (struct rf_colours){"\033[1m", "\033[31m", "\033[32m", "\033[2m", "\033[0m"};
}

static void line(const char *prefix, const char *format, va_list arguments) {
    struct rf_colours colours = rf_colours_of(STDERR_FILENO);
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    flockfile(stderr);
    fprintf(stderr, "%s%s%s ", colours.strong, prefix, colours.off);
    /* Paths and words of the command may hold anything. */
    rf_print_plain(text ? text : format, stderr);
    fputc('\n', stderr);
    funlockfile(stderr);
    free(text);
}

void rf_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line("refrain:", format, arguments);
    va_end(arguments);
}

void rf_say_hint(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line("hint:", format, arguments);
    va_end(arguments);
}

void rf_say_json(json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT);
    flockfile(stderr);
    fprintf(stderr, "%s\n", text ? text : "{}");
    funlockfile(stderr);
    free(text);
    json_decref(object);
}

int rf_report_error(const struct rf_error *error) {
    fflush(stdout);
    rf_say("%s", error->text);
    if (error->hint[0])
        rf_say_hint("%s", error->hint);
    return error->code;
}
