#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The 22nd field of /proc/PID/stat. The second one, the name, may hold anything but ends with the
   last parenthesis; the third is the state, Z or X for what is dead but not yet buried. */
uint64_t mc_process_start(uint32_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return 0;
    text[length] = 0;
    const char *at = strrchr(text, ')');
    if (!at || strlen(at) < 3 || at[2] == 'Z' || at[2] == 'X')
        return 0;
    for (int field = 2; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t mc_pid_namespace(void) {
    struct stat facts;
    return stat("/proc/self/ns/pid", &facts) ? 0 : facts.st_ino;
}

bool mc_process_alive(const struct mc_process *process) {
    uint32_t pid = __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE);
    uint64_t start = __atomic_load_n(&process->start, __ATOMIC_ACQUIRE);
    if (!pid)
        return false;
    if (kill((pid_t)pid, 0) && errno == ESRCH)
        return false;
    uint64_t seen = mc_process_start(pid);
    /* Where /proc is not there, the number alone must do. */
    if (!seen && access("/proc/self/stat", R_OK))
        return true;
    return start ? seen == start : seen != 0;
}

uint32_t mc_process_enter(struct mc_segment *segment) {
    uint32_t pid = (uint32_t)getpid();
    for (uint32_t i = 0; i < MC_PROCESSES; i++) {
        struct mc_process *place = &segment->processes[i];
        uint32_t nobody = 0;
        if (!__atomic_compare_exchange_n(&place->pid, &nobody, pid, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&place->start, mc_process_start(pid), __ATOMIC_RELEASE);
        return i;
    }
    return MC_NONE;
}

bool mc_processes_any(const struct mc_segment *segment, uint32_t except) {
    for (uint32_t i = 0; i < MC_PROCESSES; i++)
        if (i != except && mc_process_alive(&segment->processes[i]))
            return true;
    return false;
}
