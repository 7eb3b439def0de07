/* Reading the chunks of a trace file, trusting nothing in it. */
#ifndef RF_TRACE_TRACE_FILE_H
#define RF_TRACE_TRACE_FILE_H

#include <stdio.h>

#include "chunk.h"
#include "error.h"
#include "own_file.h"

struct rf_trace_file {
    char path[4096];
    struct rf_own_file file; /* number -1: there is none */
    uint64_t bytes;
    uint8_t *payload; /* of the chunk that was read last */
    size_t room;
};

/* Opens the file; a missing one is no error here (its number stays -1). */
bool rf_trace_file_open(struct rf_trace_file *trace, struct rf_error *error);
void rf_trace_file_close(struct rf_trace_file *trace);
/* Magic, checksum and version. */
bool rf_trace_file_header(struct rf_trace_file *trace, struct rf_error *error);
/* Reads the chunk at the offset and checks it. */
bool rf_trace_file_chunk(struct rf_trace_file *trace, uint64_t offset, struct rf_chunk *chunk,
                         struct rf_error *error);
/* Reads up to `bytes` at the offset; returns how many there were. */
size_t rf_read_at(int file, void *to, size_t bytes, uint64_t offset);
/* The same. A program that has closed what is not its own must not make a difference. */
size_t rf_read_own(struct rf_own_file *file, const char *path, void *to, size_t bytes,
                   uint64_t offset);

#endif
