/* A file that is kept open in the process of a program. The program has descriptors of its own, and
   may close any: those that it was not given as well. */
#ifndef RF_TRACE_OWN_FILE_H
#define RF_TRACE_OWN_FILE_H

#include <stdbool.h>
#include <sys/types.h>

struct rf_own_file {
    int number; /* or -1 */
    dev_t device;
    ino_t inode;
};

/* Moves a descriptor, or -1, out of the way, so that the program gets the numbers that it gets
   without us, in a recording and in its replays; and remembers what file it is. */
struct rf_own_file rf_own_file(int descriptor);
/* Is its number still that of this file? It may be another one's by now. */
bool rf_own_file_is_open(const struct rf_own_file *file);
/* Opens it again if it is not; false if it is not there any more. */
bool rf_own_file_ensure(struct rf_own_file *file, const char *path, int flags);
void rf_own_file_close(struct rf_own_file *file);

#endif
