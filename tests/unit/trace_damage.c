/* Damaged, cut and foreign files: said plainly, read as far as possible, never a crash. */
#include "trace_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/chunk.h"
#include "trace/log.h"
#include "trace_streams.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct fixture {
    const char *directory;
    char trace_path[512], log_path[512];
    struct mirror mirror;
    uint8_t *trace, *log;
    size_t trace_bytes, log_bytes;
};

/* Two chunks of events: a list across the border of the segments makes the first one short. */
static void prepare(struct fixture *fixture, unsigned events, bool killed) {
    struct rf_recorder recorder;
    memset(fixture, 0, sizeof *fixture);
    fixture->directory = testing_directory();
    testing_path(fixture->trace_path, sizeof fixture->trace_path, fixture->directory,
                 "rank-0.trace");
    testing_path(fixture->log_path, sizeof fixture->log_path, fixture->directory, "rank-0.tail");
    fixture->mirror.recorder = &recorder;
    testing_open(&recorder, fixture->directory);
    rf_recorder_unsupported(&recorder, "MPI_Get");
    struct stream_state random = {.random = 3};
    for (unsigned i = 0; i < events; i++) {
        int32_t list[3] = {(int32_t)stream_random(&random, 4), 5, (int32_t)i};
        mirror_fold(&fixture->mirror, rf_pack(RF_RECV, 0, 1 + i % 3),
                    (int32_t)stream_random(&random, 3), 5);
        if (i % 4 == 0)
            mirror_list(&fixture->mirror, rf_pack(RF_SET, 0, 2), 4, 0, list, 1 + i % 3);
        if (i == events / 2)
            rf_recorder_next_segment(&recorder);
    }
    fixture->log = testing_load(fixture->log_path, &fixture->log_bytes);
    if (!killed)
        rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    fixture->trace = testing_load(fixture->trace_path, &fixture->trace_bytes);
    if (killed) {
        rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
        testing_save(fixture->trace_path, fixture->trace, fixture->trace_bytes);
        testing_save(fixture->log_path, fixture->log, fixture->log_bytes);
    }
    fixture->mirror.recorder = NULL;
}

static void finish(struct fixture *fixture) {
    mirror_free(&fixture->mirror);
    free(fixture->trace);
    free(fixture->log);
    testing_clean(fixture->directory);
}

/* Damage: opening fails or reading ends with it, naming file and place; what comes before is right.
   Returns how many events were still readable. */
static size_t expect_damage(struct fixture *fixture) {
    struct rf_error error = {0};
    struct rf_reader *reader = rf_reader_open(fixture->directory, 0, &error);
    if (!reader) {
        assert_int_equal(error.code, RF_EXIT_TRACE);
        assert_non_null(strstr(error.text, "rank-0."));
        return 0;
    }
    size_t seen = mirror_compare(&fixture->mirror, reader, RF_READ_DAMAGED);
    rf_reader_close(reader);
    return seen;
}

static void truncation_is_noticed(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, 200, false);
    size_t before = 0;
    for (size_t bytes = 0; bytes < fixture.trace_bytes; bytes++) {
        testing_save(fixture.trace_path, fixture.trace, bytes);
        size_t seen = expect_damage(&fixture);
        assert_true(seen >= before);
        before = seen;
    }
    assert_int_equal(before, fixture.mirror.count);
    finish(&fixture);
}

static void flipped_bits_are_noticed(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, 200, false);
    for (size_t at = 0; at < fixture.trace_bytes; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            testing_poke(fixture.trace_path, at, fixture.trace[at] ^ (uint8_t)(1u << bit));
            expect_damage(&fixture);
        }
        testing_poke(fixture.trace_path, at, fixture.trace[at]);
    }
    /* Damage to the first chunk of events costs the events, not the tables. */
    struct rf_chunk node;
    memcpy(&node, fixture.trace + sizeof(struct rf_trace_header), sizeof node);
    size_t middle = sizeof(struct rf_trace_header) + 2 * sizeof node + node.bytes + 10;
    fixture.trace[middle] ^= 1;
    testing_save(fixture.trace_path, fixture.trace, fixture.trace_bytes);
    struct rf_reader *reader = rf_reader_open(fixture.directory, 0, NULL);
    assert_non_null(reader);
    assert_int_equal(rf_reader_site_count(reader), 32);
    rf_reader_close(reader);
    finish(&fixture);
}

static void bytes_after_the_end_are_noticed(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, 100, false);
    uint8_t *longer = malloc(fixture.trace_bytes + 1);
    assert_non_null(longer);
    memcpy(longer, fixture.trace, fixture.trace_bytes);
    longer[fixture.trace_bytes] = 0;
    testing_save(fixture.trace_path, longer, fixture.trace_bytes + 1);
    free(longer);
    assert_int_equal(expect_damage(&fixture), fixture.mirror.count);
    finish(&fixture);
}

/* A killed run: a bit in every byte of the log's head and tables, and cuts anywhere. */
static void damaged_logs_are_noticed(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, 200, true);
    struct rf_log *log = (struct rf_log *)(void *)fixture.log;
    struct rf_reader *reader = rf_reader_open(fixture.directory, 0, NULL);
    assert_non_null(reader);
    mirror_compare(&fixture.mirror, reader, RF_READ_END);
    rf_reader_close(reader);
    const struct {
        size_t start, bytes;
    } parts[] = {
        {0, offsetof(struct rf_log, reason)},
        {offsetof(struct rf_log, flight_source), 12},
        {offsetof(struct rf_log, modules), 2 * sizeof *log->modules},
        {offsetof(struct rf_log, names), sizeof *log->names},
        {offsetof(struct rf_log, sites), 10 * sizeof *log->sites},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t at = parts[i].start; at < parts[i].start + parts[i].bytes; at++) {
            testing_poke(fixture.log_path, at, fixture.log[at] ^ (uint8_t)(1u << at * 5 % 8));
            expect_damage(&fixture);
            testing_poke(fixture.log_path, at, fixture.log[at]);
        }
    for (size_t bytes = 0; bytes < fixture.log_bytes;
         bytes += bytes < 700 || bytes > fixture.log_bytes - 50 ? 29 : 54321) {
        testing_save(fixture.log_path, fixture.log, bytes);
        struct rf_error error = {0};
        reader = rf_reader_open(fixture.directory, 0, &error);
        if (!reader) {
            assert_int_equal(error.code, RF_EXIT_TRACE);
            continue;
        }
        /* A cut behind what was written in the last segment changes nothing. */
        struct rf_event event;
        enum rf_read read;
        while ((read = rf_reader_next(reader, &event, &error)) == RF_READ_EVENT)
            ;
        assert_true(read == RF_READ_DAMAGED ||
                    bytes > offsetof(struct rf_log, ring) + sizeof log->ring / 2);
        rf_reader_close(reader);
    }
    /* Entries that cannot be: an unknown site, no kind, a list without room. */
    const struct rf_entry wrong[] = {{rf_pack(RF_RECV, 0, 32), 0, 0, 1},
                                     {rf_pack(RF_NO_EVENT, 3, 1), 0, 0, 1},
                                     {rf_pack(RF_SET, 0, 1), 0, 0, RF_SEGMENT_SLOTS * 4}};
    uint32_t place = 0;
    while (place < 50)
        place += rf_entry_slots(&log->ring[0][place], RF_SEGMENT_SLOTS - place);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rf_entry before = log->ring[0][place];
        log->ring[0][place] = wrong[i];
        testing_save(fixture.log_path, fixture.log, fixture.log_bytes);
        size_t seen = expect_damage(&fixture);
        assert_true(seen > 10 && seen <= place);
        log->ring[0][place] = before;
    }
    finish(&fixture);
}

static void expect_refusal(struct fixture *fixture, const char *text) {
    struct rf_error error = {0};
    struct rf_reader *reader = rf_reader_open(fixture->directory, 0, &error);
    assert_null(reader);
    assert_int_equal(error.code, RF_EXIT_TRACE);
    if (!strstr(error.text, text))
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

static void other_files_are_refused(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, 50, false);
    struct rf_trace_header header;
    memcpy(&header, fixture.trace, sizeof header);
    header.version = RF_TRACE_VERSION + 1;
    memcpy(fixture.trace, &header, sizeof header);
    testing_save(fixture.trace_path, fixture.trace, fixture.trace_bytes);
    expect_refusal(&fixture, "newer Refrain (format 2, this one reads up to 1), or");
    header.check = XXH3_64bits(&header, offsetof(struct rf_trace_header, check));
    memcpy(fixture.trace, &header, sizeof header);
    testing_save(fixture.trace_path, fixture.trace, fixture.trace_bytes);
    expect_refusal(&fixture, "was written by a newer Refrain (format 2, this one reads up to 1)");
    testing_save(fixture.trace_path, "\177ELF................................", 36);
    expect_refusal(&fixture, "is not a Refrain trace");
    testing_save(fixture.trace_path, "", 0);
    expect_refusal(&fixture, "cut off at byte 0");
    unlink(fixture.trace_path);
    expect_refusal(&fixture, "has no trace of rank 0");
    testing_save(fixture.log_path, "garbage", 7);
    expect_refusal(&fixture, "rank-0.tail");
    finish(&fixture);
}

/* The mark of a rank that had only begun excuses nothing else. */
static void a_beginning_hides_no_damage(void **unused) {
    (void)unused;
    struct fixture fixture;
    char begun[512];
    prepare(&fixture, 50, true);
    testing_path(begun, sizeof begun, fixture.directory, "rank-0.new");
    testing_save(begun, "", 0);
    struct rf_reader *reader = rf_reader_open(fixture.directory, 0, NULL);
    assert_non_null(reader);
    mirror_compare(&fixture.mirror, reader, RF_READ_END);
    rf_reader_close(reader);
    testing_save(fixture.trace_path, "", 0);
    testing_save(fixture.log_path, "", 0);
    expect_refusal(&fixture, "is cut off at byte 0");
    testing_save(fixture.trace_path, fixture.trace, fixture.trace_bytes);
    unlink(fixture.log_path);
    assert_int_equal(expect_damage(&fixture), 0);
    finish(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncation_is_noticed),
        cmocka_unit_test(flipped_bits_are_noticed),
        cmocka_unit_test(bytes_after_the_end_are_noticed),
        cmocka_unit_test(damaged_logs_are_noticed),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_beginning_hides_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
