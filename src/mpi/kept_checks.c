/* Checksums of what comes: kept while recording, compared in a replay.

   Each thread has its own. In the file they are in the order in which they came; where another
   thread goes on, a mark and its number say so. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/kept.h"
#include "trace/checksum.h"
#include "trace/contents.h"

#define RF_FILL 0xa5u /* what --fill puts into fresh memory: see launch.c */

#define MARK 0x4d52414du
#define NO_THREAD UINT32_MAX /* the mark is a checksum */

/* Those of a thread that were read before it needed them. */
struct queue {
    uint32_t *sums;
    size_t first, end, room;
};

static struct {
    enum rf_checksum kind;
    struct rf_contents_writer *writer;
    struct rf_contents_reader *reader;
    uint32_t thread;      /* whose were written or read last */
    struct queue *queues; /* by the number of the thread */
    uint32_t threads;
    bool filled; /* fresh memory was filled, so it can be told */
    bool paused;
} checks;

bool rf_checks_open(const char *trace, const char *kind, bool record, struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.checks", trace, rf_mpi.rank);
    checks.kind = rf_checksum_named(kind);
    const char *tunables = getenv("GLIBC_TUNABLES");
    checks.filled = tunables && strstr(tunables, "malloc.perturb=90");
    if (checks.kind == RF_CHECKSUM_NONE)
        return true;
    if (record)
        checks.writer = rf_contents_create(path, RF_CONTENTS_USUAL_CHUNK, error);
    else
        checks.reader = rf_contents_open(path, error);
    if (!checks.writer && !checks.reader)
        return false;
    checks.thread = (uint32_t)rf_kept_thread();
    rf_layer_install(RF_LAYER_CHECKING);
    return true;
}

static bool holds_fill(const unsigned char *data, size_t size) {
    int run = 0;
    for (size_t i = 0; i < size && run < 3; i++)
        run = data[i] == RF_FILL ? run + 1 : 0;
    return run == 3;
}

static _Noreturn void differs(const void *data, size_t size, const MPI_Status *message) {
    struct rf_progress *progress = rf_the_session.replayer.progress;
    const char *reason =
        !checks.filled ? "bytes that were never written, as padding, differ from run to run: "
                         "record with --fill to rule that out"
        : holds_fill(data, size)
            ? "it holds bytes that were never written: they may be all that differs"
            : "something that is not recorded decides what is sent";
    snprintf(progress->reason, sizeof progress->reason, "%s", reason);
    if (message)
        rf_diverge(
            &rf_the_session, &rf_current, NULL, NULL,
            "the message from rank %d with tag %d, %zu bytes, has other contents than in the "
            "recording",
            message->MPI_SOURCE, message->MPI_TAG, size);
    rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
               "the %zu bytes that this call brings are others than in the recording", size);
}

static void put_sum(uint32_t sum) {
    uint32_t thread = (uint32_t)rf_kept_thread();
    if (thread != checks.thread)
        rf_contents_put(checks.writer, (const uint32_t[]){MARK, thread}, 2 * sizeof thread);
    checks.thread = thread;
    rf_contents_put(checks.writer, (const uint32_t[]){sum, NO_THREAD},
                    (sum == MARK ? 2 : 1) * sizeof sum);
}

static struct queue *queue_of(uint32_t thread) {
    if (thread >= RF_MOST_STRANDS)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
                   "rank-%d.checks: damaged: there is no thread %u", rf_mpi.rank, thread);
    if (thread >= checks.threads) {
        uint32_t threads = thread * 2 + 8;
        checks.queues = rf_kept_room(checks.queues, threads * sizeof *checks.queues);
        memset(checks.queues + checks.threads, 0,
               (threads - checks.threads) * sizeof *checks.queues);
        checks.threads = threads;
    }
    return &checks.queues[thread];
}

static void enqueue(struct queue *queue, uint32_t sum) {
    if (queue->first == queue->end)
        queue->first = queue->end = 0;
    if (queue->end == queue->room) {
        queue->room = queue->room * 2 + 16;
        queue->sums = rf_kept_room(queue->sums, queue->room * sizeof *queue->sums);
    }
    queue->sums[queue->end++] = sum;
}

/* Reads one, whosever it is. */
static bool read_sum(void) {
    uint32_t sum, thread;
    for (;;) {
        if (!rf_contents_get(checks.reader, &sum, sizeof sum))
            return false;
        if (sum == MARK && !rf_contents_get(checks.reader, &thread, sizeof thread))
            return false;
        if (sum != MARK || thread == NO_THREAD)
            break;
        checks.thread = thread;
    }
    enqueue(queue_of(checks.thread), sum);
    return true;
}

/* A recording that was cut off has no more checksums from there on. */
static bool get_sum(uint32_t *sum) {
    uint32_t thread = (uint32_t)rf_kept_thread();
    struct queue *queue;
    while (queue = queue_of(thread), queue->first == queue->end)
        if (!read_sum())
            return false;
    *sum = queue->sums[queue->first++];
    return true;
}

void rf_check(const void *data, size_t size, const MPI_Status *message) {
    if (checks.kind == RF_CHECKSUM_NONE || checks.paused)
        return;
    uint32_t recorded, sum = rf_checksum(checks.kind, data, size);
    if (checks.writer) {
        put_sum(sum);
    } else if (!get_sum(&recorded)) {
        const struct rf_error *error = rf_contents_reader_error(checks.reader);
        if (error->text[0])
            rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "%s", error->text);
    } else if (recorded != sum) {
        differs(data, size, message);
    }
}

void rf_checks_pause(bool pause) {
    checks.paused = pause;
}

void rf_checks_abandon(void) {
    memset(&checks, 0, sizeof checks);
}

bool rf_checks_close(struct rf_error *error) {
    bool good = !checks.writer || rf_contents_close(checks.writer, error);
    if (checks.reader)
        rf_contents_reader_close(checks.reader);
    for (uint32_t i = 0; i < checks.threads; i++)
        free(checks.queues[i].sums);
    free(checks.queues);
    rf_checks_abandon();
    return good;
}
