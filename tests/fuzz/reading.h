/* What the fuzzers share: files for the reader, checksums that hold, and reading everything. */
#ifndef RF_TESTS_FUZZ_READING_H
#define RF_TESTS_FUZZ_READING_H

#include <stddef.h>
#include <stdint.h>

/* The files of rank 0, in memory. Nothing (NULL): there is no such file. */
void reading_set_trace(const uint8_t *data, size_t bytes);
void reading_set_log(const uint8_t *data, size_t bytes);
void reading_set_threads(const uint8_t *data, size_t bytes);

/* Checksums of the header and of all chunks: the code under test is the one that is shipped, which
   no mutation would get past. */
void reading_repair_trace(uint8_t *data, size_t bytes);

/* Reads all there is, and looks at every byte of it. */
void reading_all(void);
/* The same for the log of threads. */
void reading_all_threads(void);

#endif
