#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables.h"
#include "writer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FEW_SLOTS (RF_SEGMENT_SLOTS / 16)

/* ---- opening ------------------------------------------------------------------------------ */

static int create(const char *path, struct rf_error *error) {
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot create it: %s", path, strerror(errno));
    return file;
}

/* Every block is allocated here: a store into the mapping must never find the disk full. */
static struct rf_log *map_log(int file, const char *path, struct rf_error *error) {
    struct rf_shield shield;
    rf_shield_raise(&shield);
    int cause;
    do
        cause = posix_fallocate(file, 0, sizeof(struct rf_log));
    while (cause == EINTR);
    rf_shield_lower(&shield);
    void *memory = MAP_FAILED;
    if (!cause) {
        memory = mmap(NULL, sizeof(struct rf_log), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        cause = errno;
    }
    if (memory != MAP_FAILED) {
        /* There is nothing to be read ahead, and the first call would wait for it. */
        madvise(memory, sizeof(struct rf_log), MADV_RANDOM);
        return memory;
    }
    rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot set aside %zu KiB for the log: %s", path,
            sizeof(struct rf_log) >> 10, strerror(cause));
    return NULL;
}

static void fill_log(struct rf_log *log, const struct rf_node *node) {
    log->version = RF_LOG_VERSION;
    log->segments = RF_LOG_SEGMENTS;
    log->segment_slots = RF_SEGMENT_SLOTS;
    log->slot_bytes = sizeof(struct rf_entry);
    log->sites_capacity = RF_MAX_SITES;
    log->modules_capacity = RF_LOG_MODULES;
    log->names_capacity = RF_LOG_NAMES;
    log->header_bytes = offsetof(struct rf_log, ring);
    rf_log_put_node(&log->node, node);
    log->written = rf_seal(0);
    log->end = rf_seal(0);
    log->incomplete = rf_seal(0);
    log->name_count = rf_seal(0);
    log->flight_check = rf_log_flight_check(log);
    /* Number 0 of modules and sites is "elsewhere". */
    log->modules[0].check = rf_log_module_check(&log->modules[0], 0);
    snprintf(log->sites[0].function, sizeof log->sites[0].function, RF_ELSEWHERE);
    log->sites[0].check = rf_log_site_check(&log->sites[0], 0);
    log->module_count = rf_seal(1);
    log->site_count = rf_seal(1);
    log->begun = rf_seal(1);
    memcpy(log->magic, RF_LOG_MAGIC, sizeof log->magic);
    log->check = rf_log_fixed_check(log);
}

static bool write_start(struct rf_writer *writer, struct rf_error *error) {
    struct rf_trace_header header = {.version = RF_TRACE_VERSION};
    memcpy(header.magic, RF_TRACE_MAGIC, sizeof header.magic);
    header.check = XXH3_64bits(&header, offsetof(struct rf_trace_header, check));
    struct rf_chunk chunk = {.type = RF_CHUNK_NODE};
    uint8_t node[RF_NODE_ROOM];
    struct rf_piece piece = {node, rf_node_write(node, &writer->log->node)};
    struct rf_shield shield;
    rf_shield_raise(&shield);
    ssize_t wrote = pwrite(writer->file.number, &header, sizeof header, 0);
    int cause = wrote < 0 ? errno : ENOSPC;
    writer->trace_bytes = sizeof header;
    bool good = wrote == (ssize_t)sizeof header;
    if (good && !rf_writer_chunk(writer, &chunk, &piece, 1)) {
        cause = errno;
        good = false;
    }
    rf_shield_lower(&shield);
    return good || rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot write: %s", writer->trace_path,
                           strerror(cause));
}

static void use_scratch(struct rf_recorder *recorder) {
    recorder->next = recorder->writer->scratch;
    recorder->end = recorder->writer->scratch + RF_SCRATCH_SLOTS;
    recorder->last = NULL;
}

/* The log is there under its own name only when it is whole. Until then its first name tells that
   this rank has begun, should it be killed meanwhile; and it is the first file that there is. */
static bool create_files(struct rf_writer *writer, const struct rf_node *node, const char *begun,
                         struct rf_error *error) {
    int log = create(begun, error);
    if (log < 0)
        return false;
    writer->file = rf_own_file(create(writer->trace_path, error));
    bool mine = writer->file.number >= 0;
    writer->log = mine ? map_log(log, writer->log_path, error) : NULL;
    close(log);
    if (writer->log) {
        fill_log(writer->log, node);
        if (rename(begun, writer->log_path))
            rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot name it: %s", writer->log_path,
                    strerror(errno));
        else if (write_start(writer, error))
            return true;
        else
            unlink(writer->log_path);
        munmap(writer->log, sizeof *writer->log);
    }
    unlink(begun);
    if (mine) {
        rf_own_file_close(&writer->file);
        unlink(writer->trace_path);
    }
    return false;
}

bool rf_recorder_open(struct rf_recorder *recorder, const char *directory,
                      const struct rf_node *node, struct rf_error *error) {
    memset(recorder, 0, sizeof *recorder);
    /* Not from malloc: it is never given back, since the hot path may run at any time. */
    struct rf_writer *writer =
        mmap(NULL, sizeof *writer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (writer == MAP_FAILED)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: out of memory", directory);
    char begun[sizeof writer->log_path];
    snprintf(begun, sizeof begun, "%s/rank-%d.new", directory, node->rank);
    int length = snprintf(writer->trace_path, sizeof writer->trace_path, "%s/rank-%d.trace",
                          directory, node->rank);
    snprintf(writer->log_path, sizeof writer->log_path, "%s/rank-%d.tail", directory, node->rank);
    writer->process = getpid();
    bool good = true;
    if (length < 0 || (size_t)length >= sizeof writer->trace_path)
        good = rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: the path is too long", directory);
    if (!good || !create_files(writer, node, begun, error)) {
        munmap(writer, sizeof *writer);
        return false;
    }
    recorder->writer = writer;
    recorder->next = writer->log->ring[0];
    recorder->end = recorder->next + RF_SEGMENT_SLOTS;
    recorder->on = true;
    return true;
}

void rf_recorder_sparing(struct rf_recorder *recorder) {
    recorder->sparing = true;
    recorder->end = recorder->next + FEW_SLOTS;
}

/* ---- appending ---------------------------------------------------------------------------- */

/* Recording ends here, the program goes on. What lies in the log stays readable. */
static void stop_recording(struct rf_recorder *recorder, const char *reason) {
    struct rf_log *log = recorder->writer->log;
    recorder->on = false;
    snprintf(log->reason, sizeof log->reason, "%s", reason);
    __atomic_store_n(&log->incomplete,
                     rf_seal((uint64_t)1 << 32 | rf_log_reason_check(log->reason)),
                     __ATOMIC_RELEASE);
    use_scratch(recorder);
}

void rf_recorder_next_segment(struct rf_recorder *recorder) {
    struct rf_writer *writer = recorder->writer;
    if (!recorder->on) {
        use_scratch(recorder);
        return;
    }
    uint64_t number = recorder->segment + 1;
    /* Two segments stay with this thread; a third one is given away. */
    if (number >= 2)
        rf_writer_hand_over(writer, number - 1);
    if (number >= RF_LOG_SEGMENTS && !rf_writer_wait(writer, number - RF_LOG_SEGMENTS + 1)) {
        stop_recording(recorder,
                       strerror((int)__atomic_load_n(&writer->failure, __ATOMIC_ACQUIRE)));
        return;
    }
    recorder->segment = number;
    recorder->next = writer->log->ring[number % RF_LOG_SEGMENTS];
    recorder->end = recorder->next + (recorder->sparing ? FEW_SLOTS : RF_SEGMENT_SLOTS);
    recorder->last = NULL;
    __atomic_store_n(&writer->log->begun, rf_seal(number + 1), __ATOMIC_RELEASE);
}

/* Appends what fits of a list into this segment. The header is published last. */
static uint32_t put_piece(struct rf_recorder *recorder, uint32_t what, int32_t first,
                          int32_t second, const int32_t *list, uint32_t length) {
    size_t room = (size_t)(recorder->end - recorder->next) - 1;
    uint32_t piece = length <= room * 4 ? length : (uint32_t)room * 4;
    struct rf_entry *entry = recorder->next;
    struct rf_entry *items = entry + 1;
    uint32_t slots = (piece + 3) / 4;
    if (slots && list) {
        items[slots - 1] = (struct rf_entry){0};
        memcpy(items, list, piece * sizeof *list);
    }
    entry->first = first;
    entry->second = second;
    entry->run = piece | (piece < length ? RF_LIST_MORE : 0);
    __atomic_store_n(&entry->what, what, __ATOMIC_RELEASE);
    recorder->next = items + slots;
    return piece;
}

void rf_recorder_list(struct rf_recorder *recorder, uint32_t what, int32_t first, int32_t second,
                      const int32_t *list, uint32_t length) {
    if (!recorder->on)
        return;
    if (length > RF_LIST_LIMIT) {
        stop_recording(recorder, "a list is too long to be kept");
        return;
    }
    do {
        if (recorder->next >= recorder->end || (length && recorder->next + 1 == recorder->end))
            rf_recorder_next_segment(recorder);
        if (!recorder->on)
            return;
        uint32_t piece = put_piece(recorder, what, first, second, list, length);
        list = list ? list + piece : NULL;
        length -= piece;
    } while (length);
    recorder->last = NULL;
}

/* ---- tables ------------------------------------------------------------------------------- */

static uint32_t count_of(const uint64_t *word) {
    uint64_t value = 0;
    rf_unseal(*word, &value);
    return (uint32_t)value;
}

static void publish(uint64_t *word, uint32_t count) {
    __atomic_store_n(word, rf_seal(count), __ATOMIC_RELEASE);
}

static uint16_t intern_module(struct rf_log *log, const struct rf_module *module) {
    uint32_t count = count_of(&log->module_count);
    struct rf_log_module record = {0};
    if (!module)
        return 0;
    snprintf(record.path, sizeof record.path, "%.*s", (int)sizeof module->path - 1, module->path);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(log->modules[i].path, record.path))
            return (uint16_t)i;
    if (count == RF_LOG_MODULES)
        return 0;
    record.build_id_length = module->build_id_length <= sizeof record.build_id
                                 ? module->build_id_length
                                 : (uint8_t)sizeof record.build_id;
    memcpy(record.build_id, module->build_id, record.build_id_length);
    record.check = rf_log_module_check(&record, count);
    log->modules[count] = record;
    publish(&log->module_count, count + 1);
    return (uint16_t)count;
}

uint32_t rf_recorder_site(struct rf_recorder *recorder, const struct rf_site *site,
                          const struct rf_module *module) {
    if (!recorder->on)
        return 0;
    struct rf_log *log = recorder->writer->log;
    uint32_t count = count_of(&log->site_count);
    if (count == RF_MAX_SITES)
        return 0;
    struct rf_log_site record = {
        .number = site->number, .module = intern_module(log, module), .offset = site->offset};
    snprintf(record.function, sizeof record.function, "%.*s", (int)sizeof site->function - 1,
             site->function);
    record.check = rf_log_site_check(&record, count);
    log->sites[count] = record;
    publish(&log->site_count, count + 1);
    return count;
}

void rf_recorder_unsupported(struct rf_recorder *recorder, const char *function) {
    if (!recorder->on)
        return;
    struct rf_log *log = recorder->writer->log;
    uint32_t count = count_of(&log->name_count);
    struct rf_log_name record = {0};
    snprintf(record.function, sizeof record.function, "%s", function);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(log->names[i].function, record.function))
            return;
    if (count == RF_LOG_NAMES)
        return;
    record.check = rf_log_name_check(&record, count);
    log->names[count] = record;
    publish(&log->name_count, count + 1);
}

void *rf_recorder_flight_room(struct rf_recorder *recorder, uint32_t source_offset,
                              uint32_t tag_offset, uint32_t bytes) {
    struct rf_log *log = recorder->writer ? recorder->writer->log : NULL;
    if (!log || bytes > RF_FLIGHT_BYTES || source_offset > RF_FLIGHT_BYTES - sizeof(int32_t) ||
        tag_offset > RF_FLIGHT_BYTES - sizeof(int32_t))
        return NULL;
    const int32_t unknown = RF_UNKNOWN;
    memcpy(log->flight_room + source_offset, &unknown, sizeof unknown);
    memcpy(log->flight_room + tag_offset, &unknown, sizeof unknown);
    log->flight_source = source_offset;
    log->flight_tag = tag_offset;
    log->flight_check = rf_log_flight_check(log);
    return log->flight_room;
}

uint32_t *rf_recorder_flight_word(struct rf_recorder *recorder) {
    return recorder->writer ? &recorder->writer->log->flight_word : NULL;
}

/* ---- ending ------------------------------------------------------------------------------- */

static bool write_tables(struct rf_writer *writer) {
    struct rf_log *log = writer->log;
    uint32_t sites = count_of(&log->site_count), modules = count_of(&log->module_count);
    uint32_t names = count_of(&log->name_count);
    size_t room = rf_tables_room(sites, modules, names);
    void *buffer = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return false;
    struct rf_chunk chunk = {.type = RF_CHUNK_TABLES, .first_event = writer->events};
    struct rf_piece piece = {buffer, rf_tables_write(buffer, log, sites, modules, names)};
    bool good = rf_writer_chunk(writer, &chunk, &piece, 1);
    munmap(buffer, room);
    return good;
}

static bool write_end(struct rf_writer *writer, enum rf_end how, int32_t code) {
    struct rf_chunk_end end = {.how = how, .code = code, .tables = writer->trace_bytes};
    if (!write_tables(writer))
        return false;
    uint64_t incomplete = 0;
    rf_unseal(writer->log->incomplete, &incomplete);
    if (incomplete) {
        const char *reason = writer->log->reason;
        struct rf_chunk why = {.type = RF_CHUNK_REASON, .first_event = writer->events};
        struct rf_piece text = {(const uint8_t *)reason, strlen(reason)};
        end.incomplete = 1;
        if (!rf_writer_chunk(writer, &why, &text, 1))
            return false;
    }
    struct rf_chunk chunk = {.type = RF_CHUNK_END, .first_event = writer->events};
    struct rf_piece piece = {(const uint8_t *)&end, sizeof end};
    return rf_writer_chunk(writer, &chunk, &piece, 1);
}

/* The log's memory stays mapped, as private memory: the adapter may still hold pointers into it,
   and whatever it does with them must reach neither the files nor another process. */
static void forget(struct rf_recorder *recorder) {
    struct rf_writer *writer = recorder->writer;
    recorder->on = false;
    /* If this fails there is nothing better to do. */
    (void)mmap(writer->log, sizeof *writer->log, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    rf_own_file_close(&writer->file);
    use_scratch(recorder);
}

void rf_recorder_abandon(struct rf_recorder *recorder) {
    if (!recorder->writer || recorder->writer->file.number < 0)
        return;
    recorder->writer->has_thread = false; /* it lives in the parent only */
    forget(recorder);
}

static void note_end(struct rf_log *log, enum rf_end how, int32_t code) {
    __atomic_store_n(&log->end, rf_seal(1 + ((uint64_t)how | (uint64_t)(uint32_t)code << 8)),
                     __ATOMIC_RELEASE);
}

void rf_recorder_cut_off(struct rf_recorder *recorder, int32_t code) {
    struct rf_writer *writer = recorder->writer;
    if (recorder->on && writer && writer->process == getpid())
        note_end(writer->log, RF_END_NONE, code);
}

void rf_recorder_close(struct rf_recorder *recorder, enum rf_end how, int32_t code) {
    struct rf_writer *writer = recorder->writer;
    if (!writer || writer->file.number < 0)
        return;
    if (writer->process != getpid()) {
        rf_recorder_abandon(recorder);
        return;
    }
    struct rf_log *log = writer->log;
    recorder->on = false;
    rf_writer_stop_thread(writer);
    /* Should the rest not fit on the disk, the log stays and says how it ended. */
    note_end(log, how, code);
    struct rf_shield shield;
    rf_shield_raise(&shield);
    if (rf_writer_code(writer, recorder->segment + 1) && write_end(writer, how, code))
        unlink(writer->log_path);
    rf_shield_lower(&shield);
    forget(recorder);
}
