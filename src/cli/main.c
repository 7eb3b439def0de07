/* refrain: finds the verb, parses its options and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "become.h"
#include "doctor.h"
#include "generate.h"
#include "help.h"
#include "messages.h"
#include "options.h"
#include "panes.h"
#include "suggest.h"

static int unknown(const char *word) {
    struct rf_error error = {0};
    static const char *const options[] = {"help", "version"};
    const char *names[RF_VERBS];
    for (size_t i = 0; i < RF_VERBS; i++)
        names[i] = rf_verbs[i].name;
    bool option = word[0] == '-';
    const char *what = option ? "option" : "verb";
    const char *nearest = option ? rf_suggest(word + strspn(word, "-"), options, 2)
                                 : rf_suggest(word, names, RF_VERBS);
    if (nearest && option) {
        rf_fail(&error, RF_EXIT_USAGE, "%s: unknown option, did you mean --%s?", word, nearest);
        rf_hint(&error, "refrain --%s", nearest);
    } else if (nearest) {
        rf_fail(&error, RF_EXIT_USAGE, "%s: unknown %s, did you mean %s?", word, what, nearest);
        rf_hint(&error, "refrain %s -h", nearest);
    } else {
        rf_fail(&error, RF_EXIT_USAGE, "%s: unknown %s", word, what);
        rf_hint(&error, "refrain -h");
    }
    return rf_report_error(&error);
}

/* What was printed may not have arrived, on a full disk for example. */
static int printed(int code) {
    struct rf_error error = {0};
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    rf_fail(&error, RF_EXIT_ENVIRONMENT, "cannot write to standard output: %s", strerror(errno));
    int other = rf_report_error(&error);
    return code == RF_EXIT_OK ? other : code;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        rf_short_help(NULL, stderr);
        return RF_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0) {
        rf_short_help(NULL, stdout);
        return printed(RF_EXIT_OK);
    }
    if (strcmp(word, "--help") == 0)
        return printed(rf_show_manual(NULL));
    if (strcmp(word, "--version") == 0) {
        puts("refrain " REFRAIN_VERSION);
        return printed(RF_EXIT_OK);
    }
    /* For the build and for ourselves; not part of the surface. */
    if (strcmp(word, "--generate") == 0)
        return printed(rf_generate(argv + 2));
    if (strcmp(word, "--probe") == 0)
        return rf_doctor_probe(argv + 2);
    if (strcmp(word, "--become") == 0)
        return rf_become(argv + 2);
    if (strcmp(word, "--played") == 0)
        return rf_played(argv + 2);
    if (strcmp(word, "--pane") == 0)
        return rf_pane(argv + 2);

    const struct rf_verb *verb = rf_find_verb(word);
    if (!verb)
        return unknown(word);
    struct rf_options options;
    struct rf_error error = {0};
    if (!rf_parse_options(verb, argc - 1, argv + 1, &options, &error))
        return rf_report_error(&error);
    if (options.short_help) {
        rf_short_help(verb, stdout);
        return printed(RF_EXIT_OK);
    }
    if (options.manual)
        return printed(rf_show_manual(verb));
    return printed(verb->run(&options));
}
