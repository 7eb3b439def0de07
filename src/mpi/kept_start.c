/* Extraction: rank-R.start, how the process was started. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/kept.h"

/* Names and words need not be UTF-8, and JSON must be: see cli/utf8.h for bytes from 0x80 on. */
static void put_text(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == '"' || *c == '\\' || *c >= 0x80)
            fprintf(file, "\\u%04x", *c < 0x80 ? *c : 0xf700u + *c);
        else
            fputc(*c, file);
    fputc('"', file);
}

/* What its standard streams are: a pipe, a terminal, nothing (as /dev/null), or something else. */
static void put_streams(FILE *file) {
    for (int i = 0; i < 3; i++) {
        struct stat facts = {0};
        fstat(i, &facts);
        bool pipe = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
        fputc(pipe ? 'p' : isatty(i) ? 't' : S_ISCHR(facts.st_mode) ? 'n' : '-', file);
    }
}

/* How this process was started: alone, nobody else knows. */
bool rf_start_write(const char *trace, bool record, struct rf_error *error) {
    extern char **environ;
    char path[PATH_MAX], text[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.start", trace, rf_mpi.rank);
    FILE *file = fopen(path, "we");
    FILE *arguments = fopen("/proc/self/cmdline", "re");
    if (file && arguments) {
        ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
        text[length > 0 ? length : 0] = 0;
        fprintf(file, "{\"recorded\": %s, \"executable\": ", record ? "true" : "false");
        put_text(file, text);
        fputs(", \"arguments\": [", file);
        char *argument = NULL;
        size_t size = 0;
        for (int i = 0; getdelim(&argument, &size, 0, arguments) > 0; i++) {
            fputs(i ? ", " : "", file);
            put_text(file, argument);
        }
        free(argument);
        fputs("], \"directory\": ", file);
        put_text(file, getcwd(text, sizeof text) ? text : ".");
        fputs(", \"streams\": \"", file);
        put_streams(file);
        fputs("\", \"environment\": {", file);
        bool first = true;
        for (char **variable = environ; *variable; variable++) {
            const char *equals = strchr(*variable, '=');
            if (!equals || equals - *variable >= (ptrdiff_t)sizeof text)
                continue;
            snprintf(text, (size_t)(equals - *variable) + 1, "%s", *variable);
            fputs(first ? "" : ", ", file);
            put_text(file, text);
            fputs(": ", file);
            put_text(file, equals + 1);
            first = false;
        }
        fputs("}}\n", file);
    }
    bool good = file && arguments && !ferror(file);
    if (arguments)
        fclose(arguments);
    if (file && fclose(file) != 0)
        good = false;
    return good || rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written", path);
}
