#include "race_detect.h"

#include <stdlib.h>
#include <string.h>

#include "install.h"
#include "text.h"
#include "threads/race_tools.h"

static bool has_order_of_threads(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].threads.exists)
            return true;
    return false;
}

void rf_race_detection_find(struct rf_race_detection *detection) {
    *detection = (struct rf_race_detection){.valgrind = rf_find_executable("valgrind")};
}

bool rf_race_detection_choose(struct rf_race_detection *detection, const struct rf_rerun *rerun,
                              const struct rf_detected *detected, struct rf_error *error) {
    detection->script = detected->script;
    detection->openmp_unseen = detected->openmp_unseen;
    if (strcmp(detected->mpi, "mcapi") == 0)
        return rf_fail(error, RF_EXIT_USAGE, "--race-detect: is not for programs that use MCAPI") ||
               rf_hint(error, "refrain replay%s", rerun->named);
    if (!has_order_of_threads(&rerun->summary)) {
        rf_fail(error, RF_EXIT_USAGE,
                "--race-detect: %s has no order of threads: the program created none, or it was "
                "recorded without --threads",
                rerun->shown);
        char *command = rf_command_text(rerun->replayed.command);
        rf_hint(error, "refrain record --threads %s", command);
        free(command);
        return false;
    }
    if (detected->tsan) {
        detection->tool = RF_RACES_TSAN;
        free(detection->valgrind);
        detection->valgrind = NULL;
        return true;
    }
    detection->tool = RF_RACES_HELGRIND;
    if (!RF_RACES_WITH_HELGRIND)
        return rf_fail(error, RF_EXIT_ENVIRONMENT,
                       "--race-detect: this Refrain was built without valgrind's headers, and %s "
                       "without -fsanitize=thread",
                       detected->program);
    if (detection->valgrind)
        return true;
    rf_fail(error, RF_EXIT_ENVIRONMENT,
            "--race-detect: valgrind: not found, and %s was built without -fsanitize=thread",
            detected->program);
    return rf_hint(error, "apt-get install valgrind");
}

/* In the names of valgrind's files a percent sign begins something else. */
static char *file_option(const char *option, const char *run, const char *name) {
    char *path = rf_allocate(2 * strlen(run) + 1, 1), *to = path;
    for (const char *from = run; *from; from++) {
        if (*from == '%')
            *to++ = '%';
        *to++ = *from;
    }
    char *text = rf_text("%s=%s/%s%%p", option, path, name);
    free(path);
    return text;
}

static char **helgrind_words(const char *valgrind, const char *run, bool traces_children) {
    char **words = rf_allocate(16, sizeof *words);
    size_t count = 0;
    words[count++] = rf_copy(valgrind);
    words[count++] = rf_copy("--tool=helgrind");
    /* Who only waits must not keep those from running that are waited for. */
    words[count++] = rf_copy("--fair-sched=try");
    words[count++] = rf_copy("--track-lockorders=no");
    words[count++] = rf_copy("--history-level=full");
    words[count++] = rf_copy("--error-limit=no");
    words[count++] = rf_copy("--child-silent-after-fork=yes");
    words[count++] = rf_text("--trace-children=%s", traces_children ? "yes" : "no");
    words[count++] = rf_copy("--xml=yes");
    words[count++] = file_option("--xml-file", run, RF_RACES_HELGRIND_FILE);
    words[count++] = file_option("--log-file", run, "valgrind.");
    char *suppressions = rf_find_suppressions();
    if (suppressions)
        words[count] = rf_text("--suppressions=%s", suppressions);
    free(suppressions);
    return words;
}

void rf_race_detection_apply(struct rf_race_detection *detection, struct rf_launch *launch) {
    launch->races = detection->tool;
    if (detection->valgrind) {
        detection->wrapper = helgrind_words(detection->valgrind, launch->run, detection->script);
        launch->wrapper = detection->wrapper;
    } else {
        /* The reports are read, not shown. */
        detection->options = rf_text("log_path='%s/tsan':history_size=7", launch->run);
        launch->tsan_options = detection->options;
    }
}

void rf_race_detection_read(const struct rf_race_detection *detection, const char *run,
                            const struct rf_summary *summary, struct rf_races *races) {
    *races = (struct rf_races){.tool = detection->tool, .openmp_unseen = detection->openmp_unseen};
    rf_races_read(races, run, summary);
}

void rf_race_detection_free(struct rf_race_detection *detection) {
    rf_free_words(detection->wrapper);
    free(detection->options);
    free(detection->valgrind);
}

char *rf_tsan_suppressions(const struct rf_detected *detected) {
    const char *others = getenv("TSAN_OPTIONS");
    /* It takes only one file of them. */
    char *path = detected->tsan && !(others && strstr(others, "suppressions="))
                     ? rf_find_tsan_suppressions()
                     : NULL;
    char *options = path ? rf_text("suppressions='%s':print_suppressions=0", path) : NULL;
    free(path);
    return options;
}
