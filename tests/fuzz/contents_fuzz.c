/* Any bytes as kept contents. The first byte tells whether a tail comes before the file, and how
   they are read. What no mutation would get past is put right: magic numbers, checksums. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/contents_format.h"
#include "trace/log.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static char directory[64], path[128], tail_path[128];

static void clean(void) {
    unlink(path);
    unlink(tail_path);
    rmdir(directory);
}

/* A name for an anonymous file; without data there is no such name. */
static void set(const char *name, int *file, const void *data, size_t bytes) {
    char target[64];
    if (!*file && (*file = memfd_create("contents", 0)) < 0)
        abort();
    unlink(name);
    snprintf(target, sizeof target, "/proc/self/fd/%d", *file);
    if (data && (ftruncate(*file, (off_t)bytes) ||
                 pwrite(*file, data, bytes, 0) != (ssize_t)bytes || symlink(target, name)))
        abort();
}

static void repair_head(struct rf_contents_head *head, const char *magic) {
    memcpy(head->magic, magic, sizeof head->magic);
    head->version = RF_CONTENTS_VERSION;
    head->chunk_bytes = RF_CONTENTS_CHUNK;
    head->id = 1;
    head->check = XXH3_64bits(head, offsetof(struct rf_contents_head, check));
}

static void repair_tail(struct rf_contents_tail *tail) {
    uint64_t number, length;
    repair_head(&tail->head, RF_CONTENTS_TAIL_MAGIC);
    tail->number &= 3;
    number = tail->number;
    tail->number = rf_seal(number);
    length = number * RF_CONTENTS_CHUNK + tail->committed % RF_CONTENTS_CHUNK;
    tail->committed =
        rf_contents_seal(length, XXH64(tail->data, length - number * RF_CONTENTS_CHUNK, 0));
    tail->incomplete = rf_seal(0);
}

static void repair_file(uint8_t *data, size_t bytes) {
    struct rf_contents_head head;
    struct rf_contents_chunk chunk;
    if (bytes < sizeof head)
        return;
    memcpy(&head, data, sizeof head);
    repair_head(&head, RF_CONTENTS_MAGIC);
    memcpy(data, &head, sizeof head);
    uint64_t number = 0;
    for (size_t at = sizeof head; bytes - at >= sizeof chunk; number++) {
        memcpy(&chunk, data + at, sizeof chunk);
        uint8_t *payload = data + at + sizeof chunk;
        chunk.magic = RF_CONTENTS_CHUNK_MAGIC;
        chunk.type %= 4;
        chunk.number = number;
        chunk.stored %= RF_CONTENTS_CHUNK + 1;
        /* A third chunk and more is rare unless the lengths agree. */
        if (chunk.type == RF_CONTENTS_RAW)
            chunk.raw = chunk.stored;
        if (chunk.stored > bytes - at - sizeof chunk)
            chunk.stored = 0;
        XXH3_state_t state;
        XXH3_64bits_reset(&state);
        XXH3_64bits_update(&state, &chunk, offsetof(struct rf_contents_chunk, check));
        XXH3_64bits_update(&state, payload, chunk.stored);
        chunk.check = XXH3_64bits_digest(&state);
        memcpy(data + at, &chunk, sizeof chunk);
        at += sizeof chunk + chunk.stored;
    }
}

static void read_all(unsigned how) {
    struct rf_error error;
    struct rf_contents_reader *reader = rf_contents_open(path, &error);
    if (!reader)
        return;
    uint8_t facts[8];
    bool good = true;
    for (unsigned i = 0; good; i++) {
        uint64_t size;
        if (how >> i % 7 & 1) {
            good = rf_contents_get(reader, facts, i % sizeof facts + 1);
            continue;
        }
        good = rf_contents_block_size(reader, &size);
        if (!good)
            break;
        uint8_t *block = malloc(size + 1);
        if (!block)
            abort();
        good = rf_contents_get_block(reader, block, size);
        free(block);
    }
    if (rf_contents_get(reader, facts, sizeof facts) && rf_contents_reader_error(reader)->text[0])
        abort();
    rf_contents_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct rf_contents_tail tail;
    static int file, tail_file;
    if (!directory[0]) {
        snprintf(directory, sizeof directory, "/tmp/refrain-fuzz-XXXXXX");
        if (!mkdtemp(directory))
            abort();
        snprintf(path, sizeof path, "%s/contents", directory);
        snprintf(tail_path, sizeof tail_path, "%s/contents.tail", directory);
        atexit(clean);
    }
    if (!bytes)
        return 0;
    unsigned how = data[0];
    const uint8_t *from = data + 1;
    size_t left = bytes - 1;
    bool has_tail = how & 1;
    if (has_tail) {
        size_t part = left < sizeof tail ? left : sizeof tail;
        memset(&tail, 0, sizeof tail);
        memcpy(&tail, from, part);
        repair_tail(&tail);
        from += part;
        left -= part;
    }
    uint8_t *copy = malloc(left + 1);
    if (!copy)
        abort();
    memcpy(copy, from, left);
    repair_file(copy, left);
    set(path, &file, copy, left);
    set(tail_path, &tail_file, has_tail ? &tail : NULL, sizeof tail);
    free(copy);
    read_all(how >> 1);
    return 0;
}
