/* What tells a process from the others of a program before it has a number: the words that it was
   started with, and which child of which child it is since. The same in every run of a program that
   starts its processes in the same order. */
#ifndef RF_THREADS_LINEAGE_H
#define RF_THREADS_LINEAGE_H

#include <stdint.h>

/* From here on forks are counted. */
void rf_lineage_watch(void);
uint64_t rf_lineage(void);
/* The number that this process has in the recording, in a small file of the trace; -1: it has none.
 */
void rf_lineage_write(const char *trace, int rank);
int rf_lineage_read(const char *trace);

#endif
