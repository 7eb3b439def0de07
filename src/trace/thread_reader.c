#include "thread_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "thread_coding.h"

struct rf_thread_log {
    char *path;
    const uint8_t *file; /* mapped */
    size_t bytes;
    const struct rf_thread_log_head *head; /* in the file, or */
    struct rf_thread_log_head *made;       /* sealed: made of what is there */
    uint32_t blocks;                       /* that are in the file */
    uint32_t threads;
    uint32_t *first;                            /* the first block of each thread, 0: it has none */
    const struct rf_thread_log_thread *records; /* sealed: of each thread */
    struct rf_error damage;                     /* the first, if what is not damaged can be read */
};

static char *path_of(const char *directory, int rank) {
    char *path = NULL;
    return asprintf(&path, "%s/rank-%d.threads", directory, rank) < 0 ? NULL : path;
}

bool rf_thread_log_exist(const char *directory, int rank) {
    char *path = path_of(directory, rank);
    bool found = path && access(path, F_OK) == 0;
    free(path);
    return found;
}

static bool damaged_at(const struct rf_thread_log *turns, uint64_t offset, struct rf_error *error) {
    return rf_fail(error, RF_EXIT_TRACE, "%s: is damaged at byte %" PRIu64, turns->path, offset);
}

static bool damaged(const struct rf_thread_log *turns, const void *where, struct rf_error *error) {
    return damaged_at(turns, (uint64_t)((const uint8_t *)where - turns->file), error);
}

static bool cut_off(const struct rf_thread_log *turns, struct rf_error *error) {
    return rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %zu", turns->path, turns->bytes);
}

/* What else there is can be read. */
static void note_damage(struct rf_thread_log *turns, const void *where) {
    if (!turns->damage.code)
        damaged(turns, where, &turns->damage);
}

static bool map_file(struct rf_thread_log *turns, struct rf_error *error) {
    int file = open(turns->path, O_RDONLY | O_CLOEXEC);
    struct stat facts = {0};
    void *mapped = MAP_FAILED;
    if (file < 0 || fstat(file, &facts) != 0) {
        rf_fail(error, RF_EXIT_TRACE, "%s: cannot open it: %s", turns->path, strerror(errno));
    } else if ((turns->bytes = (size_t)facts.st_size) < RF_THREAD_LOG_FRONT) {
        cut_off(turns, error);
    } else {
        mapped = mmap(NULL, turns->bytes, PROT_READ, MAP_SHARED, file, 0);
        if (mapped == MAP_FAILED)
            rf_fail(error, RF_EXIT_TRACE, "%s: cannot be mapped: %s", turns->path, strerror(errno));
    }
    if (file >= 0)
        close(file);
    if (mapped == MAP_FAILED)
        return false;
    turns->file = mapped;
    turns->head = mapped;
    return true;
}

static bool is_sealed(const struct rf_thread_log *turns) {
    return turns->head->version == RF_THREAD_LOG_SEALED;
}

static bool check_head(const struct rf_thread_log *turns, int rank, struct rf_error *error) {
    const struct rf_thread_log_head *head = turns->head;
    if (memcmp(head->magic, RF_THREAD_LOG_MAGIC, sizeof head->magic) != 0)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is not a log of threads of Refrain (byte 0)",
                       turns->path);
    if (head->version > RF_THREAD_LOG_SEALED)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: was written by a newer Refrain (format %" PRIu32
                       ", this one reads up to %u), or is damaged at byte 8",
                       turns->path, head->version, RF_THREAD_LOG_SEALED);
    uint32_t block = is_sealed(turns) ? 0 : RF_THREAD_LOG_BLOCK;
    uint32_t first = block ? sizeof *head / block : 0;
    if (head->check != rf_thread_log_check(head) || !head->version || head->block_bytes != block ||
        head->first_block != first)
        return damaged(turns, &head->version, error);
    if (head->rank != rank && head->rank != RF_THREAD_LOG_NAMELESS)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is the log of rank %" PRId32 " (byte %td)",
                       turns->path, head->rank, (const char *)&head->rank - (const char *)head);
    if (head->threads > RF_THREAD_LOG_THREADS || head->sites > RF_THREAD_LOG_SITES ||
        head->modules > RF_THREAD_LOG_MODULES || head->blocks < first)
        return damaged(turns, &head->blocks, error);
    return true;
}

static void check_tables(struct rf_thread_log *turns) {
    const struct rf_thread_log_head *head = turns->head;
    for (uint32_t i = 0; i < head->modules; i++)
        if (!rf_thread_log_module(turns, i))
            note_damage(turns, &head->module[i]);
    for (uint32_t i = 1; i < head->sites; i++)
        if (!rf_thread_log_site(turns, i))
            note_damage(turns, &head->site[i]);
}

/* ---- blocks ---- */

static const struct rf_thread_log_block *block_at(const struct rf_thread_log *turns,
                                                  uint32_t number) {
    return (const struct rf_thread_log_block *)(turns->file + (size_t)number * RF_THREAD_LOG_BLOCK);
}

/* Finds where each thread begins. */
static bool find_threads(struct rf_thread_log *turns, struct rf_error *error) {
    turns->blocks = (uint32_t)(turns->bytes / RF_THREAD_LOG_BLOCK);
    if (turns->blocks > turns->head->blocks)
        turns->blocks = turns->head->blocks;
    turns->first = calloc(turns->threads ? turns->threads : 1, sizeof *turns->first);
    if (!turns->first)
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", turns->path);
    for (uint32_t i = turns->head->first_block; i < turns->blocks; i++) {
        const struct rf_thread_log_block *block = block_at(turns, i);
        const struct rf_thread_log_thread *record =
            (const struct rf_thread_log_thread *)(block + 1);
        if (block->place || !block->begun)
            continue; /* a later one, or one that its thread had no time to begin */
        if (block->thread < turns->threads && !turns->first[block->thread] &&
            record->number == block->thread)
            turns->first[block->thread] = i;
        else
            note_damage(turns, block);
    }
    return true;
}

static bool open_blocks(struct rf_thread_log *turns, struct rf_error *error) {
    if (turns->bytes < sizeof *turns->head)
        return cut_off(turns, error);
    check_tables(turns);
    return find_threads(turns, error);
}

/* ---- chunks ---- */

/* What follows the chunk at `offset`; NULL if it is not whole. */
static const uint8_t *chunk_at(const struct rf_thread_log *turns, uint64_t offset, uint64_t end,
                               struct rf_thread_log_chunk *chunk) {
    if (end > turns->bytes)
        end = turns->bytes;
    if (offset > end || end - offset < sizeof *chunk)
        return NULL;
    const uint8_t *at = turns->file + offset;
    memcpy(chunk, at, sizeof *chunk);
    if (chunk->bytes > end - offset - sizeof *chunk ||
        chunk->check != rf_thread_log_chunk_check(at, chunk->bytes, offset))
        return NULL;
    return at + sizeof *chunk;
}

/* The chunks of a thread end where those of the next one begin. */
static uint64_t chunks_end(const struct rf_thread_log *turns, uint32_t thread) {
    for (uint32_t i = thread + 1; i < turns->threads; i++)
        if (turns->records[i].chunks)
            return turns->records[i].chunks;
    return turns->head->bytes;
}

/* Chunks are checked before anything is read: who replays wants to know at once. */
static void check_chunks(struct rf_thread_log *turns, uint64_t begin) {
    for (uint32_t i = 0; i < turns->threads; i++) {
        const struct rf_thread_log_thread *record = &turns->records[i];
        if (!record->chunks)
            continue;
        uint64_t end = chunks_end(turns, i);
        if (record->number != i || record->chunks != begin || end < begin)
            note_damage(turns, record);
        struct rf_thread_log_chunk chunk;
        while (begin < end && chunk_at(turns, begin, end, &chunk))
            begin += sizeof chunk + chunk.bytes;
        if (begin < end && !turns->damage.code)
            damaged_at(turns, begin, &turns->damage);
        begin = end;
    }
}

/* A head with the tables in their places. */
static struct rf_thread_log_head *whole_head(const struct rf_thread_log *turns) {
    struct rf_thread_log_head *head =
        aligned_alloc(_Alignof(struct rf_thread_log_head), sizeof *head);
    if (!head)
        return NULL;
    memset(head, 0, sizeof *head);
    memcpy(head, turns->file, RF_THREAD_LOG_FRONT);
    const uint8_t *at = turns->file + RF_THREAD_LOG_FRONT;
    memcpy(head->module, at, head->modules * sizeof *head->module);
    at += head->modules * sizeof *head->module;
    memcpy(head->site, at, head->sites * sizeof *head->site);
    return head;
}

static bool open_chunks(struct rf_thread_log *turns, struct rf_error *error) {
    const struct rf_thread_log_head *head = turns->head;
    const size_t records = RF_THREAD_LOG_FRONT + head->modules * sizeof *head->module +
                           head->sites * sizeof *head->site;
    const size_t front = records + head->threads * sizeof *turns->records;
    if (turns->bytes < front)
        return cut_off(turns, error);
    if (head->seal != rf_thread_log_seal_of(head, front))
        return damaged(turns, &head->blocks, error);
    if (!(turns->head = turns->made = whole_head(turns)))
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", turns->path);
    turns->records = (const struct rf_thread_log_thread *)(turns->file + records);
    if (turns->bytes < head->bytes)
        cut_off(turns, &turns->damage);
    else if (turns->bytes > head->bytes)
        rf_fail(&turns->damage, RF_EXIT_TRACE, "%s: goes on behind its end at byte %" PRIu64,
                turns->path, head->bytes);
    check_chunks(turns, front);
    return true;
}

struct rf_thread_log *rf_thread_log_open(const char *directory, int rank, struct rf_error *error) {
    struct rf_thread_log *turns = calloc(1, sizeof *turns);
    if (!turns || !(turns->path = path_of(directory, rank))) {
        free(turns);
        rf_fail(error, RF_EXIT_TRACE, "rank-%d.threads: out of memory", rank);
        return NULL;
    }
    if (map_file(turns, error) && check_head(turns, rank, error)) {
        turns->threads = turns->head->threads;
        if (is_sealed(turns) ? open_chunks(turns, error) : open_blocks(turns, error))
            return turns;
    }
    rf_thread_log_close(turns);
    return NULL;
}

void rf_thread_log_close(struct rf_thread_log *turns) {
    if (!turns)
        return;
    if (turns->file)
        munmap((void *)turns->file, turns->bytes);
    free(turns->made);
    free(turns->first);
    free(turns->path);
    free(turns);
}

bool rf_thread_log_whole(const struct rf_thread_log *turns, struct rf_error *error) {
    if (turns->damage.code && error)
        *error = turns->damage;
    return !turns->damage.code;
}

const struct rf_thread_log_head *rf_thread_log_head(const struct rf_thread_log *turns) {
    return turns->head;
}

uint32_t rf_thread_log_threads(const struct rf_thread_log *turns) {
    return turns->threads;
}

const struct rf_thread_log_thread *rf_thread_log_thread(const struct rf_thread_log *turns,
                                                        uint32_t number) {
    if (number >= turns->threads)
        return NULL;
    if (turns->records)
        return turns->records[number].chunks ? &turns->records[number] : NULL;
    return turns->first[number]
               ? (const struct rf_thread_log_thread *)(block_at(turns, turns->first[number]) + 1)
               : NULL;
}

/* Where the log could not be lengthened, those after it were counted in a part of the threads. */
uint64_t rf_thread_log_recorded(const struct rf_thread_log *turns,
                                const struct rf_thread_log_thread *record) {
    return turns->head->stopped && record->at_exit < record->done ? record->at_exit : record->done;
}

const struct rf_thread_log_site *rf_thread_log_site(const struct rf_thread_log *turns,
                                                    uint32_t number) {
    if (number == 0 || number >= turns->head->sites)
        return NULL;
    const struct rf_thread_log_site *site = &turns->head->site[number];
    return site->check == rf_thread_log_site_check(site, number) ? site : NULL;
}

const struct rf_log_module *rf_thread_log_module(const struct rf_thread_log *turns,
                                                 uint32_t number) {
    if (number >= turns->head->modules)
        return NULL;
    const struct rf_log_module *module = &turns->head->module[number];
    return module->check == rf_log_module_check(module, number) ? module : NULL;
}

/* ---- entries ---- */

static void enter(struct rf_thread_log_cursor *cursor, const struct rf_thread_log_block *block) {
    cursor->block = block;
    cursor->at = (const uint8_t *)(block + 1);
    if (block->place == 0)
        cursor->at += sizeof(struct rf_thread_log_thread);
    cursor->end = (const uint8_t *)block + RF_THREAD_LOG_BLOCK;
}

bool rf_thread_log_begin(const struct rf_thread_log *turns, uint32_t thread,
                         struct rf_thread_log_cursor *cursor) {
    *cursor = (struct rf_thread_log_cursor){.turns = turns,
                                            .record = rf_thread_log_thread(turns, thread)};
    if (!cursor->record)
        return false;
    if (!turns->records) {
        enter(cursor, block_at(turns, turns->first[thread]));
    } else {
        cursor->chunk = cursor->record->chunks;
        cursor->chunks_end = chunks_end(turns, thread);
    }
    return true;
}

void rf_thread_log_leave(struct rf_thread_log_cursor *cursor) {
    rf_thread_coding_free(cursor->coding);
    cursor->coding = NULL;
}

/* Goes on to the next block of the thread. */
static int next_block(struct rf_thread_log_cursor *cursor, struct rf_error *error) {
    const struct rf_thread_log *turns = cursor->turns;
    const struct rf_thread_log_block *from = cursor->block, *block;
    if (!from->next)
        return RF_READ_END;
    if (from->next >= turns->blocks) {
        /* A process that still writes may have come further since the file was opened. */
        if (!turns->head->finished)
            return RF_READ_END;
        if (rf_thread_log_whole(turns, error))
            damaged(turns, &from->next, error);
        return RF_READ_DAMAGED;
    }
    block = block_at(turns, from->next);
    if (block->thread != from->thread || block->place != from->place + 1) {
        damaged(turns, block, error);
        return RF_READ_DAMAGED;
    }
    enter(cursor, block);
    return RF_READ_EVENT;
}

static int next_chunk(struct rf_thread_log_cursor *cursor, struct rf_error *error) {
    const struct rf_thread_log *turns = cursor->turns;
    struct rf_thread_log_chunk chunk;
    if (cursor->chunk >= cursor->chunks_end)
        return RF_READ_END;
    const uint8_t *payload = chunk_at(turns, cursor->chunk, cursor->chunks_end, &chunk);
    if (!payload || chunk.entries > RF_THREAD_LOG_CHUNK) {
        if (turns->bytes < cursor->chunks_end)
            cut_off(turns, error);
        else
            damaged_at(turns, cursor->chunk, error);
        return RF_READ_DAMAGED;
    }
    cursor->chunk += sizeof chunk + chunk.bytes;
    cursor->coded = chunk.entries;
    cursor->at = payload;
    cursor->end = payload + chunk.bytes;
    if (!chunk.entries)
        return RF_READ_EVENT;
    if (!cursor->coding && !(cursor->coding = rf_thread_coding_new())) {
        rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", turns->path);
        return RF_READ_DAMAGED;
    }
    rf_thread_decode(cursor->coding, payload, chunk.bytes);
    return RF_READ_EVENT;
}

static bool has_next(const struct rf_thread_log_cursor *cursor) {
    return cursor->coded || (cursor->at < cursor->end && *cursor->at != 0);
}

static bool read_item(struct rf_thread_log_cursor *cursor, struct rf_thread_item *item) {
    cursor->begin = cursor->at;
    if (!cursor->coded)
        return rf_thread_item_read(&cursor->at, cursor->end, item);
    if (!--cursor->coded)
        cursor->at = cursor->end;
    return rf_thread_decode_next(cursor->coding, item);
}

static bool set_edge(struct rf_thread_log_cursor *cursor, const struct rf_thread_item *item,
                     struct rf_thread_log_entry *entry) {
    if (item->first >= cursor->turns->threads)
        return false;
    uint32_t thread = (uint32_t)item->first;
    struct rf_thread_log_known *known = &cursor->known[thread % RF_THREAD_LOG_KNOWN];
    if (known->thread != thread)
        *known = (struct rf_thread_log_known){thread, 0};
    known->count += item->second;
    entry->thread = thread;
    entry->count = known->count;
    return true;
}

/* What the numbers mean; false if they make no sense. */
static bool set_rest(struct rf_thread_log_cursor *cursor, const struct rf_thread_item *item,
                     struct rf_thread_log_entry *entry) {
    switch (item->type) {
    case RF_THREAD_LOG_EDGE:
        return set_edge(cursor, item, entry);
    case RF_THREAD_LOG_FAILURE:
        if (item->first > INT_MAX)
            return false;
        cursor->failed_site = item->site;
        cursor->failed_code = (int)item->first;
        break;
    case RF_THREAD_LOG_AGAIN:
        if (!cursor->failed_code)
            return false;
        break;
    case RF_THREAD_LOG_VALUE:
        entry->value = (int64_t)(item->first >> 1 ^ (0u - (item->first & 1)));
        return true;
    case RF_THREAD_LOG_BYTES:
        entry->total = (uint32_t)item->first;
        entry->size = (uint32_t)item->second;
        entry->bytes = item->bytes;
        return item->first <= UINT32_MAX && item->second <= item->first;
    case RF_THREAD_LOG_CHECK:
        entry->value = (int64_t)item->first;
        return true;
    case RF_THREAD_LOG_JUMP:
        entry->count = item->first;
        return true;
    case RF_THREAD_LOG_NOTHING:
        return false;
    }
    entry->type = RF_THREAD_LOG_FAILURE;
    entry->site = cursor->failed_site;
    entry->code = cursor->failed_code;
    entry->run = (uint32_t)item->second;
    return item->second != 0 && item->second <= UINT8_MAX;
}

int rf_thread_log_next(struct rf_thread_log_cursor *cursor, struct rf_thread_log_entry *entry,
                       struct rf_error *error) {
    const struct rf_thread_log *turns = cursor->turns;
    while (!has_next(cursor)) {
        int result = cursor->block ? next_block(cursor, error) : next_chunk(cursor, error);
        if (result != RF_READ_EVENT)
            return result;
    }
    struct rf_thread_item item;
    bool good = read_item(cursor, &item);
    *entry = (struct rf_thread_log_entry){
        .operation = cursor->operation + item.gap, .type = item.type, .site = item.site};
    bool counted = entry->operation <= cursor->record->done;
    if (!counted && cursor->block) { /* written, but it never came to be counted */
        cursor->at = cursor->begin;
        return RF_READ_END;
    }
    if (!good || !counted || item.site >= turns->head->sites || !set_rest(cursor, &item, entry)) {
        damaged(turns, cursor->begin, error);
        return RF_READ_DAMAGED;
    }
    cursor->operation = entry->operation;
    return RF_READ_EVENT;
}
