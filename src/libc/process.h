/* Numbers of processes and threads. In a replay the program has the recorded ones, and what it asks
   of the system with them must reach those that are here now. */
#ifndef RF_LIBC_PROCESS_H
#define RF_LIBC_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* The real one behind a number that was returned in this replay; any other as it is. */
pid_t rf_real_id(pid_t id);

/* This signal is sent to this process, by its real number, or to its group or to another one.
   Returns the number. */
pid_t rf_killed(pid_t id, int signal);

/* As rf_real_id, for paths of the form /proc/NUMBER/..., which are rewritten into `room`. */
struct rf_path {
    char text[256];
};
const char *rf_real_path(const char *path, struct rf_path *room);

pid_t rf_getpid(uintptr_t address);
pid_t rf_getppid(uintptr_t address);
pid_t rf_gettid(uintptr_t address);

#endif
