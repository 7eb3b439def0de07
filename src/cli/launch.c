#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages.h"
#include "padding.h"
#include "run_directory.h"
#include "text.h"
#include "threads/race_tools.h"

enum { VARIABLES_MOST = 20 };

struct variable {
    const char *name;
    char *value;
};

/* The C library fills fresh memory with the complement of the byte, but not what a thread's cache
   of freed memory gives out. */
static char *fill_tunables(void) {
    static const char ours[] = "glibc.malloc.perturb=90:glibc.malloc.tcache_count=0";
    const char *others = getenv("GLIBC_TUNABLES");
    return others && *others ? rf_text("%s:%s", others, ours) : rf_copy(ours);
}

/* What the user wants of ThreadSanitizer stays, as far as it does not speak of the same. */
static char *tsan_options(const struct rf_launch *launch) {
    const char *others = getenv("TSAN_OPTIONS");
    return others && *others ? rf_text("%s:%s", others, launch->tsan_options)
                             : rf_copy(launch->tsan_options);
}

/* What the ranks need to find in their environment. `preload`: what is to be preloaded besides. */
static size_t variables(const struct rf_launch *launch, const char *preload,
                        struct variable list[VARIABLES_MOST]) {
    size_t count = 0;
    bool both = preload && *preload;
    /* Ours stand first, except where a script of the user's has put something before them. */
    bool placed = both && strstr(preload, launch->adapter) &&
                  (!launch->threads || strstr(preload, launch->threads));
    list[count++] = (struct variable){
        "LD_PRELOAD", placed ? rf_copy(preload)
                             : rf_text("%s%s%s%s%s", launch->adapter, launch->threads ? ":" : "",
                                       launch->threads ? launch->threads : "", both ? ":" : "",
                                       both ? preload : "")};
    if (launch->order)
        list[count++] = (struct variable){"REFRAIN_THREADS", rf_copy(launch->order)};
    if (launch->values)
        list[count++] = (struct variable){"REFRAIN_VALUES", rf_copy(launch->values)};
    list[count++] = (struct variable){"REFRAIN_MODE", rf_copy(launch->mode)};
    list[count++] = (struct variable){"REFRAIN_TRACE", rf_copy(launch->trace)};
    /* Programs may keep their environment in memory, and interpreters do: if addresses are to be
       the same, a recording has all that a replay has, and vice versa, and as long. */
    if (launch->run || launch->same_addresses)
        list[count++] = (struct variable){"REFRAIN_RUN", launch->run ? rf_copy(launch->run)
                                                                     : rf_run_directory_like()};
    list[count++] = (struct variable){"REFRAIN_SCHEME", rf_copy(launch->scheme)};
    if (launch->check)
        list[count++] = (struct variable){"REFRAIN_CHECK", rf_copy(launch->check)};
    if (launch->fill)
        list[count++] = (struct variable){"GLIBC_TUNABLES", fill_tunables()};
    if (launch->keep)
        list[count++] = (struct variable){"REFRAIN_KEEP", rf_copy(launch->keep)};
    if (launch->cut)
        list[count++] = (struct variable){"REFRAIN_CUT", rf_copy("1")};
    if (launch->rank)
        list[count++] = (struct variable){"REFRAIN_RANK", rf_copy(launch->rank)};
    if (launch->races)
        list[count++] = (struct variable){RF_RACES_VARIABLE, rf_copy(launch->races)};
    if (launch->tsan_options)
        list[count++] = (struct variable){"TSAN_OPTIONS", tsan_options(launch)};
    /* It cannot ask the processor there, and would say so. */
    if (launch->wrapper && !getenv("HWLOC_COMPONENTS"))
        list[count++] = (struct variable){"HWLOC_COMPONENTS", rf_copy("-x86")};
    return count;
}

struct words {
    char **list;
    size_t count;
};

static void add(struct words *words, char *word) {
    words->list = rf_grow(words->list, words->count, sizeof *words->list);
    words->list[words->count++] = word;
}

static void add_variables(struct words *words, enum rf_launcher launcher,
                          const struct variable *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (launcher == RF_LAUNCHER_OPENMPI) {
            add(words, rf_copy("-x"));
            add(words, rf_text("%s=%s", list[i].name, list[i].value));
        } else {
            add(words, rf_copy("-genv"));
            add(words, rf_copy(list[i].name));
            add(words, rf_copy(list[i].value));
        }
    }
}

/* How many words from here on set LD_PRELOAD for the ranks (0: none); `value` is what they set. */
static size_t sets_preload(enum rf_launcher launcher, char *const *words, const char **value) {
    static const char name[] = "LD_PRELOAD";
    if (launcher == RF_LAUNCHER_OPENMPI && strcmp(words[0], "-x") == 0 && words[1] &&
        rf_starts_with(words[1], name)) {
        const char *rest = words[1] + strlen(name);
        *value = *rest == '=' ? rest + 1 : getenv(name);
        return *rest == '=' || *rest == 0 ? 2 : 0;
    }
    if (launcher == RF_LAUNCHER_HYDRA &&
        (strcmp(words[0], "-genv") == 0 || strcmp(words[0], "-env") == 0) && words[1] &&
        strcmp(words[1], name) == 0 && words[2]) {
        *value = words[2];
        return 3;
    }
    return 0;
}

/* Are the ranks' variables passed by options of the launcher? Else through its own environment.
   Open MPI refuses its -x beside this variable, and with a file of programs it ignores it. */
static bool by_options(const struct rf_launch *launch) {
    if (launch->launcher != RF_LAUNCHER_OPENMPI)
        return launch->launcher != RF_LAUNCHER_NONE;
    size_t program = rf_find_program(launch->command, 1); /* 1 if none is found */
    for (size_t i = 1; (i < program || program == 1) && launch->command[i]; i++)
        if (strcmp(launch->command[i], "--app") == 0 || strcmp(launch->command[i], "-app") == 0)
            return false;
    return !getenv("OMPI_MCA_mca_base_env_list");
}

static void add_wrapper(struct words *words, const struct rf_launch *launch) {
    for (size_t i = 0; launch->wrapper[i]; i++)
        add(words, rf_copy(launch->wrapper[i]));
}

char **rf_launch_words(const struct rf_launch *launch) {
    struct words words = {0};
    const char *preload = getenv("LD_PRELOAD");
    /* The user's own preloading goes on working, behind ours. */
    if (launch->launcher != RF_LAUNCHER_NONE)
        for (size_t i = 1; launch->command[i]; i++)
            sets_preload(launch->launcher, launch->command + i, &preload);
    struct variable list[VARIABLES_MOST];
    size_t count = variables(launch, preload, list);

    size_t program = launch->wrapper ? rf_find_program(launch->command, 0) : SIZE_MAX;
    if (program == 0)
        add_wrapper(&words, launch);
    add(&words, rf_copy(launch->command[0]));
    bool options = by_options(launch);
    if (options)
        add_variables(&words, launch->launcher, list, count);
    for (size_t i = 1; launch->command[i];) {
        const char *ignored = NULL;
        size_t skip = sets_preload(launch->launcher, launch->command + i, &ignored);
        if (skip) {
            i += skip;
            continue;
        }
        if (i == program)
            add_wrapper(&words, launch);
        add(&words, rf_copy(launch->command[i]));
        /* Open MPI's -x reaches only the program before the next colon. */
        bool next = launch->launcher != RF_LAUNCHER_NONE && strcmp(launch->command[i], ":") == 0;
        if (next && options && launch->launcher == RF_LAUNCHER_OPENMPI)
            add_variables(&words, launch->launcher, list, count);
        if (next && launch->wrapper)
            program = rf_find_program(launch->command, i + 1);
        i++;
    }
    add(&words, NULL);
    for (size_t i = 0; i < count; i++)
        free(list[i].value);
    return words.list;
}

void rf_free_words(char **words) {
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

void rf_launch_become(const struct rf_launch *launch, char **words) {
    if (launch->directory && chdir(launch->directory) != 0)
        return;
    if (launch->environment)
        environ = launch->environment;
    if (launch->same_addresses)
        rf_fix_addresses();
    if (!by_options(launch)) {
        struct variable list[VARIABLES_MOST];
        size_t count = variables(launch, getenv("LD_PRELOAD"), list);
        for (size_t i = 0; i < count; i++)
            setenv(list[i].name, list[i].value, 1);
        if (launch->same_addresses)
            rf_pad_environment(words);
    }
    if (launch->executable)
        execv(launch->executable, words);
    else
        execvp(words[0], words);
}

pid_t rf_launch(const struct rf_launch *launch, struct rf_error *error) {
    char **words = rf_launch_words(launch);
    if (launch->verbose) {
        char *text = rf_command_text(words);
        rf_say("running: %s", text);
        free(text);
    }
    int report[2] = {-1, -1};
    fflush(NULL);
    pid_t child = pipe2(report, O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) {
        for (int i = 0; i < 3 && launch->streams; i++)
            if (launch->streams[i] >= 0)
                dup2(launch->streams[i], i);
        rf_launch_become(launch, words);
        int cause = errno;
        ssize_t sent = write(report[1], &cause, sizeof cause);
        _exit(sent == sizeof cause ? 127 : 126);
    }
    int cause = errno;
    close(report[1]);
    /* The pipe closes by itself when exec succeeds. */
    if (child > 0 && read(report[0], &cause, sizeof cause) == sizeof cause) {
        waitpid(child, NULL, 0);
        child = -1;
    }
    close(report[0]);
    if (child < 0)
        rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot run %s in %s: %s",
                launch->executable ? launch->executable : words[0],
                launch->directory ? launch->directory : "this directory", strerror(cause));
    rf_free_words(words);
    return child;
}

void rf_fix_addresses(void) {
    int now = personality(0xffffffff);
    if (now != -1)
        personality((unsigned long)now | ADDR_NO_RANDOMIZE);
}

/* Signal handlers have no other way to learn of these. */
static volatile sig_atomic_t guarded_child;
static volatile sig_atomic_t seen_signal;

static void on_signal(int number) {
    seen_signal = number;
    /* The terminal has sent its interrupts to the whole group already. */
    if (number != SIGINT && number != SIGQUIT && guarded_child > 0)
        kill((pid_t)guarded_child, number);
}

void rf_signals_guard(pid_t child) {
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    guarded_child = child;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;
        /* nohup's choice stands. */
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            continue;
        action = (struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], &action, NULL);
    }
}

int rf_signal_seen(void) {
    return seen_signal;
}

int rf_launch_wait(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            break;
    return status;
}
