/* What a rank got from MPI, kept as one stream of bytes: PATH holds compressed chunks, and
   PATH.tail is the file behind a shared mapping with the chunk that is being filled. The death of
   the process at any instruction loses nothing that was put. */
#ifndef RF_TRACE_CONTENTS_H
#define RF_TRACE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifndef RF_CONTENTS_CHUNK                /* the fuzzer is built with less */
#    define RF_CONTENTS_CHUNK (1u << 20) /* the longest */
#endif
/* In the cache of a processor while it is filled, and long enough to compress well. */
#define RF_CONTENTS_USUAL_CHUNK (RF_CONTENTS_CHUNK / 4)
#define RF_CONTENTS_SMALL_CHUNK (RF_CONTENTS_CHUNK / 32)

/* ---- writing ------------------------------------------------------------------------------ */

/* A writer belongs to one process and is used by one thread at a time: a forked child must neither
   use nor close it. */
struct rf_contents_writer;

/* Creates PATH and PATH.tail; what had these names is replaced. NULL and an error if that fails. A
   writer has up to four chunks in memory; with shorter ones, contents are compressed a little
   worse.
 */
struct rf_contents_writer *rf_contents_create(const char *path, uint32_t chunk,
                                              struct rf_error *error);
/* Small facts, appended as they are. */
void rf_contents_put(struct rf_contents_writer *writer, const void *data, size_t size);
/* A block of any size (also 0): the length is kept, and equal blocks are stored once. */
void rf_contents_put_block(struct rf_contents_writer *writer, const void *data, size_t size);
/* From here on chunks are stored as they are. What is put then takes nothing from the heap. */
void rf_contents_stop_packing(struct rf_contents_writer *writer);
/* False if something could not be written (disk full, ...): from then on nothing is kept; why is in
   error. */
bool rf_contents_good(const struct rf_contents_writer *writer, struct rf_error *error);
/* Bytes put so far, repeated blocks in full. */
uint64_t rf_contents_position(const struct rf_contents_writer *writer);
/* Compresses what is left and removes the tail. False if something that was put is missing. The
   tail stays if it is needed: when something is missing, or when its last chunk finds no room in
   PATH. */
bool rf_contents_close(struct rf_contents_writer *writer, struct rf_error *error);

/* ---- reading ------------------------------------------------------------------------------ */

struct rf_contents_reader;

/* Reads PATH and, if there, PATH.tail. */
struct rf_contents_reader *rf_contents_open(const char *path, struct rf_error *error);
/* False at the end of the contents or at damage: see rf_contents_reader_error(). Nothing is taken
   then, but some of `data` may have been overwritten. */
bool rf_contents_get(struct rf_contents_reader *reader, void *data, size_t size);
/* The length of the next block without taking it. No longer than what the files can hold. */
bool rf_contents_block_size(struct rf_contents_reader *reader, uint64_t *size);
/* Takes the next block, which must be `size` long. */
bool rf_contents_get_block(struct rf_contents_reader *reader, void *data, size_t size);
/* Nothing is left to take. */
bool rf_contents_at_end(const struct rf_contents_reader *reader);
/* What stopped the reader: an empty text at the proper end. */
const struct rf_error *rf_contents_reader_error(const struct rf_contents_reader *reader);
/* At the end, and all that is wrong is that the writer found no room for more, and said so. */
bool rf_contents_incomplete(const struct rf_contents_reader *reader);
void rf_contents_reader_close(struct rf_contents_reader *reader);

#endif
