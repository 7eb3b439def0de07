#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

size_t rf_read_at(int file, void *to, size_t bytes, uint64_t offset) {
    size_t got = 0;
    while (got < bytes) {
        ssize_t more = pread(file, (char *)to + got, bytes - got, (off_t)(offset + got));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    return got;
}

size_t rf_read_own(struct rf_own_file *file, const char *path, void *to, size_t bytes,
                   uint64_t offset) {
    bool open = rf_own_file_ensure(file, path, O_RDONLY);
    return open ? rf_read_at(file->number, to, bytes, offset) : 0;
}

bool rf_trace_file_open(struct rf_trace_file *trace, struct rf_error *error) {
    trace->file = rf_own_file(open(trace->path, O_RDONLY | O_CLOEXEC));
    if (trace->file.number < 0) {
        if (errno == ENOENT)
            return true;
        return rf_fail(error, RF_EXIT_TRACE, "%s: cannot open it: %s", trace->path,
                       strerror(errno));
    }
    struct stat status;
    if (fstat(trace->file.number, &status) || !S_ISREG(status.st_mode))
        return rf_fail(error, RF_EXIT_TRACE, "%s: is not a regular file", trace->path);
    trace->bytes = (uint64_t)status.st_size;
    return true;
}

void rf_trace_file_close(struct rf_trace_file *trace) {
    rf_own_file_close(&trace->file);
    free(trace->payload);
    trace->payload = NULL;
    trace->room = 0;
}

bool rf_trace_file_header(struct rf_trace_file *trace, struct rf_error *error) {
    struct rf_trace_header header;
    size_t got = rf_read_own(&trace->file, trace->path, &header, sizeof header, 0);
    if (got < sizeof header)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %zu, inside its header",
                       trace->path, got);
    if (memcmp(header.magic, RF_TRACE_MAGIC, sizeof header.magic) != 0)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is not a Refrain trace (byte 0)", trace->path);
    bool whole = header.check == XXH3_64bits(&header, offsetof(struct rf_trace_header, check));
    if (header.version > RF_TRACE_VERSION)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: was written by a newer Refrain (format %" PRIu32
                       ", this one reads up to %u)%s",
                       trace->path, header.version, RF_TRACE_VERSION,
                       whole ? "" : ", or its header is damaged at byte 8");
    if (!whole || !header.version)
        return rf_fail(error, RF_EXIT_TRACE, "%s: the header is damaged at byte 8", trace->path);
    return true;
}

static bool reserve(struct rf_trace_file *trace, size_t bytes) {
    if (bytes <= trace->room)
        return true;
    uint8_t *bigger = realloc(trace->payload, bytes);
    if (!bigger)
        return false;
    trace->payload = bigger;
    trace->room = bytes;
    return true;
}

static bool check_holds(const struct rf_chunk *chunk, const uint8_t *payload) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, chunk, offsetof(struct rf_chunk, check));
    XXH3_64bits_update(&state, payload, chunk->bytes);
    return XXH3_64bits_digest(&state) == chunk->check;
}

bool rf_trace_file_chunk(struct rf_trace_file *trace, uint64_t offset, struct rf_chunk *chunk,
                         struct rf_error *error) {
    size_t got = rf_read_own(&trace->file, trace->path, chunk, sizeof *chunk, offset);
    if (got < sizeof *chunk)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %" PRIu64 ", inside a chunk",
                       trace->path, offset + got);
    if (chunk->magic != RF_CHUNK_MAGIC || chunk->bytes > RF_CHUNK_MAX_BYTES ||
        chunk->slots > RF_SEGMENT_SLOTS)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is damaged at byte %" PRIu64 ": no chunk there",
                       trace->path, offset);
    uint64_t start = offset + sizeof *chunk;
    if (start + chunk->bytes > trace->bytes)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: is cut off at byte %" PRIu64 ": the chunk at byte %" PRIu64
                       " goes on to byte %" PRIu64,
                       trace->path, trace->bytes, offset, start + chunk->bytes);
    if (!reserve(trace, chunk->bytes + 1u))
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory at byte %" PRIu64, trace->path,
                       offset);
    got = rf_read_own(&trace->file, trace->path, trace->payload, chunk->bytes, start);
    if (got < chunk->bytes)
        return rf_fail(error, RF_EXIT_TRACE, "%s: cannot be read at byte %" PRIu64, trace->path,
                       start + got);
    if (!check_holds(chunk, trace->payload))
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: is damaged between byte %" PRIu64 " and byte %" PRIu64
                       ": the checksum does not fit",
                       trace->path, offset, start + chunk->bytes);
    return true;
}
