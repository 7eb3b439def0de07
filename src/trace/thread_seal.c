/* Writing a log of threads anew when its process is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"
#include "thread_coding.h"
#include "thread_reader.h"

#define CODED_FROM 256u /* short threads need no models when they are read */

struct sealing {
    struct rf_thread_log *log;
    FILE *file;
    uint64_t at; /* where in the file the next chunk comes */
    uint8_t *front;
    size_t front_bytes;
    struct rf_thread_coding *coding;
    uint32_t entries;
    size_t bytes;
    uint8_t entry_bytes[RF_THREAD_LOG_CHUNK];
    struct rf_thread_log_chunk chunk; /* and then what is in it */
    uint8_t coded[RF_THREAD_LOG_CHUNK];
};

static void write_chunk(struct sealing *sealing) {
    size_t coded = 0;
    if (!sealing->bytes)
        return;
    if (sealing->bytes >= CODED_FROM)
        coded =
            rf_thread_encode(sealing->coding, sealing->entry_bytes, sealing->bytes, sealing->coded);
    if (!coded)
        memcpy(sealing->coded, sealing->entry_bytes, sealing->bytes);
    struct rf_thread_log_chunk *chunk = &sealing->chunk;
    chunk->bytes = (uint32_t)(coded ? coded : sealing->bytes);
    chunk->entries = coded ? sealing->entries : 0;
    chunk->check = rf_thread_log_chunk_check(chunk, chunk->bytes, sealing->at);
    fwrite(chunk, sizeof *chunk + chunk->bytes, 1, sealing->file);
    sealing->at += sizeof *chunk + chunk->bytes;
    sealing->entries = 0;
    sealing->bytes = 0;
}

/* The bytes of all entries that count. False if some cannot be read. */
static bool seal_thread(struct sealing *sealing, struct rf_thread_log_cursor *cursor) {
    struct rf_thread_log_entry entry;
    struct rf_error ignored;
    int result;
    while ((result = rf_thread_log_next(cursor, &entry, &ignored)) == RF_READ_EVENT) {
        size_t size = (size_t)(cursor->at - cursor->begin);
        if (sealing->bytes + size > RF_THREAD_LOG_CHUNK)
            write_chunk(sealing);
        memcpy(sealing->entry_bytes + sealing->bytes, cursor->begin, size);
        sealing->bytes += size;
        sealing->entries++;
    }
    write_chunk(sealing);
    return result == RF_READ_END;
}

static bool seal_threads(struct sealing *sealing) {
    uint32_t threads = rf_thread_log_threads(sealing->log);
    struct rf_thread_log_thread *records =
        (struct rf_thread_log_thread *)(sealing->front + sealing->front_bytes) - threads;
    bool good = fseeko(sealing->file, (off_t)sealing->front_bytes, SEEK_SET) == 0;
    for (uint32_t i = 0; i < threads && good; i++) {
        struct rf_thread_log_cursor cursor;
        if (!rf_thread_log_begin(sealing->log, i, &cursor))
            continue;
        records[i] = *cursor.record;
        records[i].chunks = sealing->at;
        good = seal_thread(sealing, &cursor);
        rf_thread_log_leave(&cursor);
    }
    return good;
}

/* All that comes before the chunks. */
static bool begin_front(struct sealing *sealing) {
    const struct rf_thread_log_head *head = rf_thread_log_head(sealing->log);
    const size_t modules = head->modules * sizeof *head->module;
    const size_t sites = head->sites * sizeof *head->site;
    sealing->at = sealing->front_bytes =
        RF_THREAD_LOG_FRONT + modules + sites +
        rf_thread_log_threads(sealing->log) * sizeof(struct rf_thread_log_thread);
    const size_t page = _Alignof(struct rf_thread_log_head);
    const size_t room = (sealing->front_bytes + page - 1) / page * page;
    sealing->front = aligned_alloc(page, room);
    if (!sealing->front)
        return false;
    memset(sealing->front, 0, room);
    memcpy(sealing->front, head, RF_THREAD_LOG_FRONT);
    memcpy(sealing->front + RF_THREAD_LOG_FRONT, head->module, modules);
    memcpy(sealing->front + RF_THREAD_LOG_FRONT + modules, head->site, sites);
    return true;
}

static bool write_front(struct sealing *sealing) {
    struct rf_thread_log_head *head = (struct rf_thread_log_head *)sealing->front;
    head->version = RF_THREAD_LOG_SEALED;
    head->block_bytes = head->first_block = head->blocks = 0;
    head->check = rf_thread_log_check(head);
    head->bytes = sealing->at;
    head->seal = rf_thread_log_seal_of(head, sealing->front_bytes);
    return fseeko(sealing->file, 0, SEEK_SET) == 0 &&
           fwrite(sealing->front, sealing->front_bytes, 1, sealing->file) == 1;
}

static bool write_sealed(struct sealing *sealing, const char *path) {
    sealing->coding = rf_thread_coding_new();
    sealing->file = fopen(path, "wbe");
    bool good = sealing->coding && sealing->file && begin_front(sealing) && seal_threads(sealing) &&
                write_front(sealing) && !ferror(sealing->file);
    if (sealing->file)
        good = fclose(sealing->file) == 0 && good;
    free(sealing->front);
    rf_thread_coding_free(sealing->coding);
    return good;
}

/* The sealed log takes the place of the other one at once, when it is whole. */
void rf_thread_log_seal(const char *directory, int rank) {
    char path[4096 + 32], new_path[sizeof path + 4];
    struct rf_error ignored;
    struct sealing *sealing = calloc(1, sizeof *sealing);
    snprintf(path, sizeof path, "%s/rank-%d.threads", directory, rank);
    snprintf(new_path, sizeof new_path, "%s.new", path);
    if (sealing && (sealing->log = rf_thread_log_open(directory, rank, &ignored))) {
        if (rf_thread_log_head(sealing->log)->version == RF_THREAD_LOG_VERSION &&
            rf_thread_log_whole(sealing->log, NULL) &&
            (!write_sealed(sealing, new_path) || rename(new_path, path) != 0))
            unlink(new_path);
        rf_thread_log_close(sealing->log);
    }
    free(sealing);
}
