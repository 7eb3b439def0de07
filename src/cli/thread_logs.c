#include "thread_logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "detect.h"
#include "manifest.h"
#include "text.h"
#include "threads/openmp_coding.h"
#include "threads/turns.h"
#include "trace/holes.h"
#include "trace/reader.h"

const char *rf_thread_operation(uint32_t number) {
    static const char *const names[] = {
        "?",
#define RF_OPERATION(symbol, name) name,
#include "threads/operations.def"
#undef RF_OPERATION
    };
    return names[number < sizeof names / sizeof *names ? number : 0];
}

const char *rf_thread_order_name(enum rf_thread_order order) {
    return order == RF_ORDER_ROLT           ? "rolt"
           : order == RF_ORDER_EVERY        ? "every"
           : order == RF_ORDER_ROLT_UNLOCKS ? "rolt-no-unlocks"
           : order == RF_ORDER_ROLT_JOINS   ? "rolt-no-joins"
                                            : "edges";
}

/* A program without messages has nothing else. Of the others, a rank has one if it had threads. */
static bool is_expected(const json_t *manifest, int rank) {
    bool expected = strcmp(rf_manifest_mpi(manifest), RF_NO_MESSAGES) == 0;
    size_t i;
    const json_t *listed;
    json_array_foreach(json_object_get(manifest, "thread_logs"), i, listed) expected =
        expected || json_integer_value(listed) == rank;
    return expected;
}

bool rf_thread_log_missing(const char *directory, const json_t *manifest, int rank,
                           struct rf_error *error) {
    if (!is_expected(manifest, rank) || rf_thread_log_exist(directory, rank))
        return false;
    return !rf_fail(error, RF_EXIT_TRACE, "rank-%d.threads: is missing, the order of the threads",
                    rank);
}

static void count(struct rf_thread_counts *counts, const struct rf_thread_log_entry *entry) {
    switch (entry->type) {
    case RF_THREAD_LOG_EDGE:
    case RF_THREAD_LOG_JUMP:
        counts->turns++;
        break;
    case RF_THREAD_LOG_FAILURE:
        counts->failures += entry->run;
        break;
    case RF_THREAD_LOG_VALUE:
    case RF_THREAD_LOG_BYTES:
        counts->values++;
        break;
    case RF_THREAD_LOG_CHECK:
    case RF_THREAD_LOG_AGAIN:
    case RF_THREAD_LOG_NOTHING:
        break;
    }
}

bool rf_thread_counts(const char *directory, int rank, struct rf_thread_counts *counts,
                      struct rf_error *error) {
    *counts = (struct rf_thread_counts){0};
    if (!rf_thread_log_exist(directory, rank))
        return true;
    counts->exists = true;
    struct rf_thread_log *log = rf_thread_log_open(directory, rank, error);
    if (!log)
        return false;
    counts->stopped = rf_thread_log_head(log)->stopped;
    counts->unseen = rf_thread_log_head(log)->unseen;
    counts->order = (enum rf_thread_order)rf_thread_log_head(log)->order;
    bool good = true;
    for (uint32_t i = 0; i < rf_thread_log_threads(log) && good; i++) {
        struct rf_thread_log_cursor cursor;
        struct rf_thread_log_entry entry;
        if (!rf_thread_log_begin(log, i, &cursor))
            continue;
        counts->threads++;
        counts->operations += rf_thread_log_recorded(log, cursor.record);
        int result;
        while ((result = rf_thread_log_next(&cursor, &entry, error)) == RF_READ_EVENT)
            count(counts, &entry);
        rf_thread_log_leave(&cursor);
        good = result == RF_READ_END;
    }
    good = good && rf_thread_log_whole(log, error);
    rf_thread_log_close(log);
    char *path = rf_text("%s/rank-%d.threads", directory, rank);
    struct stat facts;
    if (stat(path, &facts) == 0)
        counts->bytes = rf_bytes_on_disk(&facts);
    free(path);
    return good;
}

static struct rf_module module_of(const struct rf_log_module *stored) {
    struct rf_module module = {.build_id_length = stored->build_id_length};
    memcpy(module.path, stored->path, sizeof module.path);
    memcpy(module.build_id, stored->build_id, sizeof module.build_id);
    return module;
}

bool rf_thread_log_find(const char *directory, int rank, const char *path,
                        struct rf_module *module) {
    struct rf_error ignored = {0};
    struct rf_thread_log *log =
        rf_thread_log_exist(directory, rank) ? rf_thread_log_open(directory, rank, &ignored) : NULL;
    bool found = false;
    for (uint32_t i = 0; log && i < rf_thread_log_head(log)->modules && !found; i++) {
        const struct rf_log_module *stored = rf_thread_log_module(log, i);
        found = stored && strcmp(stored->path, path) == 0;
        if (found)
            *module = module_of(stored);
    }
    rf_thread_log_close(log);
    return found;
}

/* ---- dump ---- */

static const char *const type_names[RF_THREAD_LOG_TYPES] = {
    [RF_THREAD_LOG_NOTHING] = "",     [RF_THREAD_LOG_EDGE] = "turn",
    [RF_THREAD_LOG_FAILURE] = "fail", [RF_THREAD_LOG_VALUE] = "value",
    [RF_THREAD_LOG_BYTES] = "bytes",  [RF_THREAD_LOG_CHECK] = "check",
    [RF_THREAD_LOG_JUMP] = "jump",    [RF_THREAD_LOG_AGAIN] = "fail",
};

/* What a thread's values of OpenMP refer to, as they come. */
struct openmp {
    uint64_t start, end; /* of its last part of a loop; sums wrap, as the loop's own do */
    int parts;           /* values that are still to come for it: its start and length */
    uint64_t point;      /* where its last task ran */
};

static char *from_text(const struct openmp *openmp) {
    return rf_text("iterations from %" PRId64, (int64_t)openmp->start);
}

static char *bounds_text(const struct openmp *openmp) {
    return rf_text("iterations from %" PRId64 " to before %" PRId64, (int64_t)openmp->start,
                   (int64_t)openmp->end);
}

static char *chunk_text(struct openmp *openmp, int64_t value) {
    uint64_t length = openmp->end - openmp->start;
    openmp->parts = (int)(value & 3);
    openmp->start = openmp->end + (uint64_t)(value >> 2);
    openmp->end = openmp->start + length;
    if (openmp->parts == RF_CHUNK_FAR)
        return rf_copy("iterations elsewhere");
    if (openmp->parts == RF_CHUNK_NEW_LENGTH)
        return from_text(openmp);
    return bounds_text(openmp);
}

static char *chunk_part_text(struct openmp *openmp, int64_t value) {
    if (openmp->parts-- == RF_CHUNK_FAR) {
        openmp->start = (uint64_t)value;
        return from_text(openmp);
    }
    openmp->end = openmp->start + (uint64_t)value;
    return bounds_text(openmp);
}

static char *task_text(struct openmp *openmp, int64_t value) {
    if (!(value & 1))
        return rf_text("task %" PRId64, value >> 1);
    openmp->point += (uint64_t)(value >> 1);
    return rf_text("at point %" PRIu64, openmp->point);
}

static char *value_text(struct openmp *openmp, uint32_t operation, int64_t value) {
    switch (operation) {
    case RF_OP_OMP_CHUNK:
        return chunk_text(openmp, value);
    case RF_OP_OMP_CHUNK_PART:
        return chunk_part_text(openmp, value);
    case RF_OP_OMP_TASK:
        return task_text(openmp, value);
    case RF_OP_OMP_SECTION:
        return rf_text("section %" PRId64, value);
    case RF_OP_OMP_SINGLE:
        return rf_copy("is the one");
    case RF_OP_OMP_TEAM:
        return rf_text("%" PRId64 " thread%s", value, rf_plural((uint64_t)value));
    case RF_OP_OMP_CANCEL:
        return rf_copy("cancelled");
    default:
        return rf_text("%" PRId64, value);
    }
}

static char *what(const struct rf_thread_log_entry *entry, uint32_t operation,
                  struct openmp *openmp) {
    switch (entry->type) {
    case RF_THREAD_LOG_EDGE:
        return rf_text("after operation %" PRIu64 " of thread %" PRIu32, entry->count,
                       entry->thread);
    case RF_THREAD_LOG_FAILURE:
        return rf_text("code %d, %" PRIu32 " time%s", entry->code, entry->run,
                       rf_plural(entry->run));
    case RF_THREAD_LOG_VALUE:
        return value_text(openmp, operation, entry->value);
    case RF_THREAD_LOG_BYTES:
        return rf_text("%" PRIu32 " of %" PRIu32, entry->size, entry->total);
    case RF_THREAD_LOG_CHECK:
        return rf_text("%04" PRIx64, (uint64_t)entry->value);
    case RF_THREAD_LOG_JUMP:
        return rf_text("by %" PRIu64, entry->count);
    case RF_THREAD_LOG_AGAIN: /* read as a failure */
    case RF_THREAD_LOG_NOTHING:
        break;
    }
    return rf_copy("");
}

struct dump {
    struct rf_thread_log *log;
    struct rf_symbols *symbols;
    int rank;
    bool json;
    struct openmp openmp; /* of the thread whose entries come */
};

static void print(struct dump *dump, uint32_t thread, const struct rf_thread_log_entry *entry) {
    const struct rf_thread_log_site *site = rf_thread_log_site(dump->log, entry->site);
    const struct rf_log_module *stored =
        site ? rf_thread_log_module(dump->log, site->module) : NULL;
    char place[RF_PLACE_TEXT] = "";
    if (stored) {
        struct rf_module module = module_of(stored);
        rf_symbols_place(dump->symbols, &module, site->offset, place);
    }
    const char *function = site ? rf_thread_operation(site->operation) : "";
    char *text = what(entry, site ? site->operation : RF_OP_NONE, &dump->openmp);
    if (dump->json) {
        json_t *object = json_pack("{s:i,s:I,s:I,s:s,s:s}", "rank", dump->rank, "thread",
                                   (json_int_t)thread, "operation", (json_int_t)entry->operation,
                                   "kind", type_names[entry->type], "what", text);
        if (site) {
            json_object_set_new(object, "function", json_string(function));
            json_object_set_new(object, "at", json_string(place));
        }
        if (entry->type == RF_THREAD_LOG_VALUE)
            json_object_set_new(object, "value", json_integer((json_int_t)entry->value));
        if (entry->type == RF_THREAD_LOG_EDGE) {
            json_object_set_new(object, "after_thread", json_integer(entry->thread));
            json_object_set_new(object, "after_operation", json_integer((json_int_t)entry->count));
        }
        json_dumpf(object, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(object);
    } else {
        printf("%5d %5" PRIu32 " %9" PRIu64 "  %-6s %-24s %-20s %s\n", dump->rank, thread,
               entry->operation, type_names[entry->type], function, place, text);
    }
    free(text);
}

bool rf_thread_dump(const char *directory, int rank, struct rf_symbols *symbols, uint64_t limit,
                    bool all, bool json, struct rf_error *error) {
    if (!rf_thread_log_exist(directory, rank))
        return true;
    struct dump dump = {rf_thread_log_open(directory, rank, error), symbols, rank, json, {0}};
    if (!dump.log)
        return false;
    if (!json)
        printf("%5s %5s %9s  %-6s %-24s %-20s %s\n", "rank", "thrd", "operation", "kind",
               "function", "at", "what");
    int result = RF_READ_END;
    for (uint32_t i = 0; i < rf_thread_log_threads(dump.log) && result == RF_READ_END; i++) {
        struct rf_thread_log_cursor cursor;
        struct rf_thread_log_entry entry;
        if (!rf_thread_log_begin(dump.log, i, &cursor))
            continue;
        uint64_t lines = 0;
        dump.openmp = (struct openmp){0};
        while (!ferror(stdout) &&
               (result = rf_thread_log_next(&cursor, &entry, error)) == RF_READ_EVENT)
            if ((all || entry.type != RF_THREAD_LOG_CHECK) && lines++ < limit)
                print(&dump, i, &entry);
        rf_thread_log_leave(&cursor);
    }
    bool good = result != RF_READ_DAMAGED && rf_thread_log_whole(dump.log, error);
    rf_thread_log_close(dump.log);
    return good;
}

/* ---- tidying ---- */

void rf_thread_log_tidy(const char *directory, int rank) {
    char *path = rf_text("%s/rank-%d.threads", directory, rank);
    rf_thread_log_seal(directory, rank);
    rf_dig_holes(path);
    free(path);
}
