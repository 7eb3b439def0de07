#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "contents_format.h"
#include "log.h"
#include "own_file.h"
#include "packing.h"
#include "varint.h"
#include "writer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A reference to a shorter block would hardly be shorter than the block. */
#define SHORTEST_REPEAT 64u
#define SEEN (1u << 16)

/* Where a block was put last. Position 0 has a block's head, never its bytes: it means "free". */
struct seen {
    XXH128_hash_t hash;
    uint64_t size, position;
};

struct rf_contents_writer {
    char path[4096], tail_path[4096];
    struct rf_own_file file;
    uint64_t file_bytes;
    struct rf_contents_tail *tail;
    uint32_t chunk;        /* its length */
    uint64_t number;       /* of the chunk in the tail */
    uint64_t length;       /* of the stream */
    uint64_t put;          /* what the caller put */
    XXH64_state_t digest;  /* of the tail's bytes */
    struct rf_error error; /* of the first failure; the text is empty before */
    struct rf_packing packing;
    bool plain;  /* nothing is compressed any more */
    size_t room; /* for a compressed chunk, behind this struct */
    bool dense;  /* the last chunk did not get shorter */
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
    head->check = rf_contents_head_check(head);
}

/* What cannot be written whole is taken back: a torn chunk would be overwritten anyway, but the
   disk is full. */
static bool append(struct rf_contents_writer *writer, struct iovec *parts, int count) {
    struct rf_shield shield;
    rf_shield_raise(&shield);
    uint64_t at = writer->file_bytes;
    bool open = rf_own_file_ensure(&writer->file, writer->path, O_RDWR);
    int file = writer->file.number, cause = open ? 0 : errno;
    for (; count && !cause; parts++, count--)
        while (parts->iov_len && !cause) {
            ssize_t wrote = pwrite(file, parts->iov_base, parts->iov_len, (off_t)at);
            if (wrote <= 0) {
                if (!wrote || errno != EINTR)
                    cause = wrote ? errno : ENOSPC;
                continue;
            }
            at += (uint64_t)wrote;
            parts->iov_base = (char *)parts->iov_base + wrote;
            parts->iov_len -= (size_t)wrote;
        }
    if (cause && open && ftruncate(file, (off_t)writer->file_bytes))
        at = writer->file_bytes; /* the torn chunk stays, and is told from a whole one */
    rf_shield_lower(&shield);
    errno = cause;
    if (!cause)
        writer->file_bytes = at;
    return !cause;
}

/* What does not get shorter comes in long runs. There, a piece of a chunk is tried before it. */
static size_t compress_chunk(struct rf_contents_writer *writer, const uint8_t *raw,
                             uint32_t bytes) {
    uint32_t piece = bytes / 16;
    if (writer->plain)
        return 0;
    if (writer->dense && piece &&
        !rf_compress(&writer->packing, writer->compressed, writer->room, raw + bytes / 2, piece))
        return 0;
    size_t packed = rf_compress(&writer->packing, writer->compressed, writer->room, raw, bytes);
    writer->dense = !packed;
    return packed;
}

static bool append_chunk(struct rf_contents_writer *writer, const uint8_t *raw, uint32_t bytes) {
    struct rf_contents_chunk chunk = {.magic = RF_CONTENTS_CHUNK_MAGIC,
                                      .type = RF_CONTENTS_RAW,
                                      .number = writer->number,
                                      .raw = bytes,
                                      .stored = bytes};
    const uint8_t *payload = raw;
    size_t packed = compress_chunk(writer, raw, bytes);
    if (packed) {
        chunk.type = RF_CONTENTS_ZSTD;
        chunk.stored = (uint32_t)packed;
        payload = writer->compressed;
    }
    chunk.check = rf_contents_chunk_check(&chunk, payload);
    struct iovec parts[] = {{&chunk, sizeof chunk}, {(void *)(uintptr_t)payload, chunk.stored}};
    return append(writer, parts, 2);
}

static bool append_end(struct rf_contents_writer *writer, uint64_t chunks) {
    struct rf_contents_chunk end = {
        .magic = RF_CONTENTS_CHUNK_MAGIC, .type = RF_CONTENTS_END, .number = chunks};
    end.check = rf_contents_chunk_check(&end, NULL);
    struct iovec part = {&end, sizeof end};
    return append(writer, &part, 1);
}

static bool create_file(struct rf_contents_writer *writer, uint64_t id, struct rf_error *error) {
    unlink(writer->path);
    writer->file = rf_own_file(open(writer->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (writer->file.number < 0)
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
    madvise(memory, tail_size(writer), MADV_RANDOM); /* there is nothing to be read ahead */
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
    rf_own_file_close(&writer->file);
    rf_packing_unload(&writer->packing);
    munmap(writer, sizeof *writer + writer->room);
}

struct rf_contents_writer *rf_contents_create(const char *path, uint32_t chunk,
                                              struct rf_error *error) {
    struct rf_packing packing = {0};
    size_t room = rf_packing_load(&packing) ? packing.bound(chunk) : 0;
    /* Not from malloc: the heap of a program that is being debugged may be broken. */
    struct rf_contents_writer *writer = mmap(NULL, sizeof *writer + room, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (writer == MAP_FAILED) {
        rf_packing_unload(&packing);
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", path);
        return NULL;
    }
    writer->packing = packing;
    writer->room = room;
    writer->chunk = chunk;
    writer->file.number = -1;
    XXH64_reset(&writer->digest, 0);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^ (uint64_t)getpid()
                                                                                     << 40;
    if (rf_contents_tail_name(writer->tail_path, sizeof writer->tail_path, path, error)) {
        snprintf(writer->path, sizeof writer->path, "%s", path);
        if (create_file(writer, id, error) && create_tail(writer, id, error))
            return writer;
        if (writer->file.number >= 0) {
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

static bool next_chunk(struct rf_contents_writer *writer, const uint8_t *bytes) {
    if (!append_chunk(writer, bytes, writer->chunk)) {
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
    if (size >= RF_CONTENTS_LONGEST || writer->length + size >= RF_CONTENTS_LONGEST) {
        give_up(writer, strerror(EFBIG));
        return false;
    }
    while (size) {
        uint64_t used = writer->length - writer->number * writer->chunk;
        if (used == writer->chunk) {
            if (!next_chunk(writer, writer->tail->data))
                return false;
            used = 0;
        }
        size_t part = size < writer->chunk - used ? size : writer->chunk - used;
        /* A chunk in the middle of a block need not be in the tail: it does not hold what was put
           last. It is read more than once, so a thread that writes to its message meanwhile, which
           no correct program does, leaves a chunk that is damaged. */
        bool middle = !used && size > writer->chunk;
        if (middle && !next_chunk(writer, from))
            return false;
        if (!middle) {
            memcpy(writer->tail->data + used, from, part);
            XXH64_update(&writer->digest, from, part);
        }
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

void rf_contents_stop_packing(struct rf_contents_writer *writer) {
    writer->plain = true;
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
