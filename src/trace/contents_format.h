/* The two files of contents (contents.h), and what their writer and reader compute alike. */
#ifndef RF_TRACE_CONTENTS_FORMAT_H
#define RF_TRACE_CONTENTS_FORMAT_H

#include "contents.h"

#define RF_CONTENTS_MAGIC "RFCONT\r\n"
#define RF_CONTENTS_TAIL_MAGIC "RFCTAI\r\n"
#define RF_CONTENTS_VERSION 1u
#define RF_CONTENTS_CHUNK_MAGIC 0x43434652u /* "RFCC" */

/* Both files begin with it. */
struct rf_contents_head {
    char magic[8];
    uint32_t version;
    uint32_t chunk_bytes;
    uint64_t id;    /* the same in both: a tail that an earlier writer left is told by it */
    uint64_t check; /* XXH3-64 of the bytes before */
};

enum rf_contents_type {
    RF_CONTENTS_RAW = 0,
    RF_CONTENTS_ZSTD = 1,
    RF_CONTENTS_END = 2, /* no payload, last in the file; its number is the number of chunks */
};

struct rf_contents_chunk {
    uint32_t magic;
    uint32_t type;
    uint64_t number;      /* from 0 */
    uint32_t raw, stored; /* lengths of the payload */
    uint64_t check;       /* XXH3-64 of the bytes before, then the payload as stored */
};

struct rf_contents_tail {
    struct rf_contents_head head;
    uint64_t number;     /* sealed (log.h): the chunk that is in here, all before it are in PATH */
    uint64_t committed;  /* length of the stream up to the last whole put; see rf_contents_seal() */
    uint64_t incomplete; /* sealed: 0, or the 32-bit checksum of the reason with bit 32 set */
    char reason[128];
    uint8_t data[RF_CONTENTS_CHUNK]; /* as much as a chunk has */
};

_Static_assert(sizeof(struct rf_contents_head) == 32, "layout of the head");
_Static_assert(sizeof(struct rf_contents_chunk) == 32, "layout of a chunk");
_Static_assert(offsetof(struct rf_contents_tail, data) == 184, "layout of the tail");

/* A length of 48 bits, and 16 bits of check of it and of the chunk's bytes up to there; `digest` is
   their XXH64. */
uint64_t rf_contents_seal(uint64_t length, uint64_t digest);
uint64_t rf_contents_head_check(const struct rf_contents_head *head);
uint64_t rf_contents_chunk_check(const struct rf_contents_chunk *chunk, const void *payload);
/* The name of the tail of a path. */
bool rf_contents_tail_name(char *to, size_t room, const char *path, struct rf_error *error);
/* A stream is shorter than this: its length must leave room for a check. */
#define RF_CONTENTS_LONGEST ((uint64_t)1 << 48)

#endif
