/* Streams of the C library that several threads use. */
#ifndef RF_THREADS_STREAMS_H
#define RF_THREADS_STREAMS_H

#include <stdint.h>
#include <stdio.h>

#include "trace/compiler.h"

typedef size_t rf_read_items(void *bytes, size_t size, size_t count, FILE *stream);

/* fread() is hooked elsewhere, for devices that give random numbers. This is it for other files. */
RF_OURS size_t rf_stream_items(rf_read_items *real, void *bytes, size_t size, size_t count,
                               FILE *stream, uintptr_t address);

#endif
