#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"
#include "text.h"

#define RF_FOR(symbol) (1u << RF_VERB_##symbol)
#define RF_FOR_ALL (~0u)

const struct rf_verb rf_verbs[RF_VERBS] = {
#define RF_VERB(symbol, name, operands, synopsis, summary)                                         \
    {#name, operands, synopsis, summary, rf_verb_##name},
#include "verbs.def"
#undef RF_VERB
};

const struct rf_option rf_option_table[] = {
#define RF_OPTION(letter, name, argument, type, field, completion, verbs, help)                    \
    {letter, name, argument, type, offsetof(struct rf_options, field), completion, verbs, help},
#include "options.def"
#undef RF_OPTION
};
const size_t rf_option_count = sizeof rf_option_table / sizeof rf_option_table[0];

enum { LONG_BASE = 256, OPTIONS_MOST = 32 };
_Static_assert(sizeof rf_option_table / sizeof rf_option_table[0] < OPTIONS_MOST,
               "getopt's table is too small");

const struct rf_verb *rf_find_verb(const char *name) {
    for (size_t i = 0; i < RF_VERBS; i++)
        if (strcmp(rf_verbs[i].name, name) == 0)
            return &rf_verbs[i];
    return NULL;
}

bool rf_verb_takes(const struct rf_verb *verb, const struct rf_option *option) {
    return option->verbs >> (verb - rf_verbs) & 1;
}

/* Is it a number, which was read up to `end`? */
static bool accept(const struct rf_option *option, const char *argument, const char *end,
                   bool too_large, const char *otherwise, struct rf_error *error) {
    bool number = *argument >= '0' && *argument <= '9' && !*end;
    return (number && !too_large) || rf_fail(error, RF_EXIT_USAGE, "--%s %s: %s", option->name,
                                             argument, number ? "too large" : otherwise);
}

static bool store(const struct rf_option *option, const char *argument, struct rf_options *options,
                  struct rf_error *error) {
    void *field = (char *)options + option->field;
    char *end = NULL;
    errno = 0;
    switch (option->type) {
    case RF_TYPE_FLAG:
        *(bool *)field = true;
        return true;
    case RF_TYPE_TEXT:
        *(const char **)field = argument;
        return *argument || rf_fail(error, RF_EXIT_USAGE, "--%s: %s must not be empty",
                                    option->name, option->argument);
    case RF_TYPE_WHOLE:
        *(uint64_t *)field = strtoull(argument, &end, 10);
        return accept(option, argument, end, errno != 0, "not a whole number", error);
    case RF_TYPE_SECONDS:
        *(double *)field = strtod(argument, &end);
        /* What is too small would become 0, which means never. */
        if (errno && *(double *)field < 1)
            end = (char *)argument;
        return accept(option, argument, end, *(double *)field > 1e9, "not a number of seconds",
                      error);
    }
    return false;
}

/* getopt has consumed `word` without knowing it (or without finding its argument). */
static bool refuse(const struct rf_verb *verb, const char *word, char letter, bool missing,
                   struct rf_error *error) {
    if (missing)
        return rf_fail(error, RF_EXIT_USAGE, "%s: the option needs an argument", word) ||
               rf_hint(error, "refrain %s -h", verb->name);
    if (strncmp(word, "--", 2) != 0) {
        rf_fail(error, RF_EXIT_USAGE, "-%c: unknown option of %s", letter, verb->name);
        return rf_hint(error, "refrain %s -h", verb->name);
    }
    char *name = rf_text("%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *names[OPTIONS_MOST];
    size_t count = 0;
    bool known = false;
    for (size_t i = 0; i < rf_option_count; i++) {
        if (!rf_option_table[i].name || !rf_verb_takes(verb, &rf_option_table[i]))
            continue;
        names[count++] = rf_option_table[i].name;
        known = known || strcmp(name, rf_option_table[i].name) == 0;
    }
    const char *nearest = rf_suggest(name, names, count);
    if (known)
        rf_fail(error, RF_EXIT_USAGE, "--%s: the option takes no argument", name);
    else if (nearest)
        rf_fail(error, RF_EXIT_USAGE, "--%s: unknown option of %s, did you mean --%s?", name,
                verb->name, nearest);
    else
        rf_fail(error, RF_EXIT_USAGE, "--%s: unknown option of %s", name, verb->name);
    free(name);
    return rf_hint(error, "refrain %s -h", verb->name);
}

/* The option that the verb has with just this spelling, or NULL. */
static const struct rf_option *find_option(const struct rf_verb *verb, const char *word) {
    const struct rf_option *found = NULL;
    for (size_t i = 0; i < rf_option_count; i++) {
        const struct rf_option *option = &rf_option_table[i];
        bool same =
            word[0] == '-' && (word[1] == '-' ? option->name && strcmp(word + 2, option->name) == 0
                                              : word[1] && word[1] == option->letter && !word[2]);
        if (same && rf_verb_takes(verb, option))
            found = option;
    }
    return found;
}

static bool surplus(const struct rf_verb *verb, const char *word, const char *trace,
                    struct rf_error *error) {
    if (word[0] == '-' && word[1]) {
        const struct rf_option *option = trace ? find_option(verb, word) : NULL;
        rf_fail(error, RF_EXIT_USAGE, "%s: options come before other words", word);
        if (!option || option->argument)
            return rf_hint(error, "refrain %s -h", verb->name);
        char *named = rf_named(trace);
        rf_hint(error, "refrain %s %s%s", verb->name, word, named);
        free(named);
        return false;
    }
    rf_fail(error, RF_EXIT_USAGE, "%s: %s takes no such word", word, verb->name);
    return rf_hint(error, "refrain %s -h", verb->name);
}

/* Sorts the words after the options into trace, name and command. `dashes`: getopt met "--". */
static bool operands(const struct rf_verb *verb, char **words, bool dashes,
                     struct rf_options *options, struct rf_error *error) {
    switch (verb->operands) {
    case RF_TAKES_COMMAND:
    case RF_TAKES_OPTIONAL_COMMAND:
        if (*words)
            options->command = words;
        else if (verb->operands == RF_TAKES_COMMAND || dashes) {
            rf_fail(error, RF_EXIT_USAGE, "%s: the command is missing", verb->name);
            return rf_hint(error, "refrain %s mpirun -n 4 ./program", verb->name);
        }
        return true;
    case RF_TAKES_NAME:
        if (!*words)
            return true;
        options->name = *words++;
        options->command = words;
        return true;
    case RF_TAKES_TRACE:
    case RF_TAKES_TRACE_AND_COMMAND:
    case RF_TAKES_TRACE_BETWEEN:
        if (*words && !options->trace && (!dashes || verb->operands == RF_TAKES_TRACE))
            options->trace = *words++;
        if (verb->operands == RF_TAKES_TRACE)
            break;
        if (*words && !dashes && strcmp(*words, "--") == 0) {
            dashes = true;
            words++;
        }
        if (dashes && !*words)
            return rf_fail(error, RF_EXIT_USAGE, "%s: the command after -- is missing",
                           verb->name) ||
                   rf_hint(error, "refrain %s -h", verb->name);
        if (dashes) {
            options->command = words;
            return true;
        }
        break;
    case RF_TAKES_FILES:
        if (dashes)
            options->command = words;
        else
            options->files = words;
        for (size_t i = 0; !dashes && words[i]; i++)
            if (words[i][0] == '-')
                return surplus(verb, words[i], NULL, error);
        if (*words || options->libs)
            return true;
        rf_fail(error, RF_EXIT_USAGE, "%s: the %s missing", verb->name,
                dashes ? "command after -- is" : "files are");
        return rf_hint(error, "refrain %s -h", verb->name);
    case RF_TAKES_WORDS:
        options->command = words;
        return true;
    case RF_TAKES_NOTHING:
        break;
    }
    return !*words || surplus(verb, *words, options->trace, error);
}

/* What is ours among the words of another program: the first ones, spelt in full. */
static char **own_words(const struct rf_verb *verb, char **words, struct rf_options *options) {
    for (; *words; words++) {
        const struct rf_option *found = find_option(verb, *words);
        if (!found)
            break;
        *(bool *)((char *)options + found->field) = true;
    }
    return *words && strcmp(*words, "--") == 0 ? words + 1 : words;
}

bool rf_parse_options(const struct rf_verb *verb, int argc, char **argv, struct rf_options *options,
                      struct rf_error *error) {
    struct option table[OPTIONS_MOST];
    char letters[2 * OPTIONS_MOST + 3] = "+:";
    size_t count = 0, length = 2;
    for (size_t i = 0; i < rf_option_count; i++) {
        const struct rf_option *option = &rf_option_table[i];
        if (!rf_verb_takes(verb, option))
            continue;
        if (option->letter)
            letters[length++] = option->letter;
        if (option->letter && option->argument)
            letters[length++] = ':';
        if (option->name)
            table[count++] =
                (struct option){option->name, option->argument ? required_argument : no_argument,
                                NULL, LONG_BASE + (int)i};
    }
    table[count] = (struct option){0};

    *options = (struct rf_options){.scheme = "order",
                                   .check = "none",
                                   .stall_timeout = 30,
                                   .limit = UINT64_MAX,
                                   .event = UINT64_MAX};
    if (verb->operands == RF_TAKES_WORDS)
        return operands(verb, own_words(verb, argv + 1, options), true, options, error);
    opterr = 0;
    optind = 1;
    for (;;) {
        const char *word = argv[optind];
        int found = getopt_long(argc, argv, letters, table, NULL);
        bool dashed = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
        if (found == -1 && verb->operands == RF_TAKES_TRACE_BETWEEN && !options->trace && !dashed &&
            argv[optind]) {
            options->trace = argv[optind++];
            continue;
        }
        if (found == -1)
            break;
        /* getopt takes beginnings of names for the names; they would break with every new option.
         */
        bool shortened = found >= LONG_BASE &&
                         strcspn(word + 2, "=") != strlen(rf_option_table[found - LONG_BASE].name);
        if (found == '?' || found == ':' || shortened)
            return refuse(verb, word, (char)optopt, found == ':', error);
        for (size_t i = 0; i < rf_option_count; i++)
            if (found == LONG_BASE + (int)i ||
                (found < LONG_BASE && rf_option_table[i].letter == found)) {
                if (!store(&rf_option_table[i], optarg, options, error))
                    return rf_hint(error, "refrain %s -h", verb->name);
                break;
            }
    }
    /* Help never complains about what else is missing. */
    if (options->short_help || options->manual)
        return true;
    bool dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    return operands(verb, argv + optind, dashes, options, error);
}
