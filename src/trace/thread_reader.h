/* Reading DIR/rank-R.threads, whole or cut off. */
#ifndef RF_TRACE_THREAD_READER_H
#define RF_TRACE_THREAD_READER_H

#include "error.h"
#include "thread_log.h"

struct rf_thread_log;
struct rf_thread_coding;

/* An entry of a thread, about one of its operations. */
struct rf_thread_log_entry {
    uint64_t operation; /* from 1 */
    enum rf_thread_log_type type;
    uint32_t site;
    uint32_t thread; /* EDGE: not before this one ... */
    uint64_t count;  /* ... has done so many operations. JUMP: by how much */
    int code;        /* FAILURE */
    uint32_t run;
    int64_t value;        /* VALUE; CHECK: the signature */
    const uint8_t *bytes; /* BYTES: `size` of `total`; there until the next entry is read */
    uint32_t size, total;
};

struct rf_thread_log_known {
    uint32_t thread;
    uint64_t count;
};

/* A place in the entries of one thread. */
struct rf_thread_log_cursor {
    const struct rf_thread_log *turns;
    const struct rf_thread_log_thread *record;
    const struct rf_thread_log_block *block; /* sealed: none, but */
    uint64_t chunk, chunks_end;              /* where the next chunk is, and the last one ends */
    const uint8_t *begin, *at, *end;         /* the last entry, and those that follow; not coded */
    struct rf_thread_coding *coding;         /* what decodes, once that was needed, */
    uint32_t coded;                          /* and how many entries are left there */
    uint64_t operation;                      /* of the last entry */
    uint32_t failed_site;
    int failed_code; /* of the last failure; 0: there was none */
    struct rf_thread_log_known known[RF_THREAD_LOG_KNOWN];
};

/* Is there such a file? */
bool rf_thread_log_exist(const char *directory, int rank);
/* NULL if nothing of it can be read. */
struct rf_thread_log *rf_thread_log_open(const char *directory, int rank, struct rf_error *error);
/* False, with the first damage, if something of it cannot be read, be it a thread's beginning, or
   is not what was written. Entries that make no sense are found only by reading them. */
bool rf_thread_log_whole(const struct rf_thread_log *turns, struct rf_error *error);
void rf_thread_log_close(struct rf_thread_log *turns);

const struct rf_thread_log_head *rf_thread_log_head(const struct rf_thread_log *turns);
/* How many threads there were; NULL for one whose record is not in the file. */
uint32_t rf_thread_log_threads(const struct rf_thread_log *turns);
const struct rf_thread_log_thread *rf_thread_log_thread(const struct rf_thread_log *turns,
                                                        uint32_t number);
/* How many of its operations can be played. */
uint64_t rf_thread_log_recorded(const struct rf_thread_log *turns,
                                const struct rf_thread_log_thread *record);
/* NULL for numbers that the file does not have. Site 0 is anywhere. */
const struct rf_thread_log_site *rf_thread_log_site(const struct rf_thread_log *turns,
                                                    uint32_t number);
const struct rf_log_module *rf_thread_log_module(const struct rf_thread_log *turns,
                                                 uint32_t number);

/* False if the thread left nothing; else rf_thread_log_leave() has to follow. */
bool rf_thread_log_begin(const struct rf_thread_log *turns, uint32_t thread,
                         struct rf_thread_log_cursor *cursor);
void rf_thread_log_leave(struct rf_thread_log_cursor *cursor);
/* RF_READ_EVENT for an entry, RF_READ_END behind the last one, RF_READ_DAMAGED where what follows
   is unreadable. */
int rf_thread_log_next(struct rf_thread_log_cursor *cursor, struct rf_thread_log_entry *entry,
                       struct rf_error *error);

#endif
