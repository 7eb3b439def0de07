/* refrain cc, refrain fc: a compiler that leaves no atomic operation inline. What is inline is not
   seen by a preloaded library; calls of libatomic are. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile.h"
#include "compiler_words.h"
#include "detect.h"
#include "install.h"
#include "launch.h"
#include "messages.h"
#include "options.h"
#include "status.h"
#include "text.h"

#define FLAG "-fno-inline-atomics"

struct words {
    char **list;
    size_t count;
};

static void add(struct words *words, const char *word) {
    words->list = rf_grow(words->list, words->count, sizeof *words->list);
    words->list[words->count++] = word ? rf_copy(word) : NULL;
}

/* A variable may name a compiler with some options, or one behind ccache. */
static void add_compiler(struct words *words, const char *variable, const char *otherwise) {
    const char *chosen = getenv(variable);
    const char *blanks = " \t\n";
    char *copy = rf_copy(chosen ? chosen : "");
    char *rest = NULL;
    for (char *word = strtok_r(copy, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest))
        add(words, word);
    if (!words->count)
        add(words, otherwise);
    free(copy);
}

/* Whether the compiler is one that knows the option, asked only when something went wrong. */
static bool knows_flag(const struct words *compiler) {
    struct words probe = {0};
    static const char *const more[] = {FLAG, "-E", "-x", "c", "/dev/null"};
    for (size_t i = 0; i < compiler->count; i++)
        add(&probe, compiler->list[i]);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        add(&probe, more[i]);
    add(&probe, NULL);
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execvp(probe.list[0], probe.list);
        _exit(127);
    }
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        continue;
    rf_free_words(probe.list);
    return child > 0 && status == 0;
}

static int run(const struct words *compiler, const struct words *command) {
    int status = rf_run_words(command->list);
    int code = rf_program_status(status, RF_LAUNCHER_NONE, RF_FATE_GOOD, NULL);
    if (code && !knows_flag(compiler)) {
        struct rf_error error = {0};
        rf_fail(&error, RF_EXIT_ENVIRONMENT, "%s does not know " FLAG ": only GCC does",
                compiler->list[0]);
        return rf_report_error(&error);
    }
    return code;
}

/* Without files the compiler is only asked something. */
static bool has_input(char *const *arguments) {
    for (size_t i = 0; arguments[i]; i++)
        if (arguments[i][0] != '-' || !arguments[i][1])
            return true;
    return false;
}

static int compile(const struct rf_options *options, const char *variable, const char *otherwise,
                   bool fortran) {
    struct rf_error error = {0};
    struct words compiler = {0}, command = {0};
    add_compiler(&compiler, variable, otherwise);
    char *found = rf_find_executable(compiler.list[0]);
    char *header = fortran ? NULL : rf_find_atomics_header();
    int code = RF_EXIT_ENVIRONMENT;
    if (!found)
        rf_fail(&error, RF_EXIT_ENVIRONMENT, "cannot run %s: no such program", compiler.list[0]);
    else if (!header && !fortran)
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "cc: refrain-atomics.h is not where Refrain is installed");
    if (error.code) {
        code = rf_report_error(&error);
    } else {
        for (size_t i = 0; i < compiler.count; i++)
            add(&command, compiler.list[i]);
        bool input = has_input(options->command);
        if (input)
            add(&command, FLAG);
        if (input && header) {
            add(&command, "-include");
            add(&command, header);
        }
        for (size_t i = 0; options->command[i]; i++)
            add(&command, options->command[i]);
        /* Nothing is linked where the compiler stops earlier: then it has no use for the library.
         */
        if (input)
            add(&command, "-latomic");
        add(&command, NULL);
        code = run(&compiler, &command);
        rf_free_words(command.list);
    }
    add(&compiler, NULL);
    rf_free_words(compiler.list);
    free(header);
    free(found);
    return code;
}

int rf_verb_cc(const struct rf_options *options) {
    return options->cxx ? compile(options, "CXX", "c++", false)
                        : compile(options, "CC", "cc", false);
}

int rf_verb_fc(const struct rf_options *options) {
    return compile(options, "FC", "gfortran", true);
}
