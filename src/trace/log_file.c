#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holes.h"
#include "trace_file.h"

static bool damaged(const struct rf_log_file *file, size_t offset, struct rf_error *error) {
    return rf_fail(error, RF_EXIT_TRACE, "%s: is damaged at byte %zu", file->path, offset);
}

/* The header decides what the rest means, so all of it is checked before anything is used. */
static bool check_header(struct rf_log_file *file, struct rf_error *error) {
    const struct rf_log *log = file->log;
    if (file->bytes < offsetof(struct rf_log, ring))
        return rf_fail(error, RF_EXIT_TRACE, "%s: is cut off at byte %" PRIu64, file->path,
                       file->bytes);
    if (memcmp(log->magic, RF_LOG_MAGIC, sizeof log->magic) != 0)
        return rf_fail(error, RF_EXIT_TRACE, "%s: is not a log of Refrain (byte 0)", file->path);
    if (log->version > RF_LOG_VERSION)
        return rf_fail(error, RF_EXIT_TRACE,
                       "%s: was written by a newer Refrain (format %" PRIu32
                       ", this one reads up to %u), or is damaged at byte 8",
                       file->path, log->version, RF_LOG_VERSION);
    if (log->check != rf_log_fixed_check(log) || !log->version ||
        log->segments != RF_LOG_SEGMENTS || log->segment_slots != RF_SEGMENT_SLOTS ||
        log->slot_bytes != sizeof(struct rf_entry) || log->sites_capacity != RF_MAX_SITES ||
        log->modules_capacity != RF_LOG_MODULES || log->names_capacity != RF_LOG_NAMES ||
        log->header_bytes != offsetof(struct rf_log, ring))
        return damaged(file, 8, error);
    if (!rf_unseal(log->begun, &file->begun) || !file->begun)
        return damaged(file, offsetof(struct rf_log, begun), error);
    if (!rf_unseal(log->written, &file->written) || file->written > file->begun)
        return damaged(file, offsetof(struct rf_log, written), error);
    return true;
}

bool rf_log_file_open(struct rf_log_file *file, struct rf_error *error) {
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == ENOENT)
            return true;
        return rf_fail(error, RF_EXIT_TRACE, "%s: cannot open it: %s", file->path, strerror(errno));
    }
    file->exists = true;
    file->log = aligned_alloc(_Alignof(struct rf_log), sizeof *file->log);
    if (!file->log) {
        close(descriptor);
        return rf_fail(error, RF_EXIT_TRACE, "%s: out of memory", file->path);
    }
    /* One copy of a running process's log is consistent enough: the counters are read before the
       ring, and a segment that is wiped meanwhile is found in the trace file, which is read
       later. */
    file->bytes = rf_read_at(descriptor, file->log, sizeof *file->log, 0);
    struct stat facts;
    file->on_disk = fstat(descriptor, &facts) == 0 ? rf_bytes_on_disk(&facts) : file->bytes;
    close(descriptor);
    memset((char *)file->log + file->bytes, 0, sizeof *file->log - file->bytes);
    if (check_header(file, error))
        return true;
    free(file->log);
    file->log = NULL;
    return false;
}

void rf_log_file_close(struct rf_log_file *file) {
    free(file->log);
    file->log = NULL;
}

static void read_flight(const struct rf_log *log, struct rf_in_flight *flight, size_t site_count) {
    uint32_t kind = rf_packed_kind(log->flight_word);
    if (kind == RF_NO_EVENT || kind >= RF_KINDS || rf_packed_site(log->flight_word) >= site_count)
        return;
    flight->active = true;
    flight->what = log->flight_word;
    if (log->flight_source > RF_FLIGHT_BYTES - 4 || log->flight_tag > RF_FLIGHT_BYTES - 4 ||
        log->flight_source == log->flight_tag)
        return;
    memcpy(&flight->source, log->flight_room + log->flight_source, sizeof flight->source);
    memcpy(&flight->tag, log->flight_room + log->flight_tag, sizeof flight->tag);
    flight->matched = flight->source != RF_UNKNOWN && flight->tag != RF_UNKNOWN;
}

bool rf_log_file_ending(const struct rf_log_file *file, struct rf_ending *ending, size_t site_count,
                        struct rf_error *error) {
    const struct rf_log *log = file->log;
    uint64_t end, incomplete;
    if (!rf_unseal(log->end, &end) || (end && ((end - 1) & 0xff) > RF_END_EXIT))
        return damaged(file, offsetof(struct rf_log, end), error);
    if (end) {
        ending->how = (enum rf_end)((end - 1) & 0xff);
        ending->code = (int32_t)(uint32_t)((end - 1) >> 8);
    }
    if (!rf_unseal(log->incomplete, &incomplete))
        return damaged(file, offsetof(struct rf_log, incomplete), error);
    if (incomplete) {
        ending->incomplete = true;
        if ((uint32_t)incomplete != rf_log_reason_check(log->reason))
            return damaged(file, offsetof(struct rf_log, reason), error);
        memcpy(ending->reason, log->reason, sizeof ending->reason);
        ending->reason[sizeof ending->reason - 1] = 0;
    }
    if (ending->how == RF_END_NONE) {
        if (log->flight_check != rf_log_flight_check(log))
            return damaged(file, offsetof(struct rf_log, flight_source), error);
        read_flight(log, &ending->in_flight, site_count);
    }
    return true;
}

uint32_t rf_log_file_slots(const struct rf_log_file *file, uint64_t segment) {
    uint64_t start =
        offsetof(struct rf_log, ring) + segment % RF_LOG_SEGMENTS * sizeof file->log->ring[0];
    if (file->bytes <= start)
        return 0;
    uint64_t slots = (file->bytes - start) / sizeof(struct rf_entry);
    return slots < RF_SEGMENT_SLOTS ? (uint32_t)slots : RF_SEGMENT_SLOTS;
}
