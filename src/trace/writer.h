/* The part of the recorder that the hot path never sees: the files, and the thread that codes. */
#ifndef RF_TRACE_WRITER_H
#define RF_TRACE_WRITER_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "chunk.h"
#include "codec.h"
#include "log.h"
#include "own_file.h"

#define RF_SCRATCH_SLOTS 64

struct rf_writer {
    struct rf_log *log;
    struct rf_own_file file; /* the trace */
    pid_t process;
    char trace_path[4096], log_path[4096];
    uint64_t trace_bytes; /* length of what is whole in the trace file */
    uint64_t events;      /* in whole chunks */
    bool in_list;

    /* Between the two threads. */
    uint64_t handed;  /* segments that may be coded */
    uint64_t coded;   /* segments whose slots are free again */
    uint32_t signal;  /* futex: bumped for the coding thread */
    uint32_t done;    /* futex: bumped for the appending thread */
    uint32_t failure; /* errno of the latest attempt, 0: it went well */
    bool stop;
    bool has_thread;
    pthread_t thread;

    /* Where entries go that nobody will read. */
    struct rf_entry scratch[RF_SCRATCH_SLOTS];
};

/* Writes one chunk; false (with errno) leaves the file as it was, as far as that is possible. */
bool rf_writer_chunk(struct rf_writer *writer, struct rf_chunk *chunk,
                     const struct rf_piece *pieces, size_t count);
/* Codes all segments below `limit` in the calling thread; false and `failure` when that fails. */
bool rf_writer_code(struct rf_writer *writer, uint64_t limit);
/* Hands segments below `limit` to the coding thread, which is started when there is none. */
void rf_writer_hand_over(struct rf_writer *writer, uint64_t limit);
/* Waits until `coded` reaches the number; false when the writing fails. */
bool rf_writer_wait(struct rf_writer *writer, uint64_t coded);
void rf_writer_stop_thread(struct rf_writer *writer);

/* Writing beyond a file size limit must be an error, not a signal that kills the program. */
struct rf_shield {
    sigset_t before;
    bool was_pending;
};
void rf_shield_raise(struct rf_shield *shield);
void rf_shield_lower(const struct rf_shield *shield);

#endif
