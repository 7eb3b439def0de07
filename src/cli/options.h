/* The command line, taken apart. The tables verbs.def and options.def say what there is. */
#ifndef RF_CLI_OPTIONS_H
#define RF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/error.h"

struct rf_options {
    const char *output, *scheme, *check, *mpi, *thread_order, *values, *ranks, *at, *batch;
    double stall_timeout;
    uint64_t limit, event; /* UINT64_MAX: none */
    bool json, quiet, verbose, all, fill, libs, cxx, threads, race_detect, short_help, manual;
    const char *trace; /* NULL: the latest one */
    const char *name;
    char **files;   /* ends with NULL */
    char **command; /* NULL: none was given; ends with NULL like argv. After a name: its words */
};

enum rf_operands {
    RF_TAKES_NOTHING,
    RF_TAKES_COMMAND,
    RF_TAKES_OPTIONAL_COMMAND,
    RF_TAKES_TRACE,
    RF_TAKES_TRACE_AND_COMMAND,
    RF_TAKES_TRACE_BETWEEN, /* the same, and options may also follow the trace */
    RF_TAKES_NAME,
    RF_TAKES_FILES, /* or, after "--", a command */
    RF_TAKES_WORDS, /* of another program: only whole words that are ours end before them */
};

enum rf_verb_number {
#define RF_VERB(symbol, name, operands, synopsis, summary) RF_VERB_##symbol,
#include "verbs.def"
#undef RF_VERB
    RF_VERBS
};

struct rf_verb {
    const char *name;
    enum rf_operands operands;
    const char *synopsis, *summary;
    int (*run)(const struct rf_options *options);
};

enum rf_option_type { RF_TYPE_FLAG, RF_TYPE_TEXT, RF_TYPE_WHOLE, RF_TYPE_SECONDS };

struct rf_option {
    char letter;
    const char *name, *argument;
    enum rf_option_type type;
    size_t field;
    const char *completion; /* words, after a comma if several may be given; or "@directories" */
    unsigned verbs;
    const char *help;
};

extern const struct rf_verb rf_verbs[RF_VERBS];
extern const struct rf_option rf_option_table[];
extern const size_t rf_option_count;

/* Finds a verb by name; NULL when there is none. */
const struct rf_verb *rf_find_verb(const char *name);
bool rf_verb_takes(const struct rf_verb *verb, const struct rf_option *option);

/* Parses what follows the verb; argv[0] is the verb itself. */
bool rf_parse_options(const struct rf_verb *verb, int argc, char **argv, struct rf_options *options,
                      struct rf_error *error);

#define RF_VERB(symbol, name, operands, synopsis, summary)                                         \
    int rf_verb_##name(const struct rf_options *options);
#include "verbs.def"
#undef RF_VERB

#endif
