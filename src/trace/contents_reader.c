#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contents_format.h"
#include "log.h"
#include "own_file.h"
#include "packing.h"
#include "trace_file.h"
#include "varint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Chunks that are kept for repeated blocks, as far as they are not more than so many bytes. */
#define CACHED 64u
#define CACHED_BYTES (1u << 24)

/* What the writer's running digest is, in one go. */
static uint64_t digest_of(const uint8_t *data, size_t bytes) {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    if (bytes)
        XXH64_update(&state, data, bytes);
    return XXH64_digest(&state);
}

struct cached {
    uint8_t *data; /* NULL: free */
    uint64_t number, used;
    size_t bytes;
};

struct rf_contents_reader {
    char path[4096], tail_path[4096];
    struct rf_own_file file, tail; /* tail -1: there is none, or none to be trusted */
    uint64_t file_bytes;
    uint64_t id;
    uint32_t chunk;                  /* the length of all but the last */
    uint64_t tail_number, committed; /* as in the tail, the latter with its check */
    uint64_t *offsets;               /* of the chunks in the file */
    uint64_t chunks, offsets_room;
    uint64_t position;
    uint64_t end;           /* of what the files can hold */
    struct rf_error ending; /* what is wrong at the end; an empty text if nothing is */
    bool incomplete;        /* that is all that is wrong */
    struct rf_error error;
    struct rf_packing packing;
    uint8_t *stored; /* a chunk as it lies in the file */
    uint64_t uses;
    struct cached cached[CACHED], *latest;
    bool looks_back; /* blocks refer to earlier ones: what was read once may be needed again */
};

static bool read_head(int file, const char *path, const char *magic, struct rf_contents_head *head,
                      struct rf_error *error) {
    size_t got = rf_read_at(file, head, sizeof *head, 0);
    if (got < sizeof *head)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %zu, inside its head", path,
                       got);
    if (memcmp(head->magic, magic, sizeof head->magic) != 0)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is not a file of contents (byte 0)", path);
    bool whole = head->check == rf_contents_head_check(head);
    if (head->version > RF_CONTENTS_VERSION)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: was written by a newer Refrain (format %" PRIu32
                       ", this one reads up to %u)%s",
                       path, head->version, RF_CONTENTS_VERSION,
                       whole ? "" : ", or its head is damaged at byte 8");
    if (!whole || !head->version || !head->chunk_bytes || head->chunk_bytes > RF_CONTENTS_CHUNK)
        return rf_fail(error, RF_EXIT_TRACE, "%s: the head is damaged at byte 8", path);
    return true;
}

static uint64_t committed_length(const struct rf_contents_reader *reader) {
    return reader->committed & (RF_CONTENTS_LONGEST - 1);
}

static bool tail_damaged(const struct rf_contents_reader *reader, size_t at,
                         struct rf_error *error) {
    return rf_fail(error, RF_EXIT_TRACE, "%s: is damaged at byte %zu", reader->tail_path, at);
}

/* What the tail says of contents that are missing. */
static void read_incomplete(struct rf_contents_reader *reader, struct rf_contents_tail *tail) {
    uint64_t incomplete;
    if (!rf_unseal(tail->incomplete, &incomplete)) {
        tail_damaged(reader, offsetof(struct rf_contents_tail, incomplete), &reader->ending);
    } else if (incomplete && (uint32_t)incomplete != rf_log_reason_check(tail->reason)) {
        tail_damaged(reader, offsetof(struct rf_contents_tail, reason), &reader->ending);
    } else if (incomplete) {
        tail->reason[sizeof tail->reason - 1] = 0;
        rf_fail(&reader->ending, RF_EXIT_TRACE,
                "%s: ends early, at byte %" PRIu64 " of the contents: no more could be kept: %s",
                reader->path, committed_length(reader), tail->reason);
        reader->incomplete = true;
    }
}

/* False: there is no tail that could be used. If it is damaged, this goes to `ending`. */
static bool open_tail(struct rf_contents_reader *reader, int file) {
    struct rf_contents_tail *tail = calloc(1, sizeof *tail);
    size_t start = offsetof(struct rf_contents_tail, data);
    if (!tail)
        return rf_fail(&reader->ending, RF_EXIT_ENVIRONMENT, "%s: out of memory",
                       reader->tail_path);
    bool good =
        read_head(file, reader->tail_path, RF_CONTENTS_TAIL_MAGIC, &tail->head, &reader->ending) &&
        tail->head.id == reader->id && tail->head.chunk_bytes == reader->chunk;
    if (good) {
        size_t got = rf_read_at(file, tail, start, 0);
        reader->committed = tail->committed;
        if (got < start)
            good = rf_fail(&reader->ending, RF_EXIT_TRACE, "%s: is cut off at byte %zu",
                           reader->tail_path, got);
        else if (!rf_unseal(tail->number, &reader->tail_number) ||
                 reader->tail_number > RF_CONTENTS_LONGEST / reader->chunk)
            good = tail_damaged(reader, offsetof(struct rf_contents_tail, number), &reader->ending);
        else if (committed_length(reader) > (reader->tail_number + 1) * reader->chunk ||
                 (!committed_length(reader) &&
                  reader->committed != rf_contents_seal(0, digest_of(NULL, 0))))
            good =
                tail_damaged(reader, offsetof(struct rf_contents_tail, committed), &reader->ending);
        else
            read_incomplete(reader, tail);
    }
    free(tail);
    return good;
}

static bool damaged(const struct rf_contents_reader *reader, uint64_t offset,
                    struct rf_error *error) {
    return rf_fail(error, RF_EXIT_TRACE, "%s: is damaged at byte %" PRIu64, reader->path, offset);
}

/* Reads what stands before the payload and checks all but the checksum. */
static bool read_chunk_head(struct rf_contents_reader *reader, uint64_t number, uint64_t offset,
                            struct rf_contents_chunk *chunk, struct rf_error *error) {
    size_t got = rf_read_own(&reader->file, reader->path, chunk, sizeof *chunk, offset);
    if (got < sizeof *chunk)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %" PRIu64, reader->path,
                       offset + got);
    bool fits = chunk->magic == RF_CONTENTS_CHUNK_MAGIC && chunk->number == number;
    if (chunk->type == RF_CONTENTS_END)
        fits = fits && !chunk->raw && !chunk->stored;
    else
        fits = fits && chunk->raw && chunk->raw <= reader->chunk && chunk->stored &&
               (chunk->type == RF_CONTENTS_RAW    ? chunk->stored == chunk->raw
                : chunk->type == RF_CONTENTS_ZSTD ? chunk->stored < chunk->raw
                                                  : false);
    if (!fits)
        return damaged(reader, offset, error);
    uint64_t end = offset + sizeof *chunk + chunk->stored;
    if (end > reader->file_bytes)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: is cut off at byte %" PRIu64 ": the chunk at byte %" PRIu64
                       " goes on to byte %" PRIu64,
                       reader->path, reader->file_bytes, offset, end);
    return true;
}

static bool note_chunk(struct rf_contents_reader *reader, uint64_t offset, struct rf_error *error) {
    if (reader->chunks == reader->offsets_room) {
        uint64_t room = reader->offsets_room ? reader->offsets_room * 2 : 64;
        uint64_t *bigger = realloc(reader->offsets, room * sizeof *bigger);
        if (!bigger)
            return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", reader->path);
        reader->offsets = bigger;
        reader->offsets_room = room;
    }
    reader->offsets[reader->chunks++] = offset;
    return true;
}

/* Finds the chunks, up to those that the tail replaces or up to the end mark. False when it comes
   to something else; what was found before counts. */
static bool find_chunks(struct rf_contents_reader *reader, struct rf_error *error) {
    struct rf_contents_chunk chunk;
    uint64_t offset = sizeof(struct rf_contents_head);
    while (reader->tail.number < 0 || reader->chunks < reader->tail_number) {
        if (!read_chunk_head(reader, reader->chunks, offset, &chunk, error))
            return false;
        uint64_t next = offset + sizeof chunk + chunk.stored;
        if (chunk.type == RF_CONTENTS_END) {
            if (reader->tail.number >= 0 || chunk.check != rf_contents_chunk_check(&chunk, NULL))
                return damaged(reader, offset, error);
            return next == reader->file_bytes ||
                   rf_fail(error, RF_EXIT_TRACE, "%s: goes on after its end, at byte %" PRIu64,
                           reader->path, next);
        }
        /* Only the last one may be short: positions are turned into numbers by a division. */
        if (reader->end % reader->chunk || (reader->tail.number >= 0 && chunk.raw < reader->chunk))
            return damaged(reader, offset, error);
        if (!note_chunk(reader, offset, error))
            return false;
        reader->end += chunk.raw;
        offset = next;
    }
    reader->end = committed_length(reader);
    return true;
}

struct rf_contents_reader *rf_contents_open(const char *path, struct rf_error *error) {
    struct rf_contents_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", path);
        return NULL;
    }
    reader->file.number = reader->tail.number = -1;
    struct stat status;
    struct rf_contents_head head;
    if (!rf_contents_tail_name(reader->tail_path, sizeof reader->tail_path, path, error))
        goto fail;
    snprintf(reader->path, sizeof reader->path, "%s", path);
    reader->file = rf_own_file(open(path, O_RDONLY | O_CLOEXEC));
    if (reader->file.number < 0) {
        rf_fail(error, RF_EXIT_TRACE, "%s: cannot open it: %s", path, strerror(errno));
        goto fail;
    }
    if (fstat(reader->file.number, &status) || !S_ISREG(status.st_mode)) {
        rf_fail(error, RF_EXIT_TRACE, "%s: is not a regular file", path);
        goto fail;
    }
    reader->file_bytes = (uint64_t)status.st_size;
    if (!read_head(reader->file.number, path, RF_CONTENTS_MAGIC, &head, error))
        goto fail;
    reader->id = head.id;
    reader->chunk = head.chunk_bytes;
    reader->stored = malloc(reader->chunk);
    if (!reader->stored) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", path);
        goto fail;
    }
    rf_packing_load(&reader->packing);
    struct rf_own_file tail = rf_own_file(open(reader->tail_path, O_RDONLY | O_CLOEXEC));
    if (tail.number < 0 && errno != ENOENT)
        rf_fail(&reader->ending, RF_EXIT_TRACE, "%s: cannot open it: %s", reader->tail_path,
                strerror(errno));
    if (tail.number >= 0 && open_tail(reader, tail.number))
        reader->tail = tail;
    else
        rf_own_file_close(&tail);
    struct rf_error found = {0};
    if (!find_chunks(reader, &found)) {
        /* Without the tail that it needs, the file is cut off; the tail is the cause then. */
        if (reader->tail.number >= 0 || !reader->ending.text[0])
            reader->ending = found;
        reader->incomplete = false;
    } else if (reader->tail.number < 0) {
        reader->ending.text[0] = 0; /* a tail is of no interest if the file is whole */
    }
    return reader;
fail:
    rf_contents_reader_close(reader);
    return NULL;
}

static bool unpack(struct rf_contents_reader *reader, uint64_t number, struct cached *to) {
    struct rf_contents_chunk chunk;
    uint64_t offset = reader->offsets[number];
    if (!read_chunk_head(reader, number, offset, &chunk, &reader->error))
        return false;
    size_t got = rf_read_own(&reader->file, reader->path, reader->stored, chunk.stored,
                             offset + sizeof chunk);
    if (got < chunk.stored)
        return rf_fail(&reader->error, RF_EXIT_TRACE, "%s: cannot be read at byte %" PRIu64,
                       reader->path, offset + sizeof chunk + got);
    if (chunk.type == RF_CONTENTS_END ||
        chunk.check != rf_contents_chunk_check(&chunk, reader->stored))
        return rf_fail(&reader->error, RF_EXIT_TRACE,
                       "%s: is damaged between byte %" PRIu64 " and byte %" PRIu64
                       ": the checksum does not fit",
                       reader->path, offset, offset + sizeof chunk + chunk.stored);
    to->bytes = chunk.raw;
    if (chunk.type == RF_CONTENTS_RAW) {
        memcpy(to->data, reader->stored, chunk.raw);
        return true;
    }
    if (!reader->packing.library) {
        rf_fail(&reader->error, RF_EXIT_ENVIRONMENT,
                "%s: is compressed, and libzstd.so.1 cannot be loaded to read it", reader->path);
        return rf_hint(&reader->error, "apt install libzstd1");
    }
    if (!rf_decompress(&reader->packing, to->data, chunk.raw, reader->stored, chunk.stored))
        return damaged(reader, offset, &reader->error);
    return true;
}

static bool take_tail(struct rf_contents_reader *reader, struct cached *to) {
    size_t start = offsetof(struct rf_contents_tail, data);
    to->bytes = committed_length(reader) - reader->tail_number * reader->chunk;
    size_t got = rf_read_own(&reader->tail, reader->tail_path, to->data, to->bytes, start);
    return got == to->bytes || rf_fail(&reader->error, RF_EXIT_TRACE, "%s: is cut off at byte %zu",
                                       reader->tail_path, start + got);
}

/* The chunk with the last put is checked up to there by the tail's own check, wherever it lies. */
static bool check_committed(struct rf_contents_reader *reader, const struct cached *chunk) {
    uint64_t length = committed_length(reader);
    if (reader->tail.number < 0 || (length - 1) / reader->chunk != chunk->number)
        return true;
    uint64_t part = length - chunk->number * reader->chunk;
    if (part <= chunk->bytes &&
        reader->committed == rf_contents_seal(length, digest_of(chunk->data, part)))
        return true;
    return rf_fail(&reader->error, RF_EXIT_TRACE,
                   "%s: is damaged at byte %zu, or behind byte %zu: the check does not fit",
                   reader->tail_path, offsetof(struct rf_contents_tail, committed),
                   offsetof(struct rf_contents_tail, data));
}

static const struct cached *find_chunk(struct rf_contents_reader *reader, uint64_t number) {
    struct cached *oldest = reader->cached;
    uint32_t most = CACHED_BYTES / reader->chunk;
    const struct cached *end = oldest + (!reader->looks_back ? 1 : most < CACHED ? most : CACHED);
    if (reader->latest && reader->latest->number == number)
        return reader->latest;
    reader->latest = NULL;
    for (struct cached *at = reader->cached; at < end; at++) {
        if (at->used && at->number == number) {
            at->used = ++reader->uses;
            return reader->latest = at;
        }
        if (at->used < oldest->used)
            oldest = at;
    }
    oldest->used = 0;
    oldest->number = number;
    if (!oldest->data && !(oldest->data = malloc(reader->chunk))) {
        rf_fail(&reader->error, RF_EXIT_ENVIRONMENT, "%s: out of memory", reader->path);
        return NULL;
    }
    bool good =
        number < reader->chunks ? unpack(reader, number, oldest) : take_tail(reader, oldest);
    if (!good || !check_committed(reader, oldest))
        return NULL;
    oldest->used = ++reader->uses;
    return reader->latest = oldest;
}

/* What lies below the end. */
static bool fetch(struct rf_contents_reader *reader, uint64_t position, void *data, size_t size) {
    uint8_t *to = data;
    while (size) {
        const struct cached *chunk = find_chunk(reader, position / reader->chunk);
        if (!chunk)
            return false;
        size_t at = position % reader->chunk;
        if (at >= chunk->bytes) /* the file has changed since it was opened */
            return damaged(reader, reader->offsets[position / reader->chunk], &reader->error);
        size_t part = size < chunk->bytes - at ? size : chunk->bytes - at;
        memcpy(to, chunk->data + at, part);
        position += part;
        to += part;
        size -= part;
    }
    return true;
}

bool rf_contents_get(struct rf_contents_reader *reader, void *data, size_t size) {
    if (reader->error.text[0])
        return false;
    if (size > reader->end - reader->position) {
        reader->error = reader->ending;
        return false;
    }
    if (!fetch(reader, reader->position, data, size))
        return false;
    reader->position += size;
    return true;
}

bool rf_contents_at_end(const struct rf_contents_reader *reader) {
    return reader->position == reader->end;
}

struct block {
    uint64_t size;
    uint64_t position; /* of its bytes */
    uint64_t next;     /* what follows it in the stream */
};

static bool no_block(struct rf_contents_reader *reader, const char *why) {
    return rf_fail(&reader->error, RF_EXIT_TRACE,
                   "%s: no block where one is expected, at byte %" PRIu64 " of the contents: %s",
                   reader->path, reader->position, why);
}

static bool find_block(struct rf_contents_reader *reader, struct block *block) {
    uint8_t head[2 * RF_VARINT_BYTES] = {0};
    uint64_t left = reader->end - reader->position, word, back;
    if (reader->error.text[0])
        return false;
    if (!left) {
        reader->error = reader->ending;
        return false;
    }
    size_t bytes = left < sizeof head ? left : sizeof head;
    if (!fetch(reader, reader->position, head, bytes))
        return false;
    const uint8_t *at = head, *end = head + bytes;
    bool whole = rf_varint_get(&at, end, &word);
    block->size = word >> 1;
    if (whole && word & 1) {
        whole = rf_varint_get(&at, end, &back);
        if (whole && (back > reader->position || block->size > back))
            return no_block(reader, "it refers to what is not there");
        reader->looks_back = true;
        block->position = reader->position - back;
        block->next = reader->position + (uint64_t)(at - head);
    } else if (whole) {
        block->position = reader->position + (uint64_t)(at - head);
        whole = block->size <= reader->end - block->position;
        block->next = block->position + block->size;
    }
    if (whole)
        return true;
    /* Only whole puts are committed, so it is cut short by damage, or it never was a block. */
    if (!reader->ending.text[0])
        return no_block(reader, "it goes beyond the end");
    reader->error = reader->ending;
    return false;
}

bool rf_contents_block_size(struct rf_contents_reader *reader, uint64_t *size) {
    struct block block = {0};
    if (!find_block(reader, &block))
        return false;
    *size = block.size;
    return true;
}

bool rf_contents_get_block(struct rf_contents_reader *reader, void *data, size_t size) {
    struct block block = {0};
    if (!find_block(reader, &block))
        return false;
    if (block.size != size)
        return no_block(reader, "it has another length");
    if (!fetch(reader, block.position, data, size))
        return false;
    reader->position = block.next;
    return true;
}

const struct rf_error *rf_contents_reader_error(const struct rf_contents_reader *reader) {
    return &reader->error;
}

bool rf_contents_incomplete(const struct rf_contents_reader *reader) {
    return reader->incomplete && rf_contents_at_end(reader);
}

void rf_contents_reader_close(struct rf_contents_reader *reader) {
    if (!reader)
        return;
    for (unsigned i = 0; i < CACHED; i++)
        free(reader->cached[i].data);
    rf_own_file_close(&reader->file);
    rf_own_file_close(&reader->tail);
    rf_packing_unload(&reader->packing);
    free(reader->offsets);
    free(reader->stored);
    free(reader);
}
