/* Contents: what was put comes back, in little room. */
#include "contents_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Freed memory must not count as used in the test of bounded memory. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

static void round_trip(const struct contents_plan *plan) {
    struct contents_fixture fixture;
    contents_begin(&fixture);
    uint8_t *room = malloc(plan->largest + 4);
    assert_non_null(room);
    struct rf_contents_writer *writer = contents_create(&fixture);
    uint64_t put = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        contents_put_one(writer, plan, i, room);
        put += contents_put_of(plan, i).size;
        assert_true(rf_contents_position(writer) == put);
        if (i == plan->count / 2) {
            /* With the writer still there: the rest of the last chunk is in the tail. */
            struct contents_plan half = {plan->seed, plan->largest, i + 1};
            contents_expect_whole(fixture.path, &half);
        }
    }
    assert_true(rf_contents_good(writer, NULL));
    contents_expect_whole(fixture.path, plan);
    contents_close(writer);
    assert_int_not_equal(access(fixture.tail_path, F_OK), 0);
    contents_expect_whole(fixture.path, plan);
    free(room);
    contents_finish(&fixture);
}

static void everything_comes_back(void **unused) {
    (void)unused;
    const struct contents_plan plans[] = {
        {1, 200, 0}, {2, 200, 20000}, {3, 3 * CHUNK, 200}, {4, CHUNK / 2, 300}, {5, 70, 60000},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        round_trip(&plans[i]);
    contents_without_zstd = true;
    round_trip(&plans[3]);
    contents_without_zstd = false;
}

/* Puts that end at the border of a chunk, just before and just behind it. */
static void borders_are_no_obstacle(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    uint8_t *data = calloc(1, 2 * CHUNK + 8), *got = calloc(1, 2 * CHUNK + 8);
    assert_true(data && got);
    for (size_t size = CHUNK - 3; size <= CHUNK + 3; size++)
        for (int closed = 0; closed < 2; closed++) {
            contents_begin(&fixture);
            struct rf_contents_writer *writer = contents_create(&fixture);
            rf_contents_put(writer, data, size);
            if (closed)
                contents_close(writer);
            struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
            assert_non_null(reader);
            assert_true(rf_contents_get(reader, got, size));
            assert_false(rf_contents_get(reader, got, 1));
            assert_string_equal(rf_contents_reader_error(reader)->text, "");
            rf_contents_reader_close(reader);
            if (!closed) {
                rf_contents_put_block(writer, data, 2 * CHUNK - size);
                rf_contents_put_block(writer, data, 2 * CHUNK - size);
                contents_close(writer);
                reader = rf_contents_open(fixture.path, NULL);
                assert_non_null(reader);
                assert_true(rf_contents_get(reader, got, size));
                assert_true(rf_contents_get_block(reader, got, 2 * CHUNK - size));
                assert_true(rf_contents_get_block(reader, got, 2 * CHUNK - size));
                assert_memory_equal(got, data, 2 * CHUNK - size);
                rf_contents_reader_close(reader);
            }
            contents_finish(&fixture);
        }
    free(data);
    free(got);
}

static void equal_blocks_are_stored_once(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    contents_begin(&fixture);
    const size_t sizes[] = {64, 5000, 100000, 3 * CHUNK + 17};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 200 };
    uint8_t *blocks[SIZES], *got = malloc(sizes[SIZES - 1]);
    size_t sum = 0;
    struct rf_contents_writer *writer = contents_create(&fixture);
    for (size_t k = 0; k < SIZES; k++) {
        sum += sizes[k];
        blocks[k] = malloc(sizes[k] + 4);
        assert_non_null(blocks[k]);
        contents_fill(blocks[k], &(struct contents_put){.size = sizes[k], .content = 2 * k + 1});
    }
    assert_non_null(got);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < SIZES; k++)
            rf_contents_put_block(writer, blocks[k], sizes[k] - (round == ROUNDS - 1));
    contents_close(writer);
    /* Random bytes: the blocks, the shorter ones of the last round, and little else. */
    size_t bytes = contents_bytes(fixture.path);
    assert_true(bytes > 2 * sum - 64 && bytes < 2 * sum + 64 + (size_t)ROUNDS * SIZES * 8);
    struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
    assert_non_null(reader);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < SIZES; k++) {
            size_t size = sizes[k] - (round == ROUNDS - 1);
            assert_true(rf_contents_get_block(reader, got, size));
            if (round % 50 == 0 || round == ROUNDS - 1)
                assert_memory_equal(got, blocks[k], size);
        }
    rf_contents_reader_close(reader);
    for (size_t k = 0; k < SIZES; k++)
        free(blocks[k]);
    free(got);
    contents_finish(&fixture);
}

static void what_can_be_compressed_is(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    contents_begin(&fixture);
    struct contents_put put = {.size = 4 * CHUNK, .content = 2};
    uint8_t *data = malloc(put.size + 4);
    assert_non_null(data);
    for (int random = 0; random < 2; random++) {
        put.content += (uint64_t)random;
        contents_fill(data, &put);
        struct rf_contents_writer *writer = contents_create(&fixture);
        rf_contents_put(writer, data, put.size);
        contents_close(writer);
        size_t bytes = contents_bytes(fixture.path);
        if (random)
            assert_true(bytes > put.size && bytes < put.size + 300);
        else
            assert_true(bytes < put.size / 100);
    }
    free(data);
    contents_finish(&fixture);
}

/* Where it was in vain for a while, it is not given up. */
static void what_can_be_compressed_again_is(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    contents_begin(&fixture);
    const size_t size = 4 * CHUNK;
    uint8_t *data = malloc(size + 4);
    assert_non_null(data);
    struct rf_contents_writer *writer = contents_create(&fixture);
    for (uint64_t content = 1; content <= 4; content++) {
        contents_fill(data, &(struct contents_put){.size = size, .content = content});
        rf_contents_put(writer, data, size);
    }
    contents_close(writer);
    size_t bytes = contents_bytes(fixture.path);
    assert_true(bytes > 2 * size && bytes < 2 * size + size / 50);
    free(data);
    contents_finish(&fixture);
}

static size_t memory_in_use(void) {
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    char line[256];
    size_t kilobytes = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %zu", &kilobytes) == 1)
            break;
    fclose(file);
    assert_true(kilobytes > 0);
    return kilobytes << 10;
}

static void memory_is_bounded(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    contents_begin(&fixture);
    const size_t size = 24 * CHUNK;
    enum { BLOCKS = 12 };
    uint8_t *data = calloc(1, size), *got = calloc(1, size);
    assert_true(data && got);
    memset(data, 1, size);
    memset(got, 1, size);
    size_t before = memory_in_use();
    struct rf_contents_writer *writer = contents_create(&fixture);
    for (uint64_t i = 0; i < 2 * BLOCKS; i++) {
        uint64_t content = i % BLOCKS;
        memcpy(data + size / 2, &content, sizeof content);
        rf_contents_put_block(writer, data, size);
    }
    assert_true(memory_in_use() < before + 16 * CHUNK);
    contents_close(writer);
    before = memory_in_use();
    struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
    assert_non_null(reader);
    for (uint64_t i = 0; i < 2 * BLOCKS; i++) {
        uint64_t content = i % BLOCKS;
        memcpy(data + size / 2, &content, sizeof content);
        assert_true(rf_contents_get_block(reader, got, size));
        assert_memory_equal(got, data, size);
    }
    assert_true(memory_in_use() < before + 32 * CHUNK);
    rf_contents_reader_close(reader);
    free(data);
    free(got);
    contents_finish(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(borders_are_no_obstacle),
        cmocka_unit_test(equal_blocks_are_stored_once),
        cmocka_unit_test(what_can_be_compressed_is),
        cmocka_unit_test(what_can_be_compressed_again_is),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
