/* The trace file: a header, then chunks. */
#ifndef RF_TRACE_CHUNK_H
#define RF_TRACE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#define RF_TRACE_MAGIC "RFTRACE\n"
#define RF_TRACE_VERSION 1u
#define RF_CHUNK_MAGIC 0x4b434652u /* "RFCK" */

/* These 24 bytes keep their places in every version to come. */
struct rf_trace_header {
    char magic[8];
    uint32_t version;
    uint32_t zero;
    uint64_t check; /* XXH3-64 of the bytes before */
};

enum rf_chunk_type {
    RF_CHUNK_NODE = 1,   /* the node's facts */
    RF_CHUNK_EVENTS = 2, /* a coded segment */
    RF_CHUNK_SLOTS = 3,  /* a segment as it was, when coding would have made it longer */
    RF_CHUNK_TABLES = 4, /* modules, sites, unsupported functions */
    RF_CHUNK_END = 5,    /* struct rf_chunk_end */
    RF_CHUNK_REASON = 6, /* why recording stopped early, if it did */
};

struct rf_chunk {
    uint32_t magic;
    uint32_t type;
    uint32_t bytes;       /* of the payload */
    uint32_t slots;       /* of the segment */
    uint64_t segment;     /* its number, from 0 */
    uint64_t first_event; /* number of the first event that begins in it */
    uint64_t events;      /* how many begin in it, repetitions counted */
    uint64_t check;       /* XXH3-64 of the 40 bytes before, then the payload */
};

/* Of fixed size and last in the file, so that the tables can be found when the middle is hurt. */
struct rf_chunk_end {
    int32_t how, code;
    uint32_t incomplete;
    uint32_t zero;
    uint64_t tables; /* offset of the tables' chunk */
};

#define RF_CHUNK_MAX_BYTES (8u << 20)

_Static_assert(sizeof(struct rf_trace_header) == 24, "layout of the header");
_Static_assert(sizeof(struct rf_chunk) == 48, "layout of a chunk");
_Static_assert(sizeof(struct rf_chunk_end) == 24, "layout of the end");

#endif
