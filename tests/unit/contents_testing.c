#include "contents_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace_streams.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

bool contents_without_zstd;
void *__wrap_dlopen(const char *name, int flags);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
    return contents_without_zstd ? NULL : __real_dlopen(name, flags);
}

struct contents_put contents_put_of(const struct contents_plan *plan, uint64_t i) {
    struct stream_state random = {.random = XXH3_64bits_withSeed(&i, sizeof i, plan->seed)};
    struct contents_put put = {.block = stream_random(&random, 2)};
    static const uint32_t limits[] = {1, 1 << 3, 70, 200, 200, 3000, 20000, 20000, 300000};
    uint32_t place = stream_random(&random, sizeof limits / sizeof *limits + 1);
    put.size = stream_random(
        &random, place < sizeof limits / sizeof *limits ? limits[place] : (uint32_t)plan->largest);
    if (put.size > plan->largest)
        put.size = plan->largest;
    put.content = i;
    /* A third of the blocks are from a small set. */
    if (put.block && !stream_random(&random, 3)) {
        put.content = stream_random(&random, 20);
        put.size = put.content * 997 % plan->largest;
    }
    return put;
}

void contents_fill(uint8_t *data, const struct contents_put *put) {
    struct stream_state random = {.random = put->content};
    if (put->content % 2)
        for (size_t i = 0; i < put->size; i += 4) {
            uint32_t word = stream_random(&random, UINT32_MAX);
            memcpy(data + i, &word, put->size - i < 4 ? put->size - i : 4);
        }
    else
        for (size_t i = 0; i < put->size; i++)
            data[i] = (uint8_t)(put->content + (i >> 8));
}

void contents_put_one(struct rf_contents_writer *writer, const struct contents_plan *plan,
                      uint64_t i, uint8_t *room) {
    struct contents_put put = contents_put_of(plan, i);
    contents_fill(room, &put);
    if (put.block)
        rf_contents_put_block(writer, room, put.size);
    else
        rf_contents_put(writer, room, put.size);
}

uint64_t contents_compare(const char *path, const struct contents_plan *plan,
                          struct rf_error *error) {
    struct rf_contents_reader *reader = rf_contents_open(path, error);
    if (!reader) {
        assert_int_not_equal(error->text[0], 0);
        return 0;
    }
    uint8_t *wanted = malloc(plan->largest + 4), *got = malloc(plan->largest + 4);
    assert_true(wanted && got);
    uint64_t i = 0, seen = 0, size;
    for (; i < plan->count; i++) {
        struct contents_put put = contents_put_of(plan, i);
        contents_fill(wanted, &put);
        bool good = true;
        if (put.block) {
            good = rf_contents_block_size(reader, &size);
            if (good)
                assert_true(size == put.size);
            good = good && rf_contents_get_block(reader, got, put.size);
        } else {
            good = rf_contents_get(reader, got, put.size);
        }
        if (!good)
            break;
        assert_memory_equal(got, wanted, put.size);
        if (put.block || put.size)
            seen = i + 1;
    }
    if (i == plan->count) {
        seen = i;
        assert_false(rf_contents_get(reader, got, 1));
        assert_false(rf_contents_block_size(reader, &size));
        assert_false(rf_contents_get_block(reader, got, 0));
    }
    *error = *rf_contents_reader_error(reader);
    rf_contents_reader_close(reader);
    free(wanted);
    free(got);
    return seen;
}

void contents_expect_whole(const char *path, const struct contents_plan *plan) {
    struct rf_error error = {0};
    uint64_t seen = contents_compare(path, plan, &error);
    if (error.text[0])
        fail_msg("%s", error.text);
    assert_true(seen == plan->count);
}

void contents_begin(struct contents_fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    snprintf(fixture->directory, sizeof fixture->directory, "%s", testing_directory());
    testing_path(fixture->path, sizeof fixture->path, fixture->directory, "rank-0.contents");
    testing_path(fixture->tail_path, sizeof fixture->tail_path, fixture->directory,
                 "rank-0.contents.tail");
}

void contents_finish(struct contents_fixture *fixture) {
    free(fixture->file);
    free(fixture->tail);
    testing_clean(fixture->directory);
}

struct rf_contents_writer *contents_create(const struct contents_fixture *fixture) {
    struct rf_error error = {0};
    struct rf_contents_writer *writer =
        rf_contents_create(fixture->path, RF_CONTENTS_CHUNK, &error);
    if (!writer)
        fail_msg("%s", error.text);
    return writer;
}

void contents_close(struct rf_contents_writer *writer) {
    struct rf_error error = {0};
    if (!rf_contents_close(writer, &error))
        fail_msg("%s", error.text);
}

size_t contents_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) ? 0 : (size_t)status.st_size;
}
