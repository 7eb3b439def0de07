/* The log of the order of threads: what is read is what was written, sealed or not. */
#include "trace_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thread_log_sample.h"
#include "trace/thread_coding.h"
#include "trace/varint.h"

static struct sample sample;
static const char *directory;
static char path[512];

static int set_up(void **unused) {
    (void)unused;
    directory = testing_directory();
    testing_path(path, sizeof path, directory, "rank-0.threads");
    sample_open(&sample, 0);
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    testing_clean(directory);
    return 0;
}

static struct rf_thread_log *save_and_open(void) {
    struct rf_error error = {0};
    testing_save(path, &sample, sample_bytes(&sample));
    struct rf_thread_log *log = rf_thread_log_open(directory, 0, &error);
    if (!log || !rf_thread_log_whole(log, &error))
        fail_msg("%s", error.text);
    return log;
}

static void compare_entry(const struct rf_thread_log_entry *entry,
                          const struct rf_thread_log_entry *expected) {
    assert_int_equal(entry->operation, expected->operation);
    assert_int_equal(entry->type, expected->type);
    assert_int_equal(entry->site, expected->site);
    assert_int_equal(entry->thread, expected->thread);
    assert_int_equal(entry->count, expected->count);
    assert_int_equal(entry->code, expected->code);
    assert_int_equal(entry->run, expected->run);
    assert_int_equal(entry->value, expected->value);
    assert_int_equal(entry->total, expected->total);
    assert_int_equal(entry->size, expected->size);
    if (entry->size)
        assert_memory_equal(entry->bytes, expected->bytes, entry->size);
}

static void compare(const struct rf_thread_log *log) {
    struct rf_error error = {0};
    assert_int_equal(rf_thread_log_threads(log), sample.head.threads);
    for (uint32_t i = 0; i < sample.head.threads; i++) {
        const struct sample_thread *thread = &sample.thread[i];
        struct rf_thread_log_cursor cursor;
        struct rf_thread_log_entry entry;
        assert_true(rf_thread_log_begin(log, i, &cursor));
        assert_memory_equal(cursor.record, sample_record(&sample, i),
                            offsetof(struct rf_thread_log_thread, chunks));
        for (size_t j = 0; j < thread->count; j++) {
            assert_int_equal(rf_thread_log_next(&cursor, &entry, &error), RF_READ_EVENT);
            compare_entry(&entry, &thread->expected[j]);
        }
        assert_int_equal(rf_thread_log_next(&cursor, &entry, &error), RF_READ_END);
        assert_int_equal(rf_thread_log_next(&cursor, &entry, &error), RF_READ_END);
        rf_thread_log_leave(&cursor);
    }
}

static void all_types_are_read(void **unused) {
    (void)unused;
    sample_fill(&sample);
    struct rf_thread_log *log = save_and_open();
    compare(log);
    assert_string_equal(rf_thread_log_head(log)->program, "/bin/program");
    rf_thread_log_close(log);
}

static void tables_have_what_they_say(void **unused) {
    (void)unused;
    sample_fill(&sample);
    struct rf_thread_log *log = save_and_open();
    assert_int_equal(rf_thread_log_site(log, 3)->offset, 0x3000);
    assert_string_equal(rf_thread_log_module(log, 0)->path, "/bin/program");
    static const uint32_t others[] = {0, 4, RF_THREAD_LOG_SITES, UINT16_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_null(rf_thread_log_site(log, others[i]));
        assert_null(rf_thread_log_module(log, others[i] ? others[i] : 1));
        struct rf_thread_log_cursor cursor;
        if (others[i] >= 4) {
            assert_null(rf_thread_log_thread(log, others[i]));
            assert_false(rf_thread_log_begin(log, others[i], &cursor));
        }
    }
    rf_thread_log_close(log);
}

/* An edge says by how much more than known: of 64 threads, by their number modulo 64. */
static void of_64_threads_is_known_how_far_they_were(void **unused) {
    (void)unused;
    for (int i = 0; i < 70; i++)
        sample_begin(&sample, 0);
    const struct {
        uint32_t thread;
        uint64_t more, count;
    } edges[] = {{1, 5, 5}, {2, 7, 7}, {1, 5, 10}, {65, 4, 4}, {65, 4, 8}, {1, 12, 12}, {2, 1, 8}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        sample_add(&sample, 0,
                   (struct rf_thread_log_entry){.operation = i + 1,
                                                .type = RF_THREAD_LOG_EDGE,
                                                .site = 1,
                                                .thread = edges[i].thread,
                                                .count = edges[i].count},
                   edges[i].more);
    struct rf_thread_log *log = save_and_open();
    compare(log);
    rf_thread_log_close(log);
}

/* A process may die at any instruction. */
static void what_was_not_done_does_not_count(void **unused) {
    (void)unused;
    sample_fill(&sample);
    sample.head.finished = 0;
    /* An entry is there before its operation is counted. */
    sample_record(&sample, 1)->done = 390;
    sample.thread[1].count = 130;
    /* A block is handed out before it is begun, and the file may be too short for it. */
    sample.head.blocks += 1000;
    testing_save(path, &sample, sample_bytes(&sample) - (size_t)1000 * RF_THREAD_LOG_BLOCK);
    struct rf_error error = {0};
    struct rf_thread_log *log = rf_thread_log_open(directory, 0, &error);
    assert_non_null(log);
    assert_true(rf_thread_log_whole(log, &error));
    compare(log);
    rf_thread_log_close(log);
    /* A number is handed out before there is a record. */
    sample.head.threads++;
    testing_save(path, &sample, sample_bytes(&sample) - (size_t)1000 * RF_THREAD_LOG_BLOCK);
    log = rf_thread_log_open(directory, 0, &error);
    assert_non_null(log);
    assert_int_equal(rf_thread_log_threads(log), 5);
    assert_null(rf_thread_log_thread(log, 4));
    assert_true(rf_thread_log_whole(log, &error));
    rf_thread_log_close(log);
}

/* A reader that opened the log of a living process does not see the blocks that come later. */
static void later_blocks_are_the_end(void **unused) {
    (void)unused;
    sample_fill(&sample);
    sample.head.finished = 0;
    uint32_t blocks = sample.head.blocks, all = 0, seen = 0;
    sample.head.blocks = sample.thread[2].last;
    struct rf_thread_log *log = save_and_open();
    struct rf_thread_log_cursor cursor;
    struct rf_thread_log_entry entry;
    struct rf_error error = {0};
    assert_true(rf_thread_log_begin(log, 2, &cursor));
    int result;
    while ((result = rf_thread_log_next(&cursor, &entry, &error)) == RF_READ_EVENT)
        seen++;
    assert_int_equal(result, RF_READ_END);
    rf_thread_log_leave(&cursor);
    rf_thread_log_close(log);
    sample.head.blocks = blocks;
    all = (uint32_t)sample.thread[2].count;
    assert_true(seen > 0 && seen < all);
}

static struct rf_thread_log *seal_and_open(void) {
    rf_thread_log_seal(directory, 0);
    struct rf_error error = {0};
    struct rf_thread_log *log = rf_thread_log_open(directory, 0, &error);
    if (!log || !rf_thread_log_whole(log, &error))
        fail_msg("%s", error.text);
    assert_int_equal(rf_thread_log_head(log)->version, RF_THREAD_LOG_SEALED);
    return log;
}

static void a_sealed_log_says_the_same_in_less_room(void **unused) {
    (void)unused;
    size_t bytes = 0, again = 0;
    sample_fill(&sample);
    testing_save(path, &sample, sizeof sample.head + sizeof sample.blocks);
    struct rf_thread_log *log = seal_and_open();
    compare(log);
    assert_int_equal(rf_thread_log_site(log, 3)->offset, 0x3000);
    assert_string_equal(rf_thread_log_module(log, 0)->path, "/bin/program");
    assert_string_equal(rf_thread_log_head(log)->program, "/bin/program");
    rf_thread_log_close(log);
    uint8_t *sealed = testing_load(path, &bytes);
    assert_true(bytes < 3000);
    rf_thread_log_seal(directory, 0);
    uint8_t *twice = testing_load(path, &again);
    assert_int_equal(again, bytes);
    assert_memory_equal(twice, sealed, bytes);
    free(twice);
    free(sealed);
}

/* Neither entries that do not count, nor blocks and records that are not in the file, are missed
   once it is sealed. */
static void a_cut_off_recording_is_sealed_as_it_is(void **unused) {
    (void)unused;
    sample_fill(&sample);
    sample.head.finished = 0;
    sample.head.blocks += 10;
    sample_record(&sample, 1)->done = 390;
    sample.thread[1].count = 130;
    testing_save(path, &sample, sample_bytes(&sample) - (size_t)10 * RF_THREAD_LOG_BLOCK + 100);
    struct rf_thread_log *log = seal_and_open();
    compare(log);
    rf_thread_log_close(log);
    sample.head.threads++;
    testing_save(path, &sample, sample_bytes(&sample) - (size_t)10 * RF_THREAD_LOG_BLOCK);
    log = seal_and_open();
    assert_int_equal(rf_thread_log_threads(log), 5);
    assert_null(rf_thread_log_thread(log, 4));
    rf_thread_log_close(log);
}

/* Bytes of an item of any type, with numbers of any size; most are alike, or coding would not make
   them shorter. */
static uint8_t *put_item(uint8_t *at, uint32_t (*random)(void)) {
    static const uint8_t alike[] = {RF_THREAD_LOG_TYPES + RF_THREAD_LOG_EDGE, 1, 2, 3};
    if (random() % 8)
        return (uint8_t *)memcpy(at, alike, sizeof alike) + sizeof alike;
    uint32_t type = 1 + random() % 7;
    uint64_t numbers[2] = {(uint64_t)random() << 32 | random(), random()};
    for (int i = 0; i < 2; i++)
        numbers[i] >>= random() % 64;
    at = rf_varint_put(at, (numbers[1] & 15) * RF_THREAD_LOG_TYPES + type);
    if (type != RF_THREAD_LOG_CHECK && type != RF_THREAD_LOG_AGAIN)
        at = rf_varint_put(at, random() % (random() % 2 ? 10 : RF_THREAD_LOG_SITES));
    if (type == RF_THREAD_LOG_BYTES) {
        at = rf_varint_put(rf_varint_put(at, numbers[0]), numbers[1] % 100);
        for (uint64_t i = 0; i < numbers[1] % 100; i++)
            *at++ = (uint8_t)random();
        return at;
    }
    if (type == RF_THREAD_LOG_CHECK)
        *at++ = (uint8_t)random();
    else if (type != RF_THREAD_LOG_AGAIN)
        at = rf_varint_put(at, numbers[0]);
    if (type == RF_THREAD_LOG_EDGE)
        return rf_varint_put(at, numbers[1]);
    if (type != RF_THREAD_LOG_VALUE && type != RF_THREAD_LOG_JUMP)
        *at++ = (uint8_t)random();
    return at;
}

static uint32_t next_random(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* Also if there are more sites than it remembers. */
static void what_is_decoded_is_what_was_coded(void **unused) {
    (void)unused;
    enum { ITEMS = 5000, MOST = 160 };
    static uint8_t bytes[ITEMS * MOST], coded[sizeof bytes];
    struct rf_thread_coding *coding = rf_thread_coding_new();
    for (int round = 0; round < 3; round++) {
        uint8_t *end = bytes;
        for (int i = 0; i < ITEMS; i++)
            end = put_item(end, next_random);
        size_t size = rf_thread_encode(coding, bytes, (size_t)(end - bytes), coded);
        assert_true(size > 0);
        rf_thread_decode(coding, coded, size);
        for (const uint8_t *at = bytes; at < end;) {
            struct rf_thread_item item, expected;
            assert_true(rf_thread_item_read(&at, end, &expected));
            assert_true(rf_thread_decode_next(coding, &item));
            assert_int_equal(item.type, expected.type);
            assert_int_equal(item.gap, expected.gap);
            assert_int_equal(item.site, expected.site);
            assert_int_equal(item.first, expected.first);
            assert_int_equal(item.second, expected.second);
            if (item.bytes)
                assert_memory_equal(item.bytes, expected.bytes, item.second);
        }
    }
    rf_thread_coding_free(coding);
}

static void other_files_are_left_alone(void **unused) {
    (void)unused;
    rf_thread_log_seal(directory, 0);
    assert_int_not_equal(access(path, F_OK), 0);
    static char zeros[sizeof sample.head + 256];
    const size_t sizes[] = {0, 7, sizeof zeros};
    for (size_t i = 0; i < 3; i++) {
        size_t bytes;
        testing_save(path, zeros, sizes[i]);
        rf_thread_log_seal(directory, 0);
        uint8_t *left = testing_load(path, &bytes);
        assert_int_equal(bytes, sizes[i]);
        assert_memory_equal(left, zeros, bytes);
        free(left);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_types_are_read),
        TEST(tables_have_what_they_say),
        TEST(of_64_threads_is_known_how_far_they_were),
        TEST(what_was_not_done_does_not_count),
        TEST(later_blocks_are_the_end),
        TEST(a_sealed_log_says_the_same_in_less_room),
        TEST(a_cut_off_recording_is_sealed_as_it_is),
        TEST(what_is_decoded_is_what_was_coded),
        TEST(other_files_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
