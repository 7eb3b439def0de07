#include "detect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_facts.h"
#include "text.h"

bool rf_mpi_option(const char *name, struct rf_error *error) {
    static const char *const names[] = {"openmpi", "mpich", "mcapi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!name || strcmp(name, names[i]) == 0)
            return true;
    rf_fail(error, RF_EXIT_USAGE, "--mpi %s: unknown MPI, openmpi, mpich and mcapi are known",
            name);
    return rf_hint(error, "refrain doctor");
}

const char *rf_mpi_package(const char *mpi) {
    return mpi && strcmp(mpi, "mpich") == 0 ? "mpich" : "openmpi-bin";
}

bool rf_is_mpi(const char *name) {
    return !name || (strcmp(name, "mcapi") != 0 && strcmp(name, RF_NO_MESSAGES) != 0);
}

const char *rf_mpi_title(const char *mpi) {
    if (!mpi)
        return "an unknown MPI";
    return strcmp(mpi, "openmpi") == 0        ? "Open MPI"
           : strcmp(mpi, "mpich") == 0        ? "MPICH"
           : strcmp(mpi, "mcapi") == 0        ? "MCAPI"
           : strcmp(mpi, RF_NO_MESSAGES) == 0 ? "threads only"
                                              : mpi;
}

const char *rf_begin_of(const char *mpi) {
    return rf_is_mpi(mpi) ? "rank called MPI_Init"
           : strcmp(mpi, RF_NO_MESSAGES) == 0
               ? "process created a thread, or asked for a value that is kept"
               : "node called mcapi_initialize";
}

static bool is_executable(const char *path) {
    struct stat facts;
    return access(path, X_OK) == 0 && stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static const char *why_not(const char *word) {
    struct stat facts;
    bool directory = stat(word, &facts) == 0 && S_ISDIR(facts.st_mode);
    if (strcmp(word, ".") == 0 || strcmp(word, "..") == 0)
        return "it is a directory";
    if (!strchr(word, '/'))
        return directory ? "not found in PATH, and here it is a directory" : "not found in PATH";
    return access(word, X_OK) != 0 ? strerror(errno) : "not a file";
}

char *rf_find_executable(const char *word) {
    if (strchr(word, '/'))
        return is_executable(word) ? rf_copy(word) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *word;) {
        size_t length = strcspn(at, ":");
        char *candidate = rf_text("%.*s/%s", length ? (int)length : 1, length ? at : ".", word);
        if (is_executable(candidate))
            return candidate;
        free(candidate);
        if (!at[length])
            break;
        at += length + 1;
    }
    return NULL;
}

bool rf_version_text(const char *path, char *text, unsigned size) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execl(path, path, "--version", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    unsigned length = 0;
    /* Something that is not a launcher may not end by itself: five seconds, then it is ended. */
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    while (child > 0 && length + 1 < size && poll(&wait, 1, 5000) > 0) {
        ssize_t got = read(ends[0], text + length, size - 1 - length);
        if (got <= 0)
            break;
        length += (unsigned)got;
    }
    text[length] = 0;
    close(ends[0]);
    int status = -1;
    if (child > 0) {
        if (length + 1 >= size || length == 0)
            kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    return child > 0 && length > 0;
}

static bool one_of(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

enum rf_launcher rf_launcher_of(const char *path, const char **how) {
    static const char *const openmpi[] = {"orterun",        "prterun",         "ompirun",
                                          "mpirun.openmpi", "mpiexec.openmpi", "oshrun"};
    static const char *const hydra[] = {"mpiexec.hydra", "hydra", "mpirun.mpich", "mpiexec.mpich",
                                        "mpirun.hydra"};
    static const char *const common[] = {"mpirun", "mpiexec"};
    char *real = realpath(path, NULL);
    const char *names[] = {rf_base_name(path), real ? rf_base_name(real) : ""};
    enum rf_launcher found = RF_LAUNCHER_NONE;
    bool ask = false;
    *how = "its name";
    for (size_t i = 0; i < 2 && !found; i++) {
        if (one_of(names[i], openmpi, sizeof openmpi / sizeof openmpi[0]))
            found = RF_LAUNCHER_OPENMPI;
        else if (one_of(names[i], hydra, sizeof hydra / sizeof hydra[0]))
            found = RF_LAUNCHER_HYDRA;
        ask = ask || one_of(names[i], common, 2);
    }
    free(real);
    char text[4096];
    if (!found && ask && rf_version_text(path, text, sizeof text)) {
        *how = "its --version";
        if (strstr(text, "Open MPI") || strstr(text, "OpenRTE") || strstr(text, "PRRTE"))
            found = RF_LAUNCHER_OPENMPI;
        else if (strstr(text, "HYDRA") || strstr(text, "MPICH") || strstr(text, "Intel(R) MPI"))
            found = RF_LAUNCHER_HYDRA;
    }
    return found;
}

static const char *mpi_of(enum rf_launcher launcher) {
    return launcher == RF_LAUNCHER_OPENMPI ? "openmpi"
           : launcher == RF_LAUNCHER_HYDRA ? "mpich"
                                           : NULL;
}

/* Words whose next file name is a script, executable or not. */
static bool is_interpreter(const char *word) {
    static const char *const names[] = {"python", "python3", "perl", "bash", "sh", "ruby"};
    return one_of(rf_base_name(word), names, sizeof names / sizeof names[0]) ||
           rf_starts_with(rf_base_name(word), "python3.");
}

/* Words that run another program: their own name is not what the user would call the run. */
static bool is_runner(const char *word) {
    static const char *const runners[] = {"srun",    "aprun", "jsrun",   "flux",    "env",
                                          "time",    "nice",  "timeout", "numactl", "xterm",
                                          "taskset", "gdb",   "valgrind"};
    const char *name = rf_base_name(word);
    return one_of(name, runners, sizeof runners / sizeof runners[0]) || is_interpreter(word) ||
           rf_starts_with(name, "mpirun") || rf_starts_with(name, "mpiexec") ||
           strcmp(name, "orterun") == 0 || strcmp(name, "prterun") == 0;
}

/* A file name made of harmless characters only. */
static char *tidy(const char *word) {
    char *name = rf_copy(rf_base_name(word));
    for (char *at = name; *at; at++)
        if (*at <= ' ' || strchr("\"'\\$`&|;<>*?()[]{}~#!", *at))
            *at = '_';
    if (name[0] == '.' || name[0] == '-')
        name[0] = '_';
    return name;
}

static char *scriptless(const char *word) {
    char *name = tidy(word);
    char *dot = strrchr(name, '.');
    if (dot && dot != name &&
        (strcmp(dot, ".py") == 0 || strcmp(dot, ".pl") == 0 || strcmp(dot, ".sh") == 0 ||
         strcmp(dot, ".rb") == 0))
        *dot = 0;
    return name;
}

/* The evidence found in the words of the command. */
struct evidence {
    const char *program_word; /* what the run is called after */
    const char *linked_word;  /* the word that is linked with an MPI */
    const char *linked_mpi;
    char linked_library[64];
    const char *static_word;
    const char *embedded_word;    /* has MPI's functions in itself */
    bool tsan, elf, instrumented; /* of the program */
    bool openmp_unseen;
    bool embeds_mcapi; /* the static or embedded word has MCAPI's */
    bool calls_mcapi;  /* the program does, in a library of any name */
};

static void look_at(const char *word, bool script, struct evidence *evidence) {
    /* Arguments such as "8" or "node1" are only the program when they lead to an executable. */
    char *path = rf_find_executable(word);
    struct stat facts;
    if (!path && script && stat(word, &facts) == 0 && S_ISREG(facts.st_mode)) {
        evidence->program_word = word;
        return;
    }
    if (!path)
        return;
    struct rf_elf_facts elf;
    bool runner = is_runner(word);
    if (rf_elf_facts(path, &elf)) {
        if (elf.mpi && !evidence->linked_mpi) {
            evidence->linked_mpi = elf.mpi;
            evidence->linked_word = word;
            snprintf(evidence->linked_library, sizeof evidence->linked_library, "%s", elf.library);
            evidence->program_word = word;
        }
        if (!runner && !elf.dynamic && !elf.instrumented && !evidence->static_word)
            evidence->static_word = word;
        if (!elf.mpi && (elf.embeds_mpi || elf.embeds_mcapi) && !evidence->embedded_word) {
            evidence->embedded_word = word;
            evidence->embeds_mcapi = elf.embeds_mcapi;
        }
    }
    if (!runner && !evidence->program_word)
        evidence->program_word = word;
    if (evidence->program_word == word) {
        evidence->elf = rf_elf_facts(path, &elf);
        evidence->tsan = evidence->elf && elf.tsan;
        evidence->instrumented = evidence->elf && elf.instrumented;
        evidence->calls_mcapi = evidence->elf && elf.calls_mcapi;
        evidence->openmp_unseen =
            evidence->elf && (elf.other_openmp || (elf.openmp && elf.embeds_tsan));
    }
    free(path);
}

static bool hint_to_record(const char *option, char *const *command, struct rf_error *error) {
    char *text = rf_command_text(command);
    rf_hint(error, "refrain record%s%s -- %s", *option ? " " : "", option, text);
    free(text);
    return false;
}

static bool conclude(char *const *command, const char *launcher_mpi, const char *how,
                     const struct evidence *seen, bool threads, struct rf_detected *detected,
                     struct rf_error *error) {
    if (launcher_mpi && seen->linked_mpi && strcmp(launcher_mpi, seen->linked_mpi) != 0) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s is linked with %s (%s), but %s belongs to %s: they cannot run together",
                seen->linked_word, rf_mpi_title(seen->linked_mpi), seen->linked_library, command[0],
                rf_mpi_title(launcher_mpi));
        return rf_hint(error, "refrain doctor");
    }
    if (seen->linked_mpi) {
        detected->mpi = seen->linked_mpi;
        snprintf(detected->because, sizeof detected->because, "%s is linked with %s",
                 seen->linked_word, seen->linked_library);
        return true;
    }
    if (launcher_mpi) {
        detected->mpi = launcher_mpi;
        snprintf(detected->because, sizeof detected->because, "%s is %s's launcher by %s",
                 command[0], rf_mpi_title(launcher_mpi), how);
        return true;
    }
    if (seen->calls_mcapi) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s calls MCAPI, but not in Refrain's library: another one must have the same "
                "binary interface",
                seen->program_word);
        return hint_to_record("-m mcapi", command, error);
    }
    if (threads) {
        detected->mpi = RF_NO_MESSAGES;
        snprintf(detected->because, sizeof detected->because, "the command names no MPI");
        return true;
    }
    char *path = rf_find_executable("mpirun");
    const char *common = path ? mpi_of(rf_launcher_of(path, &how)) : NULL;
    free(path);
    if (common) {
        detected->mpi = common;
        snprintf(detected->because, sizeof detected->because,
                 "the command names no MPI; the mpirun in PATH is %s's by %s", rf_mpi_title(common),
                 how);
        return true;
    }
    rf_fail(error, RF_EXIT_ENVIRONMENT,
            "%s: no MPI found: neither the command nor an mpirun in PATH shows which one it uses, "
            "and -m does not say; without messages, its threads can be recorded",
            command[0]);
    return hint_to_record("--threads", command, error);
}

/* A file that cannot be run may be made so, or lie here but not in PATH. */
static bool cannot_run(char *const *command, struct rf_error *error) {
    const char *word = command[0];
    struct stat facts;
    rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot run %s: %s", word, why_not(word));
    if (strcmp(word, "mpirun") == 0 || strcmp(word, "mpiexec") == 0)
        return rf_hint(error, "apt install %s", rf_mpi_package(NULL));
    char *here = strchr(word, '/') ? rf_copy(word) : rf_text("./%s", word);
    char *named = rf_named(here);
    if (is_executable(here)) {
        size_t count = 0;
        while (command[count])
            count++;
        char **other = rf_allocate(count + 1, sizeof *other);
        memcpy(other, command, count * sizeof *other);
        other[0] = here;
        hint_to_record("", other, error);
        free(other);
    } else if (stat(here, &facts) == 0 && S_ISREG(facts.st_mode)) {
        rf_hint(error, "chmod +x%s", named);
    }
    free(named);
    free(here);
    return false;
}

/* What helps where nothing can be preloaded. */
static bool hint_at_linking(const char *word, bool mcapi, struct rf_error *error) {
    return mcapi ? rf_hint(error, "refrain instrument --help") : rf_hint(error, "ldd %s", word);
}

bool rf_detect(char *const *command, const char *wanted, bool threads, struct rf_detected *detected,
               struct rf_error *error) {
    *detected = (struct rf_detected){0};
    bool recorded = threads && wanted && strcmp(wanted, RF_NO_MESSAGES) == 0;
    if (!recorded && !rf_mpi_option(wanted, error))
        return false;
    char *first = rf_find_executable(command[0]);
    if (!first)
        return cannot_run(command, error);
    const char *how = "";
    detected->launcher = rf_launcher_of(first, &how);
    free(first);

    struct evidence seen = {0};
    bool script = false;
    /* Everything after the program is its arguments. */
    for (size_t i = 0; command[i] && !seen.program_word; i++) {
        look_at(command[i], script, &seen);
        script = script || is_interpreter(command[i]);
    }
    detected->program =
        seen.program_word ? scriptless(seen.program_word) : tidy(rf_base_name(command[0]));

    detected->tsan = seen.tsan;
    detected->instrumented = seen.instrumented;
    detected->openmp_unseen = seen.openmp_unseen;
    detected->script = script || !seen.elf;
    if (seen.static_word) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s is statically linked: nothing can be loaded into it", seen.static_word);
        return hint_at_linking(seen.static_word, seen.embeds_mcapi, error);
    }
    if (seen.embedded_word) {
        rf_fail(error, RF_EXIT_ENVIRONMENT,
                "%s contains the %s library (static linking): its calls cannot be intercepted",
                seen.embedded_word, seen.embeds_mcapi ? "MCAPI" : "MPI");
        return hint_at_linking(seen.embedded_word, seen.embeds_mcapi, error);
    }
    if (wanted) {
        detected->mpi = wanted;
        snprintf(detected->because, sizeof detected->because, "-m said so");
        return true;
    }
    return conclude(command, mpi_of(detected->launcher), how, &seen, threads, detected, error);
}

size_t rf_find_program(char *const *command, size_t from) {
    struct evidence seen = {0};
    size_t interpreter = SIZE_MAX;
    size_t at = from;
    for (; command[at] && strcmp(command[at], ":") != 0; at++) {
        look_at(command[at], interpreter != SIZE_MAX, &seen);
        if (seen.program_word)
            break;
        if (interpreter == SIZE_MAX && is_interpreter(command[at]))
            interpreter = at;
    }
    return interpreter != SIZE_MAX ? interpreter : seen.program_word ? at : from;
}

void rf_detected_free(struct rf_detected *detected) {
    free(detected->program);
}
