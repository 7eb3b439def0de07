/* Checksums of what comes: kept while recording, compared in a replay. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/kept.h"
#include "trace/checksum.h"
#include "trace/contents.h"

#define RF_FILL 0xa5u /* what --fill puts into fresh memory: see launch.c */

static struct {
    enum rf_checksum kind;
    struct rf_contents_writer *writer;
    struct rf_contents_reader *reader;
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
        checks.writer = rf_contents_create(path, RF_CONTENTS_CHUNK, error);
    else
        checks.reader = rf_contents_open(path, error);
    if (!checks.writer && !checks.reader)
        return false;
    if (record && rf_mpi.level == 3) {
        /* A program must not come to harm: threads would meet in the tables. */
        rf_contents_close(checks.writer, error);
        memset(&checks, 0, sizeof checks);
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "the program asked for MPI_THREAD_MULTIPLE");
    }
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

/* A recording that was cut off has no more checksums from there on. */
void rf_check(const void *data, size_t size, const MPI_Status *message) {
    if (checks.kind == RF_CHECKSUM_NONE || checks.paused)
        return;
    uint32_t recorded, sum = rf_checksum(checks.kind, data, size);
    if (checks.writer) {
        rf_contents_put(checks.writer, &sum, sizeof sum);
    } else if (!rf_contents_get(checks.reader, &recorded, sizeof recorded)) {
        const struct rf_error *error = rf_contents_reader_error(checks.reader);
        if (error->text[0])
            rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "%s", error->text);
        checks.kind = RF_CHECKSUM_NONE;
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
    rf_checks_abandon();
    return good;
}
