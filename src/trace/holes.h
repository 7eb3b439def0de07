/* Files behind a mapping have all their space from the beginning; when their process is gone, what
   it did not use is given back. Not before: it may be using more at this moment. */
#ifndef RF_TRACE_HOLES_H
#define RF_TRACE_HOLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* False if a process has it open or mapped for writing; also where the system cannot tell. */
bool rf_nobody_writes(const char *path);
/* Turns pages of zeros into holes, as far as the file system can. */
void rf_dig_holes(const char *path);
uint64_t rf_bytes_on_disk(const struct stat *facts);

#endif
