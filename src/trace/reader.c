#include "reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec.h"
#include "log_file.h"
#include "tables.h"
#include "trace_file.h"

/* A match that was learnt late, for the post with this number. */
struct late {
    uint64_t post;
    uint64_t order; /* the later one counts */
    int32_t source, tag;
};

struct rf_reader {
    struct rf_trace_file trace;
    struct rf_log_file log;
    struct rf_node node;
    struct rf_tables tables;
    struct rf_ending ending;
    bool damaged; /* `damage` is delivered instead of the end */
    struct rf_error damage;

    /* Found when opening. */
    uint64_t trace_end; /* chunks before this offset are whole */
    uint64_t next_segment, scan_posts, unmatched;
    struct late *lates;
    size_t late_count, late_room;

    /* Where reading has got to. */
    uint64_t offset, chunk_offset, log_segment;
    bool from_log;
    struct rf_entry *decoded;     /* room for a decoded chunk, */
    uint32_t decoded_room;        /* the largest so far */
    const struct rf_entry *slots; /* the segment that is being read */
    uint32_t used, at;
    uint64_t number, posts;
    size_t late_next;

    /* A list that was split is put together here. */
    int32_t *list;
    size_t list_length, list_room;
    bool in_list;
    struct rf_entry list_head;
};

/* ---- late matches ------------------------------------------------------------------------- */

static bool add_late(struct rf_reader *reader, uint64_t posts, uint32_t back, int32_t source,
                     int32_t tag) {
    if (!back || back > posts)
        return false;
    if (reader->late_count == reader->late_room) {
        size_t room = reader->late_room ? reader->late_room * 2 : 64;
        struct late *bigger = realloc(reader->lates, room * sizeof *bigger);
        if (!bigger)
            return false;
        reader->lates = bigger;
        reader->late_room = room;
    }
    reader->lates[reader->late_count] =
        (struct late){posts - back, reader->late_count, source, tag};
    reader->late_count++;
    return true;
}

static bool scan_prefix(struct rf_reader *reader, uint32_t bytes) {
    struct rf_prefix prefix;
    struct rf_late late = {0};
    if (!rf_prefix_open(&prefix, reader->trace.payload, bytes))
        return false;
    for (uint64_t i = 0; i < prefix.lates; i++)
        if (!rf_prefix_late(&prefix, &late) || late.post > prefix.posts ||
            !add_late(reader, reader->scan_posts + late.post, late.back, late.source, late.tag))
            return false;
    reader->scan_posts += prefix.posts;
    reader->unmatched += prefix.unmatched;
    return true;
}

/* Plain slots, of a chunk that was not coded or of the log. Stops where they stop making sense. */
static bool scan_slots(struct rf_reader *reader, const struct rf_entry *slots, uint32_t used) {
    for (uint32_t at = 0; at < used;) {
        const struct rf_entry *entry = &slots[at];
        uint32_t take = rf_entry_slots(entry, used - at);
        if (!take)
            return !entry->what;
        enum rf_kind kind = rf_packed_kind(entry->what);
        if (rf_kind_flags[kind] & RF_OPEN) {
            reader->scan_posts++;
            reader->unmatched += entry->first == RF_UNKNOWN;
        } else if (kind == RF_LATE &&
                   !add_late(reader, reader->scan_posts, entry->run, entry->first, entry->second)) {
            return false;
        }
        at += take;
    }
    return true;
}

static int by_post(const void *a, const void *b) {
    const struct late *left = a, *right = b;
    if (left->post != right->post)
        return left->post < right->post ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static void sort_lates(struct rf_reader *reader) {
    if (!reader->late_count)
        return;
    qsort(reader->lates, reader->late_count, sizeof *reader->lates, by_post);
    size_t kept = 0;
    for (size_t i = 1; i < reader->late_count; i++) {
        if (reader->lates[i].post != reader->lates[kept].post)
            kept++;
        reader->lates[kept] = reader->lates[i];
    }
    reader->late_count = kept + 1;
    reader->unmatched -=
        reader->unmatched < reader->late_count ? reader->unmatched : reader->late_count;
}

/* ---- opening ------------------------------------------------------------------------------ */

static bool set_damage(struct rf_reader *reader, const struct rf_error *error) {
    if (!reader->damaged)
        reader->damage = *error;
    reader->damaged = true;
    return false;
}

static bool take_end(struct rf_reader *reader, uint32_t bytes) {
    struct rf_chunk_end end;
    if (bytes != sizeof end)
        return false;
    memcpy(&end, reader->trace.payload, sizeof end);
    if (end.how < RF_END_NONE || end.how > RF_END_EXIT)
        return false;
    reader->ending.how = (enum rf_end)end.how;
    reader->ending.code = end.code;
    reader->ending.incomplete = end.incomplete;
    return true;
}

static bool take_reason(struct rf_reader *reader, uint32_t bytes) {
    if (bytes >= sizeof reader->ending.reason)
        return false;
    memcpy(reader->ending.reason, reader->trace.payload, bytes);
    reader->ending.reason[bytes] = 0;
    return true;
}

static bool make_room(struct rf_reader *reader, uint32_t slots) {
    if (reader->decoded && slots <= reader->decoded_room)
        return true;
    free(reader->decoded);
    reader->decoded = calloc(slots ? slots : 1, sizeof *reader->decoded);
    reader->decoded_room = reader->decoded ? slots : 0;
    return reader->decoded != NULL;
}

struct scan {
    bool has_node, has_end;
    uint64_t events;
};

static bool scan_chunk(struct rf_reader *reader, const struct rf_chunk *chunk, struct scan *scan) {
    switch (chunk->type) {
    case RF_CHUNK_NODE:
        return scan->has_node = rf_node_read(&reader->node, reader->trace.payload, chunk->bytes);
    case RF_CHUNK_EVENTS:
    case RF_CHUNK_SLOTS:
        if (chunk->segment != reader->next_segment || chunk->first_event != scan->events)
            return false;
        if (chunk->type == RF_CHUNK_EVENTS) {
            if (!scan_prefix(reader, chunk->bytes))
                return false;
        } else {
            if (chunk->bytes != chunk->slots * sizeof(struct rf_entry) ||
                !make_room(reader, chunk->slots))
                return false;
            memcpy(reader->decoded, reader->trace.payload, chunk->bytes);
            if (!scan_slots(reader, reader->decoded, chunk->slots))
                return false;
        }
        reader->next_segment++;
        scan->events += chunk->events;
        return true;
    case RF_CHUNK_TABLES:
        rf_tables_free(&reader->tables);
        return rf_tables_read(&reader->tables, reader->trace.payload, chunk->bytes);
    case RF_CHUNK_REASON:
        return take_reason(reader, chunk->bytes);
    case RF_CHUNK_END:
        return scan->has_end = take_end(reader, chunk->bytes);
    default:
        return false;
    }
}

/* Walks all chunks without decoding them. False: what begins at `trace_end` cannot be read. */
static bool scan_trace(struct rf_reader *reader, struct scan *scan, struct rf_error *error) {
    struct rf_trace_file *trace = &reader->trace;
    if (!rf_trace_file_header(trace, error))
        return false;
    reader->offset = reader->trace_end = sizeof(struct rf_trace_header);
    while (reader->trace_end < trace->bytes) {
        struct rf_chunk chunk;
        if (scan->has_end)
            return rf_fail(error, RF_EXIT_TRACE, "%s: has bytes after its end, from byte %" PRIu64,
                           trace->path, reader->trace_end);
        if (!rf_trace_file_chunk(trace, reader->trace_end, &chunk, error))
            return false;
        if (!scan_chunk(reader, &chunk, scan))
            return rf_fail(error, RF_EXIT_TRACE,
                           "%s: is damaged at byte %" PRIu64 ": the chunk makes no sense",
                           trace->path, reader->trace_end);
        reader->trace_end += sizeof chunk + chunk.bytes;
    }
    return scan->has_end ||
           rf_fail(error, RF_EXIT_TRACE, "%s: the end is missing, from byte %" PRIu64 " on",
                   trace->path, reader->trace_end);
}

/* When the middle is damaged, the tables are still found through the end. */
static void rescue_tables(struct rf_reader *reader) {
    struct rf_trace_file *trace = &reader->trace;
    struct rf_chunk chunk;
    struct rf_chunk_end end;
    const size_t last = sizeof chunk + sizeof end;
    if (reader->tables.sites || trace->bytes < last ||
        !rf_trace_file_chunk(trace, trace->bytes - last, &chunk, NULL) ||
        chunk.type != RF_CHUNK_END || chunk.bytes != sizeof end)
        return;
    memcpy(&end, trace->payload, sizeof end);
    if (end.tables < trace->bytes && rf_trace_file_chunk(trace, end.tables, &chunk, NULL) &&
        chunk.type == RF_CHUNK_TABLES)
        rf_tables_read(&reader->tables, trace->payload, chunk.bytes);
}

/* The trace file has no end, so what the log holds beyond it counts. */
static void join_log(struct rf_reader *reader, const struct rf_error *trace_error) {
    struct rf_log_file *log = &reader->log;
    struct rf_error error;
    size_t bad;
    rf_tables_free(&reader->tables);
    if (!rf_tables_read_log(&reader->tables, log->log, &bad)) {
        rf_fail(&error, RF_EXIT_TRACE, "%s: the tables are damaged at byte %zu", log->path, bad);
        set_damage(reader, &error);
    }
    if (!rf_log_file_ending(log, &reader->ending, reader->tables.site_count, &error))
        set_damage(reader, &error);
    /* A chunk that is not whole is no loss while the log still has its segment. */
    if (reader->next_segment < log->written) {
        set_damage(reader, trace_error);
        reader->log_segment = log->begun;
        return;
    }
    reader->log_segment = reader->next_segment;
    if (log->begun > reader->next_segment + RF_LOG_SEGMENTS) {
        rf_fail(&error, RF_EXIT_TRACE, "%s: is damaged at byte %zu", log->path,
                offsetof(struct rf_log, begun));
        set_damage(reader, &error);
        reader->log_segment = log->begun;
    }
    for (uint64_t i = reader->log_segment; i < log->begun; i++)
        if (!scan_slots(reader, log->log->ring[i % RF_LOG_SEGMENTS], rf_log_file_slots(log, i)))
            break; /* reading will come to it and say so */
}

/* Killed while its files were created: the log has no name of its own yet, and the trace file, if
   it exists, is empty. A file that lost its contents later looks different, as the first name of
   the log is gone by then. */
static bool only_begun(const struct rf_reader *reader, const char *directory, int rank) {
    char path[sizeof reader->log.path];
    snprintf(path, sizeof path, "%s/rank-%d.new", directory, rank);
    return !reader->log.exists && !reader->trace.bytes && access(path, F_OK) == 0;
}

static bool open_files(struct rf_reader *reader, const char *directory, int rank,
                       struct rf_error *error) {
    struct rf_error log_error = {0};
    struct scan scan = {0};
    bool log_good = rf_log_file_open(&reader->log, &log_error);
    if (!rf_trace_file_open(&reader->trace, error))
        return false;
    if (log_good && only_begun(reader, directory, rank)) {
        reader->node.rank = rank;
        return true;
    }
    if (reader->trace.file.number < 0 && !reader->log.exists) {
        if (log_good)
            rf_fail(error, RF_EXIT_TRACE, "%s: has no trace of rank %d", directory, rank);
        else
            *error = log_error;
        return false;
    }
    bool whole = false;
    if (reader->trace.file.number >= 0)
        whole = scan_trace(reader, &scan, error);
    else
        rf_fail(error, RF_EXIT_TRACE, "%s: is missing", reader->trace.path);
    if (!whole && reader->log.log && !scan.has_end) {
        if (!scan.has_node)
            rf_log_get_node(&reader->node, &reader->log.log->node);
        scan.has_node = true;
        /* A trace file that is there must at least begin like one. */
        if (!reader->trace_end && reader->trace.bytes >= sizeof(struct rf_trace_header))
            set_damage(reader, error);
        join_log(reader, error);
    } else {
        if (!whole)
            set_damage(reader, log_good || scan.has_end ? error : &log_error);
        if (!whole && reader->trace_end && !scan.has_end)
            rescue_tables(reader);
        rf_log_file_close(&reader->log);
    }
    if (!scan.has_node) {
        if (reader->damaged)
            *error = reader->damage;
        else
            rf_fail(error, RF_EXIT_TRACE, "%s: does not say whose trace it is", reader->trace.path);
        return false;
    }
    if (reader->damaged && reader->ending.how != RF_END_NONE && !scan.has_end)
        reader->ending.how = RF_END_NONE;
    sort_lates(reader);
    return true;
}

struct rf_reader *rf_reader_open(const char *directory, int rank, struct rf_error *error) {
    struct rf_error unused;
    if (!error)
        error = &unused;
    struct rf_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", directory);
        return NULL;
    }
    reader->trace.file.number = -1;
    int length = snprintf(reader->trace.path, sizeof reader->trace.path, "%s/rank-%d.trace",
                          directory, rank);
    snprintf(reader->log.path, sizeof reader->log.path, "%s/rank-%d.tail", directory, rank);
    bool fits = length > 0 && (size_t)length < sizeof reader->trace.path;
    if (!fits)
        rf_fail(error, RF_EXIT_TRACE, "%s: the path is too long", directory);
    if (fits && open_files(reader, directory, rank, error)) {
        int32_t written_for = rf_reader_node(reader)->rank;
        if (written_for == rank)
            return reader;
        rf_fail(error, RF_EXIT_TRACE, "%s: is the file of rank %d", reader->trace.path,
                written_for);
    }
    rf_reader_close(reader);
    return NULL;
}

void rf_reader_close(struct rf_reader *reader) {
    if (!reader)
        return;
    rf_trace_file_close(&reader->trace);
    rf_log_file_close(&reader->log);
    rf_tables_free(&reader->tables);
    free(reader->lates);
    free(reader->list);
    free(reader->decoded);
    free(reader);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool load_chunk(struct rf_reader *reader, struct rf_error *error) {
    struct rf_chunk chunk;
    struct rf_trace_file *trace = &reader->trace;
    if (!rf_trace_file_chunk(trace, reader->offset, &chunk, error))
        return false;
    reader->chunk_offset = reader->offset;
    reader->offset += sizeof chunk + chunk.bytes;
    if (chunk.type != RF_CHUNK_EVENTS && chunk.type != RF_CHUNK_SLOTS)
        return true;
    struct rf_codec *codec = make_room(reader, chunk.slots) ? rf_codec_take() : NULL;
    if (!codec)
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory at byte %" PRIu64, trace->path,
                       reader->chunk_offset);
    bool good = chunk.type == RF_CHUNK_SLOTS ? chunk.bytes == chunk.slots * sizeof *reader->decoded
                                             : rf_codec_decode(codec, trace->payload, chunk.bytes,
                                                               reader->decoded, chunk.slots);
    rf_codec_give_back(codec);
    if (!good)
        return rf_fail(error, RF_EXIT_TRACE, "%s: the chunk at byte %" PRIu64 " cannot be decoded",
                       trace->path, reader->chunk_offset);
    if (chunk.type == RF_CHUNK_SLOTS)
        memcpy(reader->decoded, trace->payload, chunk.bytes);
    reader->slots = reader->decoded;
    reader->used = chunk.slots;
    reader->at = 0;
    return true;
}

/* Makes the next entry current. False at the end, or with `damaged` set. */
static bool load(struct rf_reader *reader) {
    while (reader->at >= reader->used || (reader->from_log && !reader->slots[reader->at].what)) {
        struct rf_error error;
        reader->at = reader->used = 0;
        if (reader->offset < reader->trace_end) {
            if (!load_chunk(reader, &error)) {
                reader->trace_end = reader->offset = 0;
                rf_log_file_close(&reader->log);
                return set_damage(reader, &error);
            }
        } else if (reader->log.log && reader->log_segment < reader->log.begun) {
            reader->from_log = true;
            reader->slots = reader->log.log->ring[reader->log_segment % RF_LOG_SEGMENTS];
            reader->used = rf_log_file_slots(&reader->log, reader->log_segment);
            bool cut = reader->used < RF_SEGMENT_SLOTS;
            reader->log_segment = cut ? reader->log.begun : reader->log_segment + 1;
            if (cut) {
                rf_fail(&error, RF_EXIT_TRACE, "%s: is cut off at byte %" PRIu64, reader->log.path,
                        reader->log.bytes);
                set_damage(reader, &error);
            }
        } else {
            return false;
        }
    }
    return true;
}

static bool bad_entry(struct rf_reader *reader) {
    struct rf_error error;
    if (reader->from_log)
        rf_fail(&error, RF_EXIT_TRACE, "%s: is damaged at byte %zu: no event there",
                reader->log.path,
                (size_t)((const char *)&reader->slots[reader->at] - (const char *)reader->log.log));
    else
        rf_fail(&error, RF_EXIT_TRACE, "%s: the chunk at byte %" PRIu64 " holds what is no event",
                reader->trace.path, reader->chunk_offset);
    /* Nothing after this is trusted. */
    reader->at = reader->used = 0;
    reader->offset = reader->trace_end = 0;
    reader->log_segment = reader->log.begun;
    return set_damage(reader, &error);
}

static bool append_list(struct rf_reader *reader, const int32_t *items, uint32_t length) {
    size_t needed = reader->list_length + length;
    if (needed > RF_LIST_LIMIT)
        return false;
    if (needed > reader->list_room) {
        size_t room = needed * 2;
        int32_t *bigger = realloc(reader->list, room * sizeof *bigger);
        if (!bigger)
            return false;
        reader->list = bigger;
        reader->list_room = room;
    }
    if (length)
        memcpy(reader->list + reader->list_length, items, length * sizeof *items);
    reader->list_length = needed;
    return true;
}

/* Open events come with what they left open, also when it was learnt after they were written. */
static void give_match(struct rf_reader *reader, struct rf_event *event) {
    uint64_t post = reader->posts++;
    while (reader->late_next < reader->late_count && reader->lates[reader->late_next].post < post)
        reader->late_next++;
    if (event->first == RF_UNKNOWN) {
        event->second = RF_UNKNOWN;
        if (reader->late_next < reader->late_count &&
            reader->lates[reader->late_next].post == post) {
            event->first = reader->lates[reader->late_next].source;
            event->second = reader->lates[reader->late_next].tag;
        }
    }
    if (rf_kind_columns[event->kind][1] == RF_COL_NONE)
        event->second = 0;
}

static void fill_event(struct rf_reader *reader, struct rf_event *event,
                       const struct rf_entry *entry) {
    unsigned flags = rf_kind_flags[rf_packed_kind(entry->what)];
    *event = (struct rf_event){
        .number = reader->number,
        .kind = rf_packed_kind(entry->what),
        .channel = rf_packed_channel(entry->what),
        .site = rf_packed_site(entry->what),
        .first = entry->first,
        .second = entry->second,
        .run = flags & RF_REPEATS && entry->run ? entry->run : 1,
        .back = flags & RF_BACK ? entry->run : 0,
    };
    if (rf_is_decision(event->kind))
        reader->number += event->run;
    if (flags & RF_OPEN)
        give_match(reader, event);
}

/* One entry. Sets `complete` when it makes an event (and not a piece of a longer list). */
static bool take_entry(struct rf_reader *reader, struct rf_event *event, bool *complete) {
    const struct rf_entry *entry = &reader->slots[reader->at];
    uint32_t take = rf_entry_slots(entry, reader->used - reader->at);
    if (!take || (reader->from_log && rf_packed_site(entry->what) >= reader->tables.site_count))
        return bad_entry(reader);
    *complete = true;
    bool list = rf_kind_flags[rf_packed_kind(entry->what)] & RF_LIST;
    if (reader->in_list &&
        (entry->what != reader->list_head.what || entry->first != reader->list_head.first ||
         entry->second != reader->list_head.second))
        return bad_entry(reader);
    if (!list) {
        fill_event(reader, event, entry);
    } else {
        const int32_t *items = (const int32_t *)(entry + 1);
        uint32_t length = entry->run & ~RF_LIST_MORE;
        *complete = !(entry->run & RF_LIST_MORE);
        if (!reader->in_list)
            reader->list_length = 0;
        bool joined = reader->in_list || !*complete;
        if (joined && !append_list(reader, items, length))
            return bad_entry(reader);
        if (*complete) {
            fill_event(reader, event, entry);
            event->list = joined ? reader->list : items;
            event->list_length = joined ? (uint32_t)reader->list_length : length;
        }
        reader->in_list = !*complete;
        reader->list_head = *entry;
    }
    reader->at += take;
    return true;
}

enum rf_read rf_reader_next(struct rf_reader *reader, struct rf_event *event,
                            struct rf_error *error) {
    /* A list whose last piece never came was not appended: its call had not returned. */
    bool complete = false;
    while (!complete) {
        if (!load(reader) || !take_entry(reader, event, &complete)) {
            if (!reader->damaged)
                return RF_READ_END;
            if (error)
                *error = reader->damage;
            return RF_READ_DAMAGED;
        }
    }
    return RF_READ_EVENT;
}

/* ---- facts -------------------------------------------------------------------------------- */

const struct rf_node *rf_reader_node(const struct rf_reader *reader) {
    return &reader->node;
}

const struct rf_ending *rf_reader_ending(const struct rf_reader *reader) {
    return &reader->ending;
}

const struct rf_site *rf_reader_site(const struct rf_reader *reader, uint32_t number) {
    return number < reader->tables.site_count ? &reader->tables.sites[number] : NULL;
}

size_t rf_reader_site_count(const struct rf_reader *reader) {
    return reader->tables.site_count;
}

const struct rf_module *rf_reader_module(const struct rf_reader *reader, uint32_t number) {
    return number < reader->tables.module_count ? &reader->tables.modules[number] : NULL;
}

const char *rf_reader_unsupported(const struct rf_reader *reader, size_t i) {
    return i < reader->tables.name_count ? reader->tables.names[i].text : NULL;
}

uint64_t rf_reader_unmatched(const struct rf_reader *reader) {
    return reader->unmatched;
}

uint64_t rf_reader_bytes(const struct rf_reader *reader) {
    return reader->trace.bytes + (reader->log.exists ? reader->log.on_disk : 0);
}
