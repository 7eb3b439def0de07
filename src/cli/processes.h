/* The processes that descend from us. */
#ifndef RF_CLI_PROCESSES_H
#define RF_CLI_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on, descendants whose parent ended become our children instead of init's. */
void rf_adopt_orphans(void);
/* Ends a launcher and everything below us; returns its status. It is asked to end, and given the
   time that launchers need to end their ranks and tidy up; then all that is left is killed. */
int rf_stop_launcher(pid_t launcher);
/* Kills everything below us. If the launcher is among it, its status is left in `status`. */
void rf_kill_descendants(pid_t launcher, int *status);
/* How long a process has computed so far, in the kernel's ticks; 0 if that cannot be known. */
uint64_t rf_process_time(pid_t process);
/* Is a debugger allowed to start programs here? Containers may forbid it. */
bool rf_may_trace(void);
/* Is a process of this host gone (or only waiting to be collected)? */
bool rf_process_gone(pid_t process);

#endif
