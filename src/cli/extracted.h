/* What `extract` keeps of a rank: the contents of all that it got from MPI (rank-R.contents, with a
   tail that is not compressed yet), and how its process was started (rank-R.start). */
#ifndef RF_CLI_EXTRACTED_H
#define RF_CLI_EXTRACTED_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/error.h"

/* Bytes of a rank's contents; 0 when it was not extracted. */
uint64_t rf_extracted_bytes(const char *directory, int rank);
/* Reads the contents to their end; false and an error if they are damaged, cut off or incomplete.
 */
bool rf_extracted_whole(const char *directory, int rank, struct rf_error *error);
/* The same for rank-R.KIND; `incomplete` when all that is wrong is that there was no room for more.
 */
bool rf_kept_whole(const char *directory, int rank, const char *kind, bool *incomplete,
                   struct rf_error *error);

/* Before an extraction: what is there stays until something better is. */
void rf_extracted_set_aside(const char *directory, int rank);
/* After a good one: the new contents take the old ones' place. False when the rank left none. */
bool rf_extracted_accept(const char *directory, int rank);
/* After a bad one: all is as it was before. */
void rf_extracted_reject(const char *directory, int rank);

#endif
