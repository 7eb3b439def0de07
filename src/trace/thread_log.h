/* DIR/rank-R.threads: the order of what the threads of a process did. Written through a shared
   mapping by all threads at once, without locks; a death at any instruction leaves it readable.

   The file is a head, tables of modules and sites, and blocks. A thread's first block begins with
   its record; the blocks of a thread are chained. What is in them is a sequence of entries, each
   for one operation of that thread; most operations need none.

   When its process is gone the log is sealed: what it says is written anew, in less room and with
   checksums. */
#ifndef RF_TRACE_THREAD_LOG_H
#define RF_TRACE_THREAD_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "log.h"

#define RF_THREAD_LOG_MAGIC "RFTURNS\n"
#define RF_THREAD_LOG_VERSION 1u
#define RF_THREAD_LOG_SEALED 2u  /* the version of one that is sealed */
#define RF_THREAD_LOG_BLOCK 256u /* of which a thread has one at least */
#define RF_THREAD_LOG_SITES 4096u
#define RF_THREAD_LOG_MODULES 128u
#define RF_THREAD_LOG_NUMBER_BITS 20 /* of a thread */
#define RF_THREAD_LOG_THREADS (1u << RF_THREAD_LOG_NUMBER_BITS)
#define RF_THREAD_LOG_KNOWN                                                                        \
    64u /* of so many other threads a thread remembers how far they were                           \
         */

/* How the order is kept. */
enum rf_thread_order {
    RF_ORDER_EDGES = 1,
    RF_ORDER_ROLT = 2,
    RF_ORDER_EVERY = 3,
    RF_ORDER_ROLT_UNLOCKS = 4, /* clocks do not tick when a lock is given up: wrong */
    RF_ORDER_ROLT_JOINS = 5,   /* nor when a thread begins, ends and is joined: wrong */
};

/* What an entry says of an operation: its first number is RF_THREAD_LOG_TYPES * (operations since
   the entry before) + type, never 0. All but CHECK and AGAIN go on with the number of the site. */
enum rf_thread_log_type {
    RF_THREAD_LOG_NOTHING,
    RF_THREAD_LOG_EDGE,    /* thread, then how many operations beyond those known of it */
    RF_THREAD_LOG_FAILURE, /* error code, then a byte: how many operations in a row failed so */
    RF_THREAD_LOG_VALUE,   /* a number, zigzag */
    RF_THREAD_LOG_BYTES,   /* how many in all, how many here, and these */
    RF_THREAD_LOG_CHECK,   /* 2 bytes of the signature of all operations so far */
    RF_THREAD_LOG_JUMP,    /* ROLT: by how much more than 1 the clock went on */
    RF_THREAD_LOG_AGAIN,   /* a FAILURE with the site and the code of the one before: the byte */
};
#define RF_THREAD_LOG_TYPES 8u

#define RF_THREAD_LOG_NAMELESS (-1)

/* Bits. */
enum rf_thread_log_unseen {
    RF_UNSEEN_DETACH = 1,
    RF_UNSEEN_CANCEL = 2,
    RF_UNSEEN_OPENMP = 4,
    RF_UNSEEN_FUTEX = 8,
    RF_UNSEEN_STRANGERS = 16,
    RF_UNSEEN_PYTHON = 32,
    RF_UNSEEN_PYTHON_LOCKS = 64,
};

enum rf_thread_log_state {
    RF_THREAD_RUNS,
    RF_THREAD_ENDED,
    RF_THREAD_REPLACED, /* it runs another program now, and no other thread is there */
};

/* Bits. */
enum rf_thread_log_cancelled {
    RF_CANCEL_ASKED = 1, /* pthread_cancel was called for the thread ... */
    RF_CANCEL_ENDED = 2, /* ... and that was its end, ... */
    RF_CANCEL_TOLD = 4,  /* ... in an operation */
};

struct rf_thread_log_site {
    uint16_t operation, module;
    uint32_t check;
    uint64_t offset;
};

struct rf_thread_log_thread {
    uint64_t done; /* operations; what the entries say of later ones does not count */
    uint32_t number, parent;
    uint32_t state;     /* enum rf_thread_log_state */
    uint32_t cancelled; /* enum rf_thread_log_cancelled */
    uint64_t at_exit; /* operations done when another thread called exit(), or recording stopped */
    uint64_t chunks;  /* sealed: where its chunks begin in the file; 0: it left nothing */
};

struct rf_thread_log_block {
    uint32_t thread;
    uint32_t place; /* the how-manieth block of that thread, from 0 */
    uint32_t next;  /* 0: none yet */
    uint32_t begun; /* 1 as soon as the rest is valid */
};

struct rf_thread_log_head {
    char magic[8];
    uint32_t version, block_bytes, order, first_block;
    int32_t rank; /* or RF_THREAD_LOG_NAMELESS: the process had none yet when it began */
    int32_t pid;
    char program[256]; /* path of the executable */
    uint64_t check;    /* of all before it */

    uint32_t blocks;  /* handed out, those of the head included */
    uint32_t threads; /* numbers handed out */
    uint32_t sites, modules;
    uint32_t finished; /* the process came to its end: 1 + the thread that called exit() */
    uint32_t stopped;  /* the file could not be lengthened: nothing more was recorded */
    uint64_t seal;     /* sealed: a checksum of all that comes before the chunks */
    uint32_t unseen;   /* enum rf_thread_log_unseen: what the program used and nobody ordered */
    uint32_t teams;    /* 1: sizes of teams are kept, also if all were of one thread */
    uint64_t bytes;    /* sealed: how long the file is */

    _Alignas(4096) struct rf_log_module module[RF_THREAD_LOG_MODULES];
    _Alignas(4096) struct rf_thread_log_site site[RF_THREAD_LOG_SITES];
};

_Static_assert(sizeof(struct rf_thread_log_site) == 16, "layout of a site");
_Static_assert(sizeof(struct rf_thread_log_thread) == 40, "layout of a thread's record");
_Static_assert(sizeof(struct rf_thread_log_head) % RF_THREAD_LOG_BLOCK == 0,
               "blocks follow the head");

uint64_t rf_thread_log_check(const struct rf_thread_log_head *head);
uint32_t rf_thread_log_site_check(const struct rf_thread_log_site *site, uint32_t number);

/* ---- sealed ---- */

/* A sealed log has of the head what comes before the tables, of the tables what is in use, the
   records of all threads, and then the chunks of one thread after the other. It has no blocks. */
#define RF_THREAD_LOG_FRONT (offsetof(struct rf_thread_log_head, bytes) + sizeof(uint64_t))

#ifndef RF_THREAD_LOG_CHUNK
#    define RF_THREAD_LOG_CHUNK (128u << 10) /* bytes of entries at most, before they are coded */
#endif

/* Entries of a thread, as they would be in its blocks, or coded. */
struct rf_thread_log_chunk {
    uint64_t check;   /* of all that follows here, and of where in the file that is */
    uint32_t bytes;   /* that follow */
    uint32_t entries; /* coded: how many; else 0 */
};

_Static_assert(sizeof(struct rf_thread_log_chunk) == 16, "layout of a chunk");

uint64_t rf_thread_log_chunk_check(const void *chunk, uint32_t bytes, uint64_t offset);
/* Of the `bytes` before the first chunk. */
uint64_t rf_thread_log_seal_of(const void *begin, size_t bytes);
/* Seals DIR/rank-R.threads, which nobody writes any more. Leaves it as it is if it cannot be read,
   or there is no room for another one beside it. */
void rf_thread_log_seal(const char *directory, int rank);

/* The signature of a thread's operations, in which each one is mixed. */
static inline uint64_t rf_thread_log_sign(uint64_t signature, uint32_t operation) {
    return signature * 0x2545f491u + operation;
}
/* The same for a run of one operation, `times` in a row: each round doubles the step. */
static inline uint64_t rf_thread_log_sign_run(uint64_t signature, uint32_t operation,
                                              uint64_t times) {
    uint64_t factor = rf_thread_log_sign(1, 0), more = operation;
    for (; times; times >>= 1) {
        if (times & 1)
            signature = signature * factor + more;
        more += more * factor;
        factor *= factor;
    }
    return signature;
}
/* What is stored of it. A thread may have done one operation only, which is in the lowest bits. */
static inline uint16_t rf_thread_log_signed(uint64_t signature) {
    return (uint16_t)(signature * 0x9e3779b97f4a7c15u >> 48);
}
/* Is the signature to be stored before the next entry? Soon at first, then after 64 operations. */
static inline int rf_thread_log_checks(uint64_t done, uint64_t checked) {
    return done - checked > (checked < 64 ? checked : 63);
}

#endif
