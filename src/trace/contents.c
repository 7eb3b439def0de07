#include "contents.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "trace_file.h"
#include "varint.h"
#include "writer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define LONGEST ((uint64_t)1 << 48)
/* A reference to a shorter block would hardly be shorter than the block. */
#define SHORTEST_REPEAT 64u
#define SEEN (1u << 16)
#define CACHED 16u

uint64_t rf_contents_seal(uint64_t length, uint64_t digest) {
    return length | XXH3_64bits_withSeed(&length, sizeof length, digest) << 48;
}

static uint64_t head_check(const struct rf_contents_head *head) {
    return XXH3_64bits(head, offsetof(struct rf_contents_head, check));
}

static uint64_t chunk_check(const struct rf_contents_chunk *chunk, const void *payload) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, chunk, offsetof(struct rf_contents_chunk, check));
    if (chunk->stored)
        XXH3_64bits_update(&state, payload, chunk->stored);
    return XXH3_64bits_digest(&state);
}

/* What the writer's running digest is, in one go. */
static uint64_t digest_of(const uint8_t *data, size_t bytes) {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    if (bytes)
        XXH64_update(&state, data, bytes);
    return XXH64_digest(&state);
}

static bool tail_name(char *to, size_t room, const char *path, struct rf_error *error) {
    if ((size_t)snprintf(to, room, "%s.tail", path) < room)
        return true;
    return rf_fail(error, RF_EXIT_ENVIRONMENT, "%.500s...: the path is too long", path);
}

/* ---- zstd --------------------------------------------------------------------------------- */

/* Loaded at run time: linked with it, its names would become those of the traced program. A program
   that Refrain is linked into (RF_LINKED) may be a static one, which cannot load anything. */
struct zstd {
    void *library;
    void *(*packer)(void);
    size_t (*free_packer)(void *);
    size_t (*compress)(void *, void *, size_t, const void *, size_t, int);
    void *(*unpacker)(void);
    size_t (*free_unpacker)(void *);
    size_t (*decompress)(void *, void *, size_t, const void *, size_t);
    size_t (*bound)(size_t);
    unsigned (*is_error)(size_t);
};

/* What zstd works with is large. A process keeps one of each, and has more only while several
   threads need one. */
static void *spare_packer, *spare_unpacker;

static void *zstd_take(void **spare, void *(*make)(void)) {
    void *tool = __atomic_exchange_n(spare, NULL, __ATOMIC_ACQUIRE);
    return tool ? tool : make();
}

/* The one that is too many is freed; NULL for the tool: all. There is one only if there is a
   function to free it. */
static void zstd_give_back(void **spare, void *tool, size_t (*free_one)(void *)) {
    tool = __atomic_exchange_n(spare, tool, __ATOMIC_ACQ_REL);
    if (tool && free_one)
        free_one(tool);
}

#ifdef RF_LINKED
static void zstd_unload(struct zstd *zstd) {
    *zstd = (struct zstd){0};
}

static bool zstd_load(struct zstd *zstd) {
    zstd_unload(zstd);
    return false;
}
#else
static void zstd_unload(struct zstd *zstd) {
    if (zstd->library) {
        zstd_give_back(&spare_packer, NULL, zstd->free_packer);
        zstd_give_back(&spare_unpacker, NULL, zstd->free_unpacker);
        dlclose(zstd->library);
    }
    *zstd = (struct zstd){0};
}

static bool zstd_find(struct zstd *zstd, const char *name, void *function) {
    void *found = dlsym(zstd->library, name);
    memcpy(function, &found, sizeof found); /* ISO C has no conversion to a function */
    return found;
}

static bool zstd_load(struct zstd *zstd) {
    zstd->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (zstd->library && zstd_find(zstd, "ZSTD_createCCtx", &zstd->packer) &&
        zstd_find(zstd, "ZSTD_freeCCtx", &zstd->free_packer) &&
        zstd_find(zstd, "ZSTD_compressCCtx", &zstd->compress) &&
        zstd_find(zstd, "ZSTD_createDCtx", &zstd->unpacker) &&
        zstd_find(zstd, "ZSTD_freeDCtx", &zstd->free_unpacker) &&
        zstd_find(zstd, "ZSTD_decompressDCtx", &zstd->decompress) &&
        zstd_find(zstd, "ZSTD_compressBound", &zstd->bound) &&
        zstd_find(zstd, "ZSTD_isError", &zstd->is_error))
        return true;
    zstd_unload(zstd);
    return false;
}
#endif

/* How long `from` is when it is compressed; 0 if it would not get shorter. */
static size_t zstd_pack(const struct zstd *zstd, uint8_t *to, size_t room, const uint8_t *from,
                        size_t size) {
    void *packer = zstd->library ? zstd_take(&spare_packer, zstd->packer) : NULL;
    if (!packer)
        return 0;
    size_t packed = zstd->compress(packer, to, room, from, size, 1);
    zstd_give_back(&spare_packer, packer, zstd->free_packer);
    return zstd->is_error(packed) || packed >= size ? 0 : packed;
}

static bool zstd_unpack(const struct zstd *zstd, uint8_t *to, size_t size, const uint8_t *from,
                        size_t packed) {
    void *unpacker = zstd_take(&spare_unpacker, zstd->unpacker);
    bool good = unpacker && zstd->decompress(unpacker, to, size, from, packed) == size;
    if (unpacker)
        zstd_give_back(&spare_unpacker, unpacker, zstd->free_unpacker);
    return good;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Where a block was put last. Position 0 has a block's head, never its bytes: it means "free". */
struct seen {
    XXH128_hash_t hash;
    uint64_t size, position;
};

struct rf_contents_writer {
    char path[4096], tail_path[4096];
    int file;
    uint64_t file_bytes;
    struct rf_contents_tail *tail;
    uint32_t chunk;        /* its length */
    uint64_t number;       /* of the chunk in the tail */
    uint64_t length;       /* of the stream */
    uint64_t put;          /* what the caller put */
    XXH64_state_t digest;  /* of the tail's bytes */
    struct rf_error error; /* of the first failure; the text is empty before */
    struct zstd zstd;
    size_t room; /* for a compressed chunk, behind this struct */
    struct seen seen[SEEN];
    uint8_t compressed[];
};

static size_t tail_size(const struct rf_contents_writer *writer) {
    return offsetof(struct rf_contents_tail, data) + writer->chunk;
}

static bool failed(const struct rf_contents_writer *writer) {
    return writer->error.text[0];
}

static void fill_head(struct rf_contents_head *head, const char *magic, uint32_t chunk,
                      uint64_t id) {
    memcpy(head->magic, magic, sizeof head->magic);
    head->version = RF_CONTENTS_VERSION;
    head->chunk_bytes = chunk;
    head->id = id;
    head->check = head_check(head);
}

/* What cannot be written whole is taken back: a torn chunk would be overwritten anyway, but the
   disk is full. */
static bool append(struct rf_contents_writer *writer, struct iovec *parts, int count) {
    struct rf_shield shield;
    rf_shield_raise(&shield);
    uint64_t at = writer->file_bytes;
    int cause = 0;
    for (; count && !cause; parts++, count--)
        while (parts->iov_len && !cause) {
            ssize_t wrote = pwrite(writer->file, parts->iov_base, parts->iov_len, (off_t)at);
            if (wrote <= 0) {
                if (!wrote || errno != EINTR)
                    cause = wrote ? errno : ENOSPC;
                continue;
            }
            at += (uint64_t)wrote;
            parts->iov_base = (char *)parts->iov_base + wrote;
            parts->iov_len -= (size_t)wrote;
        }
    if (cause && ftruncate(writer->file, (off_t)writer->file_bytes))
        at = writer->file_bytes; /* the torn chunk stays, and is told from a whole one */
    rf_shield_lower(&shield);
    errno = cause;
    if (!cause)
        writer->file_bytes = at;
    return !cause;
}

static bool append_chunk(struct rf_contents_writer *writer, const uint8_t *raw, uint32_t bytes) {
    struct rf_contents_chunk chunk = {.magic = RF_CONTENTS_CHUNK_MAGIC,
                                      .type = RF_CONTENTS_RAW,
                                      .number = writer->number,
                                      .raw = bytes,
                                      .stored = bytes};
    const uint8_t *payload = raw;
    size_t packed = zstd_pack(&writer->zstd, writer->compressed, writer->room, raw, bytes);
    if (packed) {
        chunk.type = RF_CONTENTS_ZSTD;
        chunk.stored = (uint32_t)packed;
        payload = writer->compressed;
    }
    chunk.check = chunk_check(&chunk, payload);
    struct iovec parts[] = {{&chunk, sizeof chunk}, {(void *)(uintptr_t)payload, chunk.stored}};
    return append(writer, parts, 2);
}

static bool append_end(struct rf_contents_writer *writer, uint64_t chunks) {
    struct rf_contents_chunk end = {
        .magic = RF_CONTENTS_CHUNK_MAGIC, .type = RF_CONTENTS_END, .number = chunks};
    end.check = chunk_check(&end, NULL);
    struct iovec part = {&end, sizeof end};
    return append(writer, &part, 1);
}

static bool create_file(struct rf_contents_writer *writer, uint64_t id, struct rf_error *error) {
    unlink(writer->path);
    writer->file = open(writer->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->file < 0)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot create it: %s", writer->path,
                       strerror(errno));
    struct rf_contents_head head;
    fill_head(&head, RF_CONTENTS_MAGIC, writer->chunk, id);
    struct iovec part = {&head, sizeof head};
    return append(writer, &part, 1) || rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot write: %s",
                                               writer->path, strerror(errno));
}

/* Every block is allocated here: a store into the mapping must never find the disk full. */
static bool create_tail(struct rf_contents_writer *writer, uint64_t id, struct rf_error *error) {
    unlink(writer->tail_path);
    int file = open(writer->tail_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot create it: %s", writer->tail_path,
                       strerror(errno));
    struct rf_shield shield;
    rf_shield_raise(&shield);
    int cause;
    do
        cause = posix_fallocate(file, 0, (off_t)tail_size(writer));
    while (cause == EINTR);
    rf_shield_lower(&shield);
    void *memory = MAP_FAILED;
    if (!cause) {
        memory = mmap(NULL, tail_size(writer), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        cause = errno;
    }
    close(file);
    if (memory == MAP_FAILED)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot set aside %zu KiB: %s",
                       writer->tail_path, tail_size(writer) >> 10, strerror(cause));
    writer->tail = memory;
    writer->tail->number = rf_seal(0);
    writer->tail->incomplete = rf_seal(0);
    writer->tail->committed = rf_contents_seal(0, XXH64_digest(&writer->digest));
    fill_head(&writer->tail->head, RF_CONTENTS_TAIL_MAGIC, writer->chunk, id);
    return true;
}

static void release(struct rf_contents_writer *writer) {
    if (writer->tail)
        munmap(writer->tail, tail_size(writer));
    if (writer->file >= 0)
        close(writer->file);
    zstd_unload(&writer->zstd);
    munmap(writer, sizeof *writer + writer->room);
}

struct rf_contents_writer *rf_contents_create(const char *path, uint32_t chunk,
                                              struct rf_error *error) {
    struct zstd zstd = {0};
    size_t room = zstd_load(&zstd) ? zstd.bound(chunk) : 0;
    /* Not from malloc: the heap of a program that is being debugged may be broken. */
    struct rf_contents_writer *writer = mmap(NULL, sizeof *writer + room, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (writer == MAP_FAILED) {
        zstd_unload(&zstd);
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", path);
        return NULL;
    }
    writer->zstd = zstd;
    writer->room = room;
    writer->chunk = chunk;
    writer->file = -1;
    XXH64_reset(&writer->digest, 0);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^ (uint64_t)getpid()
                                                                                     << 40;
    if (tail_name(writer->tail_path, sizeof writer->tail_path, path, error)) {
        snprintf(writer->path, sizeof writer->path, "%s", path);
        if (create_file(writer, id, error) && create_tail(writer, id, error))
            return writer;
        if (writer->file >= 0) {
            unlink(writer->path);
            unlink(writer->tail_path);
        }
    }
    release(writer);
    return NULL;
}

static void give_up(struct rf_contents_writer *writer, const char *reason) {
    struct rf_contents_tail *tail = writer->tail;
    rf_fail(&writer->error, RF_EXIT_ENVIRONMENT, "%s: cannot write: %s", writer->path, reason);
    snprintf(tail->reason, sizeof tail->reason, "%s", reason);
    __atomic_store_n(&tail->incomplete,
                     rf_seal((uint64_t)1 << 32 | rf_log_reason_check(tail->reason)),
                     __ATOMIC_RELEASE);
}

static bool next_chunk(struct rf_contents_writer *writer) {
    if (!append_chunk(writer, writer->tail->data, writer->chunk)) {
        give_up(writer, strerror(errno));
        return false;
    }
    /* From here on readers take the chunk from the file, and its bytes here may be overwritten. */
    writer->number++;
    __atomic_store_n(&writer->tail->number, rf_seal(writer->number), __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* and not before: what a killed process leaves */
    XXH64_reset(&writer->digest, 0);
    return true;
}

/* No system call unless the chunk is full. Nothing of it counts before commit(). */
static bool store(struct rf_contents_writer *writer, const void *data, size_t size) {
    const uint8_t *from = data;
    if (size >= LONGEST || writer->length + size >= LONGEST) {
        give_up(writer, strerror(EFBIG));
        return false;
    }
    while (size) {
        uint64_t used = writer->length - writer->number * writer->chunk;
        if (used == writer->chunk) {
            if (!next_chunk(writer))
                return false;
            used = 0;
        }
        size_t part = size < writer->chunk - used ? size : writer->chunk - used;
        memcpy(writer->tail->data + used, from, part);
        XXH64_update(&writer->digest, from, part);
        writer->length += part;
        from += part;
        size -= part;
    }
    return true;
}

static void commit(struct rf_contents_writer *writer, size_t size) {
    writer->put += size;
    __atomic_store_n(&writer->tail->committed,
                     rf_contents_seal(writer->length, XXH64_digest(&writer->digest)),
                     __ATOMIC_RELEASE);
}

void rf_contents_put(struct rf_contents_writer *writer, const void *data, size_t size) {
    if (size && !failed(writer) && store(writer, data, size))
        commit(writer, size);
}

/* varint length * 2, and the bytes; or varint length * 2 + 1, and varint how far back from here the
   same bytes begin. */
void rf_contents_put_block(struct rf_contents_writer *writer, const void *data, size_t size) {
    if (failed(writer))
        return;
    uint8_t head[2 * RF_VARINT_BYTES];
    struct seen now = {.size = size};
    struct seen *seen = NULL;
    uint8_t *end;
    if (size >= SHORTEST_REPEAT) {
        now.hash = XXH3_128bits(data, size);
        seen = &writer->seen[now.hash.low64 % SEEN];
        if (seen->position && seen->size == size && XXH128_isEqual(seen->hash, now.hash)) {
            end = rf_varint_put(head, (uint64_t)size << 1 | 1);
            end = rf_varint_put(end, writer->length - seen->position);
            if (store(writer, head, (size_t)(end - head)))
                commit(writer, size);
            return;
        }
    }
    end = rf_varint_put(head, (uint64_t)size << 1);
    now.position = writer->length + (uint64_t)(end - head);
    if (!store(writer, head, (size_t)(end - head)) || !store(writer, data, size))
        return;
    commit(writer, size);
    if (seen)
        *seen = now;
}

bool rf_contents_good(const struct rf_contents_writer *writer, struct rf_error *error) {
    if (failed(writer) && error)
        *error = writer->error;
    return !failed(writer);
}

uint64_t rf_contents_position(const struct rf_contents_writer *writer) {
    return writer->put;
}

bool rf_contents_close(struct rf_contents_writer *writer, struct rf_error *error) {
    bool good = rf_contents_good(writer, error);
    if (good) {
        uint32_t rest = (uint32_t)(writer->length - writer->number * writer->chunk);
        /* The tail counts for as long as it is there, so the two steps need no third one between.
         */
        if ((!rest || append_chunk(writer, writer->tail->data, rest)) &&
            append_end(writer, writer->number + (rest != 0)))
            unlink(writer->tail_path);
    }
    release(writer);
    return good;
}

/* ---- reading ------------------------------------------------------------------------------ */

struct cached {
    uint8_t *data; /* NULL: free */
    uint64_t number, used;
    size_t bytes;
};

struct rf_contents_reader {
    char path[4096], tail_path[4096];
    int file, tail; /* tail -1: there is none, or none to be trusted */
    uint64_t file_bytes;
    uint64_t id;
    uint32_t chunk;                  /* the length of all but the last */
    uint64_t tail_number, committed; /* as in the tail, the latter with its check */
    uint64_t *offsets;               /* of the chunks in the file */
    uint64_t chunks, offsets_room;
    uint64_t position;
    uint64_t end;           /* of what the files can hold */
    struct rf_error ending; /* what is wrong at the end; an empty text if nothing is */
    struct rf_error error;
    struct zstd zstd;
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
    bool whole = head->check == head_check(head);
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
    return reader->committed & (LONGEST - 1);
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
                 reader->tail_number > LONGEST / reader->chunk)
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
static bool read_chunk_head(const struct rf_contents_reader *reader, uint64_t number,
                            uint64_t offset, struct rf_contents_chunk *chunk,
                            struct rf_error *error) {
    size_t got = rf_read_at(reader->file, chunk, sizeof *chunk, offset);
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
    while (reader->tail < 0 || reader->chunks < reader->tail_number) {
        if (!read_chunk_head(reader, reader->chunks, offset, &chunk, error))
            return false;
        uint64_t next = offset + sizeof chunk + chunk.stored;
        if (chunk.type == RF_CONTENTS_END) {
            if (reader->tail >= 0 || chunk.check != chunk_check(&chunk, NULL))
                return damaged(reader, offset, error);
            return next == reader->file_bytes ||
                   rf_fail(error, RF_EXIT_TRACE, "%s: goes on after its end, at byte %" PRIu64,
                           reader->path, next);
        }
        /* Only the last one may be short: positions are turned into numbers by a division. */
        if (reader->end % reader->chunk || (reader->tail >= 0 && chunk.raw < reader->chunk))
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
    reader->file = reader->tail = -1;
    struct stat status;
    struct rf_contents_head head;
    if (!tail_name(reader->tail_path, sizeof reader->tail_path, path, error))
        goto fail;
    snprintf(reader->path, sizeof reader->path, "%s", path);
    reader->file = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->file < 0) {
        rf_fail(error, RF_EXIT_TRACE, "%s: cannot open it: %s", path, strerror(errno));
        goto fail;
    }
    if (fstat(reader->file, &status) || !S_ISREG(status.st_mode)) {
        rf_fail(error, RF_EXIT_TRACE, "%s: is not a regular file", path);
        goto fail;
    }
    reader->file_bytes = (uint64_t)status.st_size;
    if (!read_head(reader->file, path, RF_CONTENTS_MAGIC, &head, error))
        goto fail;
    reader->id = head.id;
    reader->chunk = head.chunk_bytes;
    reader->stored = malloc(reader->chunk);
    if (!reader->stored) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", path);
        goto fail;
    }
    zstd_load(&reader->zstd);
    int tail = open(reader->tail_path, O_RDONLY | O_CLOEXEC);
    if (tail < 0 && errno != ENOENT)
        rf_fail(&reader->ending, RF_EXIT_TRACE, "%s: cannot open it: %s", reader->tail_path,
                strerror(errno));
    if (tail >= 0 && open_tail(reader, tail))
        reader->tail = tail;
    else if (tail >= 0)
        close(tail);
    struct rf_error found = {0};
    if (!find_chunks(reader, &found)) {
        /* Without the tail that it needs, the file is cut off; the tail is the cause then. */
        if (reader->tail >= 0 || !reader->ending.text[0])
            reader->ending = found;
    } else if (reader->tail < 0) {
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
    size_t got = rf_read_at(reader->file, reader->stored, chunk.stored, offset + sizeof chunk);
    if (got < chunk.stored)
        return rf_fail(&reader->error, RF_EXIT_TRACE, "%s: cannot be read at byte %" PRIu64,
                       reader->path, offset + sizeof chunk + got);
    if (chunk.type == RF_CONTENTS_END || chunk.check != chunk_check(&chunk, reader->stored))
        return rf_fail(&reader->error, RF_EXIT_TRACE,
                       "%s: is damaged between byte %" PRIu64 " and byte %" PRIu64
                       ": the checksum does not fit",
                       reader->path, offset, offset + sizeof chunk + chunk.stored);
    to->bytes = chunk.raw;
    if (chunk.type == RF_CONTENTS_RAW) {
        memcpy(to->data, reader->stored, chunk.raw);
        return true;
    }
    if (!reader->zstd.library) {
        rf_fail(&reader->error, RF_EXIT_ENVIRONMENT,
                "%s: is compressed, and libzstd.so.1 cannot be loaded to read it", reader->path);
        return rf_hint(&reader->error, "apt install libzstd1");
    }
    if (!zstd_unpack(&reader->zstd, to->data, chunk.raw, reader->stored, chunk.stored))
        return damaged(reader, offset, &reader->error);
    return true;
}

static bool take_tail(struct rf_contents_reader *reader, struct cached *to) {
    size_t start = offsetof(struct rf_contents_tail, data);
    to->bytes = committed_length(reader) - reader->tail_number * reader->chunk;
    size_t got = rf_read_at(reader->tail, to->data, to->bytes, start);
    return got == to->bytes || rf_fail(&reader->error, RF_EXIT_TRACE, "%s: is cut off at byte %zu",
                                       reader->tail_path, start + got);
}

/* The chunk with the last put is checked up to there by the tail's own check, wherever it lies. */
static bool check_committed(struct rf_contents_reader *reader, const struct cached *chunk) {
    uint64_t length = committed_length(reader);
    if (reader->tail < 0 || (length - 1) / reader->chunk != chunk->number)
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
    const struct cached *end = oldest + (reader->looks_back ? CACHED : 1);
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

void rf_contents_reader_close(struct rf_contents_reader *reader) {
    if (!reader)
        return;
    for (unsigned i = 0; i < CACHED; i++)
        free(reader->cached[i].data);
    if (reader->file >= 0)
        close(reader->file);
    if (reader->tail >= 0)
        close(reader->tail);
    zstd_unload(&reader->zstd);
    free(reader->offsets);
    free(reader->stored);
    free(reader);
}
