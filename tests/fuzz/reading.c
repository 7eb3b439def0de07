#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/thread_reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The reader wants names in a directory: links to anonymous files, made once. */
struct file {
    const char *name;
    int descriptor;
    char path[128];
    int linked;
};
static char directory[64];
static struct file trace = {.name = "rank-0.trace"}, log_file = {.name = "rank-0.tail"},
                   threads = {.name = "rank-0.threads"};

static void clean(void) {
    unlink(trace.path);
    unlink(log_file.path);
    unlink(threads.path);
    rmdir(directory);
}

static void prepare(struct file *file) {
    file->descriptor = memfd_create(file->name, 0);
    snprintf(file->path, sizeof file->path, "%s/%s", directory, file->name);
    if (file->descriptor < 0)
        abort();
}

static void set(struct file *file, const uint8_t *data, size_t bytes) {
    if (!directory[0]) {
        snprintf(directory, sizeof directory, "/tmp/refrain-fuzz-XXXXXX");
        if (!mkdtemp(directory))
            abort();
        prepare(&trace);
        prepare(&log_file);
        prepare(&threads);
        atexit(clean);
    }
    if (!data) {
        if (file->linked && unlink(file->path))
            abort();
        file->linked = 0;
        return;
    }
    char target[64];
    snprintf(target, sizeof target, "/proc/self/fd/%d", file->descriptor);
    if (ftruncate(file->descriptor, (off_t)bytes) ||
        pwrite(file->descriptor, data, bytes, 0) != (ssize_t)bytes ||
        (!file->linked && symlink(target, file->path)))
        abort();
    file->linked = 1;
}

void reading_set_trace(const uint8_t *data, size_t bytes) {
    set(&trace, data, bytes);
}

void reading_set_log(const uint8_t *data, size_t bytes) {
    set(&log_file, data, bytes);
}

void reading_set_threads(const uint8_t *data, size_t bytes) {
    set(&threads, data, bytes);
}

void reading_repair_trace(uint8_t *data, size_t bytes) {
    struct rf_trace_header header;
    if (bytes < sizeof header)
        return;
    memcpy(&header, data, sizeof header);
    header.check = XXH3_64bits(&header, offsetof(struct rf_trace_header, check));
    memcpy(data, &header, sizeof header);
    struct rf_chunk chunk;
    for (size_t at = sizeof header; bytes - at >= sizeof chunk;) {
        memcpy(&chunk, data + at, sizeof chunk);
        uint8_t *payload = data + at + sizeof chunk;
        if (chunk.bytes > bytes - at - sizeof chunk)
            return;
        XXH3_state_t state;
        XXH3_64bits_reset(&state);
        XXH3_64bits_update(&state, &chunk, offsetof(struct rf_chunk, check));
        XXH3_64bits_update(&state, payload, chunk.bytes);
        chunk.check = XXH3_64bits_digest(&state);
        memcpy(data + at, &chunk, sizeof chunk);
        at += sizeof chunk + chunk.bytes;
    }
}

void reading_all(void) {
    struct rf_error error;
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    if (!reader)
        return;
    struct rf_event event;
    uint64_t sum = 0;
    while (rf_reader_next(reader, &event, &error) == RF_READ_EVENT) {
        for (uint32_t i = 0; i < event.list_length; i++)
            sum += (uint32_t)event.list[i];
        const struct rf_site *site = rf_reader_site(reader, event.site);
        if (site)
            sum += strlen(site->function) + (rf_reader_module(reader, site->module) != NULL);
    }
    for (size_t i = 0; rf_reader_unsupported(reader, i); i++)
        sum += strlen(rf_reader_unsupported(reader, i));
    sum += strlen(rf_reader_ending(reader)->reason) + strlen(rf_reader_node(reader)->library);
    sum += rf_reader_unmatched(reader) + rf_reader_bytes(reader);
    rf_reader_close(reader);
    /* The compiler must not drop what has no use. */
    __asm__ volatile("" ::"r"(sum));
}

static uint64_t read_thread(const struct rf_thread_log *log, uint32_t number) {
    struct rf_thread_log_cursor cursor;
    struct rf_thread_log_entry entry;
    struct rf_error error;
    uint64_t sum = 0;
    if (!rf_thread_log_begin(log, number, &cursor))
        return 0;
    while (rf_thread_log_next(&cursor, &entry, &error) == RF_READ_EVENT) {
        for (uint32_t i = 0; i < entry.size; i++)
            sum += entry.bytes[i];
        const struct rf_thread_log_site *site = rf_thread_log_site(log, entry.site);
        const struct rf_log_module *module = site ? rf_thread_log_module(log, site->module) : NULL;
        sum += module ? module->build_id_length : entry.operation;
    }
    rf_thread_log_leave(&cursor);
    return sum;
}

void reading_all_threads(void) {
    struct rf_error error;
    struct rf_thread_log *log = rf_thread_log_open(directory, 0, &error);
    if (!log)
        return;
    uint64_t sum = rf_thread_log_whole(log, &error);
    for (uint32_t i = 0; i < rf_thread_log_threads(log); i++)
        sum += read_thread(log, i);
    rf_thread_log_close(log);
    __asm__ volatile("" ::"r"(sum));
}
