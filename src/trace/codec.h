/* Coding a segment of the log into the payload of a chunk, and back. */
#ifndef RF_TRACE_CODEC_H
#define RF_TRACE_CODEC_H

#include <stddef.h>

#include "recorder.h"

/* The models and buffers; `rf_codec_bytes()` of zeroed memory. Most of it is never touched. */
struct rf_codec;
size_t rf_codec_bytes(void);
/* One to use for a moment; NULL when memory ran out. A process keeps a few, and has more only while
   many threads need one. */
struct rf_codec *rf_codec_take(void);
void rf_codec_give_back(struct rf_codec *codec);

struct rf_piece {
    const uint8_t *data;
    size_t bytes;
};

/* The payload, in pieces to be written one after the other: what is readable as it is, and the
   coded entries. */
#define RF_CODED_PIECES 2u
struct rf_coded {
    struct rf_piece pieces[RF_CODED_PIECES];
    size_t bytes;
};

/* Brings the entries into the form in which they are stored: what a kind does not have is zero. */
void rf_segment_tidy(struct rf_entry *slots, uint32_t used);
/* Events that begin in the segment, repetitions counted. `in_list` is carried from one segment to
   the next: the last entry's list goes on. */
uint64_t rf_segment_events(const struct rf_entry *slots, uint32_t used, bool *in_list);

/* Codes tidy slots. False when the result would be longer than the slots themselves. */
bool rf_codec_encode(struct rf_codec *codec, const struct rf_entry *slots, uint32_t used,
                     struct rf_coded *coded);
/* Fills `used` slots; false when the payload cannot be one of ours. */
bool rf_codec_decode(struct rf_codec *codec, const uint8_t *payload, size_t bytes,
                     struct rf_entry *slots, uint32_t used);

/* The part of a payload that is readable without decoding. */
struct rf_late {
    uint64_t post; /* posts before it in its chunk */
    uint32_t back;
    int32_t source, tag;
};
struct rf_prefix {
    uint64_t posts, unmatched, lates;
    const uint8_t *at, *end; /* the rest of the payload */
};
bool rf_prefix_open(struct rf_prefix *prefix, const uint8_t *payload, size_t bytes);
/* The next late match; `late` carries the one before. */
bool rf_prefix_late(struct rf_prefix *prefix, struct rf_late *late);

#endif
