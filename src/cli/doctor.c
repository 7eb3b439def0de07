/* refrain doctor: will it work here? */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "detect.h"
#include "install.h"
#include "launch.h"
#include "location.h"
#include "messages.h"
#include "options.h"
#include "processes.h"
#include "text.h"
#include "utf8.h"

enum verdict { GOOD, DOUBTFUL, BAD };

struct finding {
    const char *topic;
    enum verdict verdict;
    char *text;
};

struct findings {
    struct finding *list;
    size_t count;
};

static void find(struct findings *findings, const char *topic, enum verdict verdict, char *text) {
    findings->list = rf_grow(findings->list, findings->count, sizeof *findings->list);
    findings->list[findings->count++] = (struct finding){topic, verdict, text};
}

int rf_doctor_probe(char **words) {
    const char *directory = getenv("REFRAIN_TRACE");
    if (!words[0] || !directory)
        return RF_EXIT_USAGE;
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bool loaded = false;
    while (maps && getline(&line, &room, maps) > 0)
        loaded = loaded || strstr(line, words[0]);
    free(line);
    if (maps)
        fclose(maps);
    if (!loaded)
        return RF_EXIT_ENVIRONMENT;
    char *mark = rf_text("%s/mark-XXXXXX", directory);
    int file = mkstemp(mark);
    free(mark);
    if (file >= 0)
        close(file);
    return file >= 0 ? RF_EXIT_OK : RF_EXIT_ENVIRONMENT;
}

/* Counts and removes the marks; `said` gets the first line of the launcher's output. */
static int collect(const char *directory, char said[160]) {
    int marks = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        marks += rf_starts_with(entry->d_name, "mark-");
        if (strcmp(entry->d_name, "output") == 0) {
            int file = openat(dirfd(entries), "output", O_RDONLY | O_CLOEXEC);
            FILE *stream = file >= 0 ? fdopen(file, "r") : NULL;
            said[0] = 0;
            /* Launchers draw lines around what they have to say. */
            while (stream && fgets(said, 160, stream) && strspn(said, "-=*# \n") == strlen(said))
                said[0] = 0;
            said[strcspn(said, "\n")] = 0;
            if (stream)
                fclose(stream);
        }
        unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries)
        closedir(entries);
    rmdir(directory);
    return marks;
}

/* Runs ourselves twice under the launcher, as a recording would; or once, without any. */
static int run_probe(const char *launcher_path, enum rf_launcher launcher, const char *adapter,
                     char said[160]) {
    char directory[] = "/tmp/refrain-doctor-XXXXXX";
    if (!mkdtemp(directory))
        return -1;
    char *self = rf_find_self(), *output = rf_text("%s/output", directory);
    char *openmpi[] = {
        (char *)launcher_path, (char *)"--oversubscribe",     (char *)"-n", (char *)"2", self,
        (char *)"--probe",     (char *)rf_base_name(adapter), NULL};
    char *hydra[] = {
        (char *)launcher_path,         (char *)"-n", (char *)"2", self, (char *)"--probe",
        (char *)rf_base_name(adapter), NULL};
    char *none[] = {self, (char *)"--probe", (char *)rf_base_name(adapter), NULL};
    struct rf_launch launch = {.command = launcher == RF_LAUNCHER_OPENMPI ? openmpi
                                          : launcher == RF_LAUNCHER_HYDRA ? hydra
                                                                          : none,
                               .launcher = launcher,
                               .adapter = adapter,
                               .mode = "probe",
                               .trace = directory,
                               .scheme = "order"};
    struct rf_error error = {0};
    /* The launcher's talk goes into a file: only its first line is of interest, and only on
       failure. */
    fflush(NULL);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    pid_t child = rf_launch(&launch, &error);
    if (child > 0)
        rf_launch_wait(child);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(file);
    free(output);
    free(self);
    return collect(directory, said);
}

/* The launcher of an MPI: by its own name, or the common mpirun if that is one. */
static char *find_launcher(const char *mpi, enum rf_launcher kind) {
    const char *const openmpi[] = {"mpirun", "mpirun.openmpi", "orterun", "prterun", NULL};
    const char *const mpich[] = {"mpirun", "mpirun.mpich", "mpiexec.hydra", NULL};
    const char *const *names = strcmp(mpi, "openmpi") == 0 ? openmpi : mpich;
    const char *how;
    for (size_t i = 0; names[i]; i++) {
        char *path = rf_find_executable(names[i]);
        if (path && rf_launcher_of(path, &how) == kind)
            return path;
        free(path);
    }
    return NULL;
}

/* The line of `LAUNCHER --version` with a number in it. */
static char *version_line(const char *path) {
    char text[2048];
    if (!rf_version_text(path, text, sizeof text))
        return rf_copy("of unknown version");
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (line[strcspn(line, "0123456789")]) {
            line += strspn(line, " \t");
            if (rf_starts_with(line, "Version:"))
                line += strlen("Version:");
            return rf_text("%s", line + strspn(line, " \t"));
        }
    return rf_copy("of unknown version");
}

static bool examine_mpi(struct findings *findings, const char *mpi, enum rf_launcher kind) {
    char *path = find_launcher(mpi, kind);
    const char *title = rf_mpi_title(mpi);
    if (!path) {
        find(findings, title, DOUBTFUL, rf_copy("no launcher in PATH"));
        return false;
    }
    char *version = version_line(path);
    find(findings, title, GOOD, rf_text("%s (%s)", path, version));
    free(version);
    char *adapter = rf_find_adapter(mpi);
    bool works = false;
    if (!adapter) {
        find(findings, "adapter", BAD, rf_text("librefrain-%s.so was not found", mpi));
    } else {
        char said[160] = "";
        int marks = run_probe(path, kind, adapter, said);
        works = marks == 2;
        find(findings, "adapter", GOOD, rf_copy(adapter));
        if (works)
            find(findings, "preload", GOOD, rf_copy("reaches the ranks (2 of 2)"));
        else
            find(findings, "preload", BAD,
                 rf_text("reached %d of 2 ranks%s%s", marks < 0 ? 0 : marks, *said ? ": " : "",
                         said));
    }
    free(adapter);
    free(path);
    return works;
}

static void examine_disk(struct findings *findings) {
    const char *folder = rf_traces_folder();
    const char *place = access(folder, F_OK) == 0 ? folder : ".";
    struct statvfs facts;
    char size[RF_SIZE_TEXT];
    if (access(place, W_OK) != 0) {
        find(findings, "disk", BAD, rf_text("%s: %s", place, strerror(errno)));
    } else if (statvfs(place, &facts) == 0) {
        uint64_t room = (uint64_t)facts.f_bavail * facts.f_frsize;
        find(findings, "disk", room < 100000000 ? DOUBTFUL : GOOD,
             rf_text("%s free for traces in %s", rf_size_text(room, size), folder));
    }
}

static void examine_debugging(struct findings *findings) {
    char *gdb = rf_find_executable("gdb");
    find(findings, "gdb", gdb ? GOOD : DOUBTFUL, gdb ? gdb : rf_copy("not found in PATH"));
    char *tmux = rf_find_executable("tmux");
    find(findings, "tmux", tmux ? GOOD : DOUBTFUL,
         tmux ? tmux : rf_copy("not found in PATH: debug --all shows all ranks in it"));
    char *valgrind = rf_find_executable("valgrind");
    find(findings, "valgrind", valgrind ? GOOD : DOUBTFUL,
         valgrind ? valgrind : rf_copy("not found in PATH: replay --race-detect needs it"));
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0)
        find(findings, "core", limit.rlim_cur ? GOOD : DOUBTFUL,
             rf_copy(limit.rlim_cur ? "core files are written"
                                    : "core files are switched off (ulimit -c)"));
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = 0;
    if (file && fscanf(file, "%d", &scope) != 1)
        scope = 0;
    if (file)
        fclose(file);
    bool may = rf_may_trace();
    find(findings, "ptrace", !may || (scope > 1 && geteuid() != 0) ? DOUBTFUL : GOOD,
         rf_text("%s", !may         ? "forbidden: gdb cannot start programs; a container must "
                                      "allow it (docker run --cap-add SYS_PTRACE)"
                       : scope == 0 ? "unrestricted"
                       : scope == 1 ? "a debugger can start ranks, not attach to others"
                                    : "restricted to the administrator"));
}

static void print_text(const struct findings *findings) {
    struct rf_colours colours = rf_colours_of(STDOUT_FILENO);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->list[i];
        const char *words[] = {"ok", "note", "FAIL"};
        const char *colour[] = {colours.good, colours.dim, colours.bad};
        printf("%s%-4s%s  %-9s ", colour[finding->verdict], words[finding->verdict], colours.off,
               finding->topic);
        rf_print_plain(finding->text, stdout);
        putchar('\n');
    }
}

static void print_json(const struct findings *findings, bool works) {
    static const char *const words[] = {"ok", "note", "fail"};
    json_t *list = json_array();
    for (size_t i = 0; i < findings->count; i++)
        json_array_append_new(list, json_pack("{s:s,s:s,s:o}", "topic", findings->list[i].topic,
                                              "verdict", words[findings->list[i].verdict], "text",
                                              rf_utf8_json(findings->list[i].text)));
    json_t *object = json_pack("{s:b,s:o}", "works", works, "findings", list);
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

/* Programs that use MCAPI, or only threads, need no launcher. */
static bool examine_alone(struct findings *findings, const char *topic, const char *name) {
    char said[160] = "";
    char *adapter = rf_find_adapter(name);
    bool works = adapter && run_probe(NULL, RF_LAUNCHER_NONE, adapter, said) == 1;
    find(findings, topic, works ? GOOD : BAD,
         !adapter ? rf_text("librefrain-%s.so was not found", name)
         : works  ? rf_copy("the preload reaches programs")
                  : rf_text("the preload does not reach programs: %s", said));
    free(adapter);
    return works;
}

/* A program that is linked with no MPI has only threads to be recorded. What a script loads, nobody
   knows before it runs: it is taken for one of the MPI that is here, if there is one. */
static bool detect(const struct rf_options *options, struct rf_detected *detected,
                   struct rf_error *error) {
    if (!rf_detect(options->command, options->mpi, true, detected, error))
        return false;
    if (rf_is_mpi(detected->mpi) || strcmp(detected->mpi, "mcapi") == 0 || !detected->script)
        return true;
    struct rf_detected script;
    struct rf_error ignored = {0};
    if (rf_detect(options->command, NULL, false, &script, &ignored)) {
        rf_detected_free(detected);
        *detected = script;
    } else {
        rf_detected_free(&script);
    }
    return true;
}

static void describe_command(struct findings *findings, const struct rf_detected *detected) {
    find(findings, "command", GOOD,
         strcmp(detected->mpi, RF_NO_MESSAGES) == 0
             ? rf_text("%s: refrain record --threads keeps the order of its threads",
                       detected->because)
             : rf_text("uses %s: %s", rf_mpi_title(detected->mpi), detected->because));
}

static bool any_bad(const struct findings *findings) {
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].verdict == BAD)
            return true;
    return false;
}

static void explain(const struct findings *findings, const char *only, struct rf_error *error) {
    if (any_bad(findings)) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "recording will not work here: see FAIL above");
        return;
    }
    rf_fail(error, RF_EXIT_ENVIRONMENT,
            "no program that uses %s can be recorded here: its launcher is not found in PATH",
            only ? rf_mpi_title(only) : "MPI");
    rf_hint(error, "apt install %s", rf_mpi_package(only));
}

int rf_verb_doctor(const struct rf_options *options) {
    struct findings findings = {0};
    struct rf_error error = {0};
    struct rf_detected detected = {0};
    if (!rf_mpi_option(options->mpi, &error))
        return rf_report_error(&error);
    bool known = !options->command || detect(options, &detected, &error);
    if (options->command && known)
        describe_command(&findings, &detected);
    else if (options->command)
        find(&findings, "command", BAD, rf_copy(error.text));
    const char *only = options->mpi ? options->mpi : detected.mpi;
    bool works = false;
    if (!only || strcmp(only, "openmpi") == 0)
        works = examine_mpi(&findings, "openmpi", RF_LAUNCHER_OPENMPI) || works;
    if (!only || strcmp(only, "mpich") == 0)
        works = examine_mpi(&findings, "mpich", RF_LAUNCHER_HYDRA) || works;
    bool mcapi =
        (!only || strcmp(only, "mcapi") == 0) && examine_alone(&findings, "MCAPI", "mcapi");
    bool threads = examine_alone(&findings, "threads", RF_NO_MESSAGES);
    /* Who names nothing has MPI in mind. */
    works = works ||
            (only && !rf_is_mpi(only) && (strcmp(only, RF_NO_MESSAGES) == 0 ? threads : mcapi));
    works = works && known;
    examine_disk(&findings);
    examine_debugging(&findings);
    for (size_t i = 0; i < findings.count; i++)
        works = works &&
                !(findings.list[i].verdict == BAD && strcmp(findings.list[i].topic, "disk") == 0);
    if (options->json)
        print_json(&findings, works);
    else
        print_text(&findings);
    int code = RF_EXIT_OK;
    if (!works) {
        if (known)
            explain(&findings, only, &error);
        code = rf_report_error(&error);
    }
    for (size_t i = 0; i < findings.count; i++)
        free(findings.list[i].text);
    free(findings.list);
    rf_detected_free(&detected);
    return code;
}
