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
#include "varint.h"

struct rf_thread_log {
    char *path;
    const struct rf_thread_log_head *head;
    size_t bytes;
    uint32_t blocks; /* that are in the file */
    uint32_t threads;
    uint32_t *first;        /* the first block of each thread, 0 if it has none */
    struct rf_error damage; /* the first, if what is not damaged can be read */
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

static bool damaged(const struct rf_thread_log *turns, const void *where, struct rf_error *error) {
    return rf_fail(error, RF_EXIT_TRACE, "%s: is damaged at byte %td", turns->path,
                   (const char *)where - (const char *)turns->head);
}

/* What else there is can be read. */
static void note_damage(struct rf_thread_log *turns, const void *where) {
    if (!turns->damage.code)
        damaged(turns, where, &turns->damage);
}

static bool check_head(const struct rf_thread_log *turns, int rank, struct rf_error *error) {
    const struct rf_thread_log_head *head = turns->head;
    if (memcmp(head->magic, RF_THREAD_LOG_MAGIC, sizeof head->magic) != 0)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is not a log of threads of Refrain (byte 0)",
                       turns->path);
    if (head->version > RF_THREAD_LOG_VERSION)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: was written by a newer Refrain (format %" PRIu32
                       ", this one reads up to %u), or is damaged at byte 8",
                       turns->path, head->version, RF_THREAD_LOG_VERSION);
    if (head->check != rf_thread_log_check(head) || !head->version ||
        head->block_bytes != RF_THREAD_LOG_BLOCK ||
        head->first_block != sizeof(struct rf_thread_log_head) / RF_THREAD_LOG_BLOCK)
        return damaged(turns, &head->version, error);
    if (head->rank != rank && head->rank != RF_THREAD_LOG_NAMELESS)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is the log of rank %" PRId32 " (byte %td)",
                       turns->path, head->rank, (const char *)&head->rank - (const char *)head);
    if (head->threads > RF_THREAD_LOG_THREADS || head->sites > RF_THREAD_LOG_SITES ||
        head->modules > RF_THREAD_LOG_MODULES || head->blocks < head->first_block)
        return damaged(turns, &head->blocks, error);
    return true;
}

/* The tables, and the seal, if there is one: of it nothing but that something is wrong is known. */
static void check_tables(struct rf_thread_log *turns) {
    const struct rf_thread_log_head *head = turns->head;
    for (uint32_t i = 0; i < head->modules; i++)
        if (!rf_thread_log_module(turns, i))
            note_damage(turns, &head->module[i]);
    for (uint32_t i = 1; i < head->sites; i++)
        if (!rf_thread_log_site(turns, i))
            note_damage(turns, &head->site[i]);
    if (head->seal && head->seal != rf_thread_log_head_seal(head))
        note_damage(turns, &head->blocks);
}

static const struct rf_thread_log_block *block_at(const struct rf_thread_log *turns,
                                                  uint32_t number) {
    return (const struct rf_thread_log_block *)((const char *)turns->head +
                                                (size_t)number * RF_THREAD_LOG_BLOCK);
}

static bool is_good(const struct rf_thread_log *turns, const struct rf_thread_log_block *block) {
    return block->begun & ~RF_THREAD_LOG_BEGUN ? block->begun == rf_thread_log_block_seal(block)
                                               : !turns->head->seal;
}

/* How much of it is there? A sealed log has as many bytes as it says. */
static void find_blocks(struct rf_thread_log *turns) {
    const struct rf_thread_log_head *head = turns->head;
    turns->blocks = (uint32_t)(turns->bytes / RF_THREAD_LOG_BLOCK);
    if (turns->blocks > head->blocks)
        turns->blocks = head->blocks;
    size_t bytes = (size_t)head->blocks * RF_THREAD_LOG_BLOCK;
    if (!head->seal || turns->damage.code || turns->bytes == bytes)
        return;
    if (turns->bytes < bytes)
        rf_fail(&turns->damage, RF_EXIT_TRACE, "%s: is cut off at byte %zu", turns->path,
                turns->bytes);
    else
        rf_fail(&turns->damage, RF_EXIT_TRACE, "%s: goes on behind its end at byte %zu",
                turns->path, bytes);
}

/* Finds where each thread begins. */
static bool find_threads(struct rf_thread_log *turns, struct rf_error *error) {
    turns->threads = turns->head->threads;
    turns->first = calloc(turns->threads ? turns->threads : 1, sizeof *turns->first);
    if (!turns->first)
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", turns->path);
    for (uint32_t i = turns->head->first_block; i < turns->blocks; i++) {
        const struct rf_thread_log_block *block = block_at(turns, i);
        const struct rf_thread_log_thread *record =
            (const struct rf_thread_log_thread *)(block + 1);
        bool first = block->place == 0 && block->begun & RF_THREAD_LOG_BEGUN;
        bool good = is_good(turns, block) &&
                    (!first || (block->thread < turns->threads && !turns->first[block->thread] &&
                                record->number == block->thread));
        if (!good)
            note_damage(turns, block);
        else if (first) /* else a later one, or one that its thread had no time to begin */
            turns->first[block->thread] = i;
    }
    return true;
}

struct rf_thread_log *rf_thread_log_open(const char *directory, int rank, struct rf_error *error) {
    struct rf_thread_log *turns = calloc(1, sizeof *turns);
    if (!turns || !(turns->path = path_of(directory, rank))) {
        free(turns);
        rf_fail(error, RF_EXIT_TRACE, "rank-%d.threads: out of memory", rank);
        return NULL;
    }
    int file = open(turns->path, O_RDONLY | O_CLOEXEC);
    struct stat facts = {0};
    void *mapped = MAP_FAILED;
    if (file < 0 || fstat(file, &facts) != 0) {
        rf_fail(error, RF_EXIT_TRACE, "%s: cannot open it: %s", turns->path, strerror(errno));
    } else if ((size_t)facts.st_size < sizeof(struct rf_thread_log_head)) {
        rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %jd", turns->path,
                (intmax_t)facts.st_size);
    } else {
        mapped = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, file, 0);
        if (mapped == MAP_FAILED)
            rf_fail(error, RF_EXIT_TRACE, "%s: cannot be mapped: %s", turns->path, strerror(errno));
    }
    if (file >= 0)
        close(file);
    if (mapped != MAP_FAILED) {
        turns->head = mapped;
        turns->bytes = (size_t)facts.st_size;
        if (check_head(turns, rank, error)) {
            check_tables(turns);
            find_blocks(turns);
            if (find_threads(turns, error))
                return turns;
        }
    }
    rf_thread_log_close(turns);
    return NULL;
}

void rf_thread_log_close(struct rf_thread_log *turns) {
    if (!turns)
        return;
    if (turns->head)
        munmap((void *)turns->head, turns->bytes);
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
    if (number >= turns->threads || !turns->first[number])
        return NULL;
    return (const struct rf_thread_log_thread *)(block_at(turns, turns->first[number]) + 1);
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
    enter(cursor, block_at(turns, turns->first[thread]));
    return true;
}

/* The entry's own numbers; false if they are not whole. */
static bool read_rest(struct rf_thread_log_cursor *cursor, struct rf_thread_log_entry *entry) {
    const uint8_t **at = &cursor->at;
    uint64_t number = 0, more = 0;
    switch (entry->type) {
    case RF_THREAD_LOG_EDGE: {
        if (!rf_varint_get(at, cursor->end, &number) || number >= cursor->turns->threads ||
            !rf_varint_get(at, cursor->end, &more))
            return false;
        struct rf_thread_log_known *known = &cursor->known[number % RF_THREAD_LOG_KNOWN];
        if (known->thread != number)
            *known = (struct rf_thread_log_known){(uint32_t)number, 0};
        known->count += more;
        entry->thread = (uint32_t)number;
        entry->count = known->count;
        return true;
    }
    case RF_THREAD_LOG_FAILURE:
        if (!rf_varint_get(at, cursor->end, &number) || number > INT_MAX || cursor->end == *at)
            return false;
        cursor->failed_site = entry->site;
        cursor->failed_code = entry->code = (int)number;
        entry->run = *(*at)++;
        return entry->run != 0;
    case RF_THREAD_LOG_AGAIN:
        if (!cursor->failed_code || cursor->end == *at)
            return false;
        entry->type = RF_THREAD_LOG_FAILURE;
        entry->site = cursor->failed_site;
        entry->code = cursor->failed_code;
        entry->run = *(*at)++;
        return entry->run != 0;
    case RF_THREAD_LOG_VALUE:
        if (!rf_varint_get(at, cursor->end, &number))
            return false;
        entry->value = (int64_t)(number >> 1 ^ (0u - (number & 1)));
        return true;
    case RF_THREAD_LOG_BYTES:
        if (!rf_varint_get(at, cursor->end, &number) || !rf_varint_get(at, cursor->end, &more) ||
            more > (uint64_t)(cursor->end - *at) || number > UINT32_MAX || more > number)
            return false;
        entry->total = (uint32_t)number;
        entry->size = (uint32_t)more;
        entry->bytes = *at;
        *at += more;
        return true;
    case RF_THREAD_LOG_CHECK:
        if (cursor->end - *at < 2)
            return false;
        entry->value = (*at)[0] | (*at)[1] << 8;
        *at += 2;
        return true;
    case RF_THREAD_LOG_JUMP:
        return rf_varint_get(at, cursor->end, &entry->count);
    case RF_THREAD_LOG_NOTHING:
        break;
    }
    return false;
}

/* Goes on to the next block of the thread. */
static int go_on(struct rf_thread_log_cursor *cursor, struct rf_error *error) {
    const struct rf_thread_log *turns = cursor->turns;
    const struct rf_thread_log_block *from = cursor->block, *block;
    if (!from->next)
        return RF_READ_END;
    if (from->next >= turns->blocks) {
        /* A process that still writes may have come further since the file was opened. */
        if (!turns->head->finished && !turns->head->seal)
            return RF_READ_END;
        if (rf_thread_log_whole(turns, error))
            damaged(turns, &from->next, error);
        return RF_READ_DAMAGED;
    }
    block = block_at(turns, from->next);
    if (!is_good(turns, block) || block->thread != from->thread ||
        block->place != from->place + 1) {
        damaged(turns, block, error);
        return RF_READ_DAMAGED;
    }
    enter(cursor, block);
    return RF_READ_EVENT;
}

int rf_thread_log_next(struct rf_thread_log_cursor *cursor, struct rf_thread_log_entry *entry,
                       struct rf_error *error) {
    const struct rf_thread_log *turns = cursor->turns;
    while (cursor->at >= cursor->end || *cursor->at == 0) {
        int result = go_on(cursor, error);
        if (result != RF_READ_EVENT)
            return result;
    }
    const uint8_t *begin = cursor->at;
    uint64_t first = 0, site = 0;
    *entry = (struct rf_thread_log_entry){0};
    bool good = rf_varint_get(&cursor->at, cursor->end, &first);
    entry->type = (enum rf_thread_log_type)(first % RF_THREAD_LOG_TYPES);
    entry->operation = cursor->operation + first / RF_THREAD_LOG_TYPES;
    /* Written for an operation that never came to be counted. */
    if (good && entry->operation > cursor->record->done)
        return RF_READ_END;
    bool has_site = entry->type != RF_THREAD_LOG_CHECK && entry->type != RF_THREAD_LOG_AGAIN;
    good = good && (!has_site || rf_varint_get(&cursor->at, cursor->end, &site)) &&
           site < turns->head->sites;
    entry->site = (uint32_t)site;
    if (!good || !read_rest(cursor, entry)) {
        damaged(turns, begin, error);
        return RF_READ_DAMAGED;
    }
    cursor->operation = entry->operation;
    return RF_READ_EVENT;
}
