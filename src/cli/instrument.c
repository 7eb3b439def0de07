/* refrain instrument: calls of MCAPI in the application's objects, archives or sources are renamed,
   so that they reach the adapter that is linked into the program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile.h"
#include "detect.h"
#include "install.h"
#include "launch.h"
#include "messages.h"
#include "objects.h"
#include "options.h"
#include "text.h"
#include "utf8.h"

struct file {
    const char *path;
    char *output;
    struct rf_object_facts facts;
};

static bool is_directory(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static bool inspect(struct file *file, struct rf_error *error) {
    if (!rf_object_facts(file->path, &file->facts, error))
        return false;
    if (!file->facts.defined)
        return true;
    rf_fail(error, RF_EXIT_USAGE,
            "%s: has %s itself: it is the MCAPI library, whose calls stay as they are", file->path,
            file->facts.defined);
    return rf_hint(error, "refrain instrument --help");
}

static bool choose_output(struct file *file, const char *output, size_t count,
                          struct rf_error *error) {
    if (output && is_directory(output))
        file->output = rf_text("%s/%s", output, rf_base_name(file->path));
    else if (output && count > 1)
        return rf_fail(error, RF_EXIT_USAGE, "--output %s: several files need a directory", output);
    else
        file->output = rf_copy(output ? output : file->path);
    return true;
}

static char *find_objcopy(struct rf_error *error) {
    const char *chosen = getenv("OBJCOPY");
    char *path = rf_find_executable(chosen && *chosen ? chosen : "objcopy");
    if (!path) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "instrument: %s is not found, which renames the calls",
                chosen && *chosen ? chosen : "objcopy");
        rf_hint(error, "apt install binutils");
    }
    return path;
}

/* The result takes the place of the file in one step, or not at all. */
static bool rename_calls(const struct file *file, const char *objcopy, struct rf_error *error) {
    struct stat before;
    char *fresh = rf_text("%s.refrain-XXXXXX", file->output);
    int made = mkstemp(fresh);
    if (made < 0) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written: %s", file->output,
                strerror(errno));
        free(fresh);
        return false;
    }
    close(made);
    char **words = rf_allocate(2 * RF_MCAPI_NAMES + 4, sizeof *words);
    size_t count = 0;
    words[count++] = rf_copy(objcopy);
    for (size_t i = 0; i < RF_MCAPI_NAMES; i++)
        if (file->facts.called[i]) {
            words[count++] = rf_copy("--redefine-sym");
            words[count++] =
                rf_text("%s=" RF_RENAMED_PREFIX "%s", rf_mcapi_names[i], rf_mcapi_names[i]);
        }
    words[count++] = rf_copy(file->path);
    words[count] = rf_copy(fresh);
    int status = rf_run_words(words);
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good)
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: %s failed", file->path, objcopy);
    else if (stat(file->path, &before) != 0 || chmod(fresh, before.st_mode & 07777) != 0 ||
             rename(fresh, file->output) != 0)
        good = rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written: %s", file->output,
                       strerror(errno));
    if (!good)
        unlink(fresh);
    rf_free_words(words);
    free(fresh);
    return good;
}

static void tell(const struct file *file) {
    const struct rf_object_facts *facts = &file->facts;
    if (facts->functions)
        rf_say("instrumented: %s: %zu call%s of %zu function%s", file->output, facts->calls,
               rf_plural(facts->calls), facts->functions, rf_plural(facts->functions));
    else
        rf_say("%s: %s", file->path,
               facts->renamed ? "is instrumented already" : "has no calls of MCAPI");
}

static void tell_json(const struct file *files, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *names = json_array();
        for (size_t j = 0; j < RF_MCAPI_NAMES; j++)
            if (files[i].facts.called[j])
                json_array_append_new(names, json_string(rf_mcapi_names[j]));
        json_array_append_new(list,
                              json_pack("{s:o,s:o,s:I,s:o}", "file", rf_utf8_json(files[i].path),
                                        "output", rf_utf8_json(files[i].output), "calls",
                                        (json_int_t)files[i].facts.calls, "functions", names));
    }
    rf_say_json(json_pack("{s:o}", "instrumented", list));
}

/* All files are looked at before the first is changed. */
static bool prepare(struct file *files, size_t count, const struct rf_options *options,
                    struct rf_error *error) {
    for (size_t i = 0; i < count; i++) {
        files[i].path = options->files[i];
        if (!inspect(&files[i], error) || !choose_output(&files[i], options->output, count, error))
            return false;
    }
    return true;
}

static bool work(struct file *files, size_t count, const struct rf_options *options,
                 struct rf_error *error) {
    char *objcopy = find_objcopy(error);
    bool good = objcopy != NULL;
    for (size_t i = 0; i < count && good; i++) {
        /* A copy is made also of what has no calls: whoever names an output wants to find it. */
        if (files[i].facts.functions || options->output)
            good = rename_calls(&files[i], objcopy, error);
        if (good && !options->quiet && !options->json)
            tell(&files[i]);
    }
    free(objcopy);
    return good;
}

static int instrument_files(const struct rf_options *options) {
    struct rf_error error = {0};
    size_t count = 0;
    while (options->files[count])
        count++;
    struct file *files = rf_allocate(count, sizeof *files);
    int code = RF_EXIT_OK;
    if (!prepare(files, count, options, &error) || !work(files, count, options, &error))
        code = rf_report_error(&error);
    else if (options->json && !options->quiet)
        tell_json(files, count);
    for (size_t i = 0; i < count; i++)
        free(files[i].output);
    free(files);
    return code;
}

static int print_libs(void) {
    struct rf_error error = {0};
    char *words[] = {rf_find_linked_adapter(), "-pthread", NULL};
    if (!words[0]) {
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "instrument: librefrain-mcapi.a is not where Refrain is installed");
        return rf_report_error(&error);
    }
    char *text = rf_command_text(words);
    puts(text);
    free(text);
    free(words[0]);
    return RF_EXIT_OK;
}

int rf_verb_instrument(const struct rf_options *options) {
    if (options->libs)
        return print_libs();
    return options->command ? rf_compile(options) : instrument_files(options);
}
