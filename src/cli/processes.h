/* The processes that descend from us. */
#ifndef RF_CLI_PROCESSES_H
#define RF_CLI_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on, descendants whose parent ended become our children instead of init's. */
void rf_adopt_orphans(void);
/* Ends a child and everything below us: politely, after two seconds firmly. Returns its status. */
int rf_stop_child(pid_t child);
/* Is a process of this host gone (or only waiting to be collected)? */
bool rf_process_gone(pid_t process);

#endif
