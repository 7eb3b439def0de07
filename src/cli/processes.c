#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

void rf_adopt_orphans(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Parent and state of a process; false when there is none. */
static bool look(pid_t process, pid_t *parent, char *state) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    /* The name is in brackets and may hold anything, brackets too. */
    const char *after = NULL;
    for (const char *at = line; *at; at++)
        if (*at == ')')
            after = at + 1;
    int found = 0;
    bool good = after && sscanf(after, " %c %d", state, &found) == 2;
    *parent = found;
    return good;
}

bool rf_process_gone(pid_t process) {
    pid_t parent = 0;
    char state = 0;
    return kill(process, 0) != 0 ? errno == ESRCH
                                 : look(process, &parent, &state) && (state == 'Z' || state == 'X');
}

uint64_t rf_process_time(pid_t process) {
    char path[64], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    unsigned long long user = 0, system = 0;
    const char *end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (end)
        sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
    if (file)
        fclose(file);
    return user + system;
}

static bool descends_from_us(pid_t process) {
    char state = 0;
    for (int depth = 0; depth < 64 && process > 1; depth++) {
        pid_t parent = 0;
        if (!look(process, &parent, &state))
            return false;
        if (parent == getpid())
            return true;
        process = parent;
    }
    return false;
}

/* Sends a signal to everything below us; returns how many there were. */
static size_t signal_descendants(int number) {
    size_t count = 0;
    DIR *entries = opendir("/proc");
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process > 0 && !rf_process_gone(process) && descends_from_us(process)) {
            kill(process, number);
            count++;
        }
    }
    if (entries)
        closedir(entries);
    return count;
}

/* Collects what has ended; true when the launcher is among it. */
static bool collect(pid_t launcher, int *status) {
    bool found = false;
    int other;
    for (pid_t ended; (ended = waitpid(-1, &other, WNOHANG)) > 0;)
        if (ended == launcher) {
            *status = other;
            found = true;
        }
    return found;
}

void rf_kill_descendants(pid_t launcher, int *status) {
    const struct timespec pause = {.tv_nsec = 20000000};
    /* A killed parent may leave children anew. */
    for (int i = 0; i < 100 && signal_descendants(SIGKILL); i++) {
        nanosleep(&pause, NULL);
        collect(launcher, status);
    }
    collect(launcher, status);
}

int rf_stop_launcher(pid_t launcher) {
    /* Open MPI itself waits for a second or two before it kills ranks that do not listen. */
    enum { STEP_MS = 20, POLITE_MS = 5000 };
    const struct timespec pause = {.tv_nsec = STEP_MS * 1000000L};
    int status = 0;
    kill(launcher, SIGTERM);
    for (int time = 0; time < POLITE_MS && !collect(launcher, &status); time += STEP_MS)
        nanosleep(&pause, NULL);
    /* What is left did not listen, or lost its parent. */
    rf_kill_descendants(launcher, &status);
    return status;
}

bool rf_may_trace(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}
