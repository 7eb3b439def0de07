#include "compile.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler_words.h"
#include "elf_facts.h"
#include "install.h"
#include "launch.h"
#include "messages.h"
#include "objects.h"
#include "status.h"
#include "text.h"

int rf_run_words(char *const *words) {
    rf_signals_guard(0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    rf_signals_guard(child);
    return child > 0 ? rf_launch_wait(child) : 127 << 8;
}

static int run(char *const *command, const char *header, const char *library, bool verbose) {
    char **words = rf_compiler_command(command, header, library);
    if (verbose) {
        char *text = rf_command_text(words);
        rf_say("running: %s", text);
        free(text);
    }
    int status = rf_run_words(words);
    rf_free_words(words);
    return rf_program_status(status, RF_LAUNCHER_NONE, RF_FATE_GOOD, NULL);
}

/* The object of a source that has MCAPI's functions in it, which are renamed now; or NULL. */
static const char *library_object(const struct rf_compiler_words *words) {
    for (size_t i = 0; i < words->object_count; i++) {
        struct rf_object_facts facts;
        struct rf_error ignored;
        /* Compilers disagree on functions that are defined without having been declared. */
        if (rf_object_facts(words->objects[i], &facts, &ignored) &&
            (facts.defines_renamed || (facts.defined && facts.renamed)))
            return words->objects[i];
    }
    return NULL;
}

/* Sources of the library and of the program were made one program at once: the calls go where the
   program's own names are, and not through the adapter. */
static int check_program(const char *path) {
    struct rf_error error = {0};
    struct rf_elf_facts facts;
    if (!rf_elf_facts(path, &facts) || !facts.defines_renamed || facts.instrumented)
        return RF_EXIT_OK;
    rf_fail(&error, RF_EXIT_USAGE,
            "%s: the MCAPI library is among its sources: compile each with -c, then link", path);
    rf_hint(&error, "refrain instrument --help");
    unlink(path);
    return rf_report_error(&error);
}

static bool find_parts(char **header, char **library, struct rf_error *error) {
    *header = rf_find_names_header();
    *library = rf_find_linked_adapter();
    if (*header && *library)
        return true;
    return rf_fail(error, RF_EXIT_ENVIRONMENT, "instrument: %s is not where Refrain is installed",
                   *header ? "librefrain-mcapi.a" : "refrain-mcapi.h");
}

int rf_compile(const struct rf_options *options) {
    struct rf_error error = {0};
    char *const *command = options->command;
    char *compiler = rf_find_executable(command[0]), *header = NULL, *library = NULL;
    struct rf_compiler_words words = {0};
    int code;
    if (!compiler) {
        rf_fail(&error, RF_EXIT_ENVIRONMENT, "cannot run %s: no such program", command[0]);
        code = rf_report_error(&error);
    } else if (!find_parts(&header, &library, &error)) {
        code = rf_report_error(&error);
    } else {
        rf_compiler_words(command, &words);
        code = run(command, words.compiles ? header : NULL, words.links ? library : NULL,
                   options->verbose);
        /* Calls that the library makes to itself stay untouched: its sources are compiled again. */
        const char *own = code || words.reads_input ? NULL : library_object(&words);
        if (own) {
            if (!options->quiet)
                rf_say("%s: has functions of MCAPI itself: left as it is", own);
            code = run(command, NULL, NULL, options->verbose);
        } else if (!code && words.links) {
            code = check_program(words.output);
        }
    }
    rf_compiler_words_free(&words);
    free(library);
    free(header);
    free(compiler);
    return code;
}
