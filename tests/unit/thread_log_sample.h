/* A small log of threads, written as the library for threads does, and what is to be read from it.
 */
#ifndef RF_TESTS_THREAD_LOG_SAMPLE_H
#define RF_TESTS_THREAD_LOG_SAMPLE_H

#include "trace/thread_reader.h"

enum { SAMPLE_THREADS = 80, SAMPLE_BLOCKS = 128, SAMPLE_ENTRIES = 256 };

struct sample_thread {
    uint32_t last;   /* its last block; 0: it has not begun */
    size_t used;     /* bytes of that */
    uint64_t logged; /* the operation of the last entry */
    struct rf_thread_log_entry expected[SAMPLE_ENTRIES];
    size_t count;
};

struct sample {
    struct rf_thread_log_head head;
    uint8_t blocks[SAMPLE_BLOCKS][RF_THREAD_LOG_BLOCK]; /* follow the head */
    struct sample_thread thread[SAMPLE_THREADS];
};

/* Nothing but a head with a module and three sites. */
void sample_open(struct sample *sample, int rank);
/* The threads are begun in the order of their numbers. */
void sample_begin(struct sample *sample, uint32_t parent);
struct rf_thread_log_thread *sample_record(struct sample *sample, uint32_t thread);
struct rf_thread_log_block *sample_block(struct sample *sample, uint32_t number);
/* An entry, which is also expected; its operation counts as done. Of an edge, `more` is what is
   written of the count. AGAIN has the site and code of the failure before. */
void sample_add(struct sample *sample, uint32_t thread, struct rf_thread_log_entry entry,
                uint64_t more);
/* Four threads with all types of entries, one of them with several blocks, and a block that nobody
   had time to begin. */
void sample_fill(struct sample *sample);

size_t sample_bytes(const struct sample *sample);

#endif
