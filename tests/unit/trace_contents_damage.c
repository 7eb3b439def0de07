/* Contents in damaged, cut and foreign files: said plainly, and read as far as possible. */
#include "contents_testing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/log.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HEAD offsetof(struct rf_contents_tail, data)

/* A file of several chunks that is small all the same: mostly zeros. `killed` leaves it with its
   tail. */
static const char fact[] = "a fact";
static uint8_t zeros[5 * (1 << 19)], noise[300];

static struct rf_contents_writer *begin_file(const struct contents_fixture *fixture) {
    struct rf_contents_writer *writer = contents_create(fixture);
    rf_contents_put(writer, fact, sizeof fact);
    for (int twice = 0; twice < 2; twice++) {
        rf_contents_put_block(writer, noise, sizeof noise);
        rf_contents_put_block(writer, zeros, sizeof zeros);
    }
    rf_contents_put(writer, fact, sizeof fact);
    return writer;
}

static void prepare(struct contents_fixture *fixture, bool killed) {
    contents_begin(fixture);
    contents_fill(noise, &(struct contents_put){.size = sizeof noise, .content = 1});
    struct rf_contents_writer *writer = begin_file(fixture);
    if (killed) {
        fixture->file = testing_load(fixture->path, &fixture->file_bytes);
        fixture->tail = testing_load(fixture->tail_path, &fixture->tail_bytes);
        contents_close(writer);
        testing_save(fixture->path, fixture->file, fixture->file_bytes);
        testing_save(fixture->tail_path, fixture->tail, fixture->tail_bytes);
    } else {
        contents_close(writer);
        fixture->file = testing_load(fixture->path, &fixture->file_bytes);
    }
}

/* How many of the six puts come back; the error tells why no more. */
static int read_prepared(const struct contents_fixture *fixture, struct rf_error *error) {
    static uint8_t got[sizeof zeros];
    *error = (struct rf_error){0};
    struct rf_contents_reader *reader = rf_contents_open(fixture->path, error);
    if (!reader) {
        assert_int_not_equal(error->text[0], 0);
        return 0;
    }
    int seen = 0;
    for (bool good = true; good && seen < 6; seen += good) {
        bool is_fact = seen == 0 || seen == 5, is_noise = seen == 1 || seen == 3;
        const void *wanted = is_fact ? (const void *)fact : is_noise ? noise : zeros;
        size_t size = is_fact ? sizeof fact : is_noise ? sizeof noise : sizeof zeros;
        uint64_t length = size;
        if (is_fact)
            good = rf_contents_get(reader, got, size);
        else
            good =
                rf_contents_block_size(reader, &length) && rf_contents_get_block(reader, got, size);
        assert_true(length == size);
        if (good)
            assert_memory_equal(got, wanted, size);
    }
    if (seen == 6)
        assert_false(rf_contents_get(reader, got, 1));
    *error = *rf_contents_reader_error(reader);
    /* Once stopped, it stays so. */
    assert_false(rf_contents_get(reader, got, 1));
    rf_contents_reader_close(reader);
    return seen;
}

static int expect_damage(const struct contents_fixture *fixture) {
    struct rf_error error;
    int seen = read_prepared(fixture, &error);
    assert_int_equal(error.code, RF_EXIT_TRACE);
    assert_non_null(strstr(error.text, "rank-0.contents"));
    assert_non_null(strstr(error.text, "byte"));
    return seen;
}

static void expect_prepared(const struct contents_fixture *fixture) {
    struct rf_error error;
    int seen = read_prepared(fixture, &error);
    if (error.text[0])
        fail_msg("%s", error.text);
    assert_int_equal(seen, 6);
}

static void damaged_files_are_noticed(void **unused) {
    (void)unused;
    for (int killed = 0; killed < 2; killed++) {
        struct contents_fixture fixture;
        prepare(&fixture, killed);
        assert_true(fixture.file_bytes < 2000);
        expect_prepared(&fixture);
        int most = 0;
        for (size_t at = 0; at < fixture.file_bytes; at++) {
            testing_poke(fixture.path, at, fixture.file[at] ^ (uint8_t)(1u << at * 5 % 8));
            int seen = expect_damage(&fixture);
            most = seen > most ? seen : most;
            testing_poke(fixture.path, at, fixture.file[at]);
        }
        /* The last chunk is of no use to the first puts. */
        assert_true(most >= 2);
        most = 0;
        for (size_t bytes = 0; bytes < fixture.file_bytes; bytes++) {
            testing_save(fixture.path, fixture.file, bytes);
            int seen = expect_damage(&fixture);
            assert_true(seen >= most);
            most = seen;
        }
        assert_true(most >= 2);
        contents_finish(&fixture);
    }
}

static void bytes_after_the_end_are_noticed(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    prepare(&fixture, false);
    uint8_t *longer = malloc(fixture.file_bytes + 1);
    assert_non_null(longer);
    memcpy(longer, fixture.file, fixture.file_bytes);
    longer[fixture.file_bytes] = 0;
    testing_save(fixture.path, longer, fixture.file_bytes + 1);
    free(longer);
    assert_int_equal(expect_damage(&fixture), 6);
    contents_finish(&fixture);
}

static void damaged_tails_are_noticed(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    prepare(&fixture, true);
    const struct rf_contents_tail *tail = (const void *)fixture.tail;
    uint64_t number;
    assert_true(rf_unseal(tail->number, &number) && number == 2);
    size_t used = (tail->committed & 0xffffffffffffu) - number * CHUNK;
    for (size_t at = 0; at < HEAD + used; at += at < HEAD || at > HEAD + used - 50 ? 1 : 4999) {
        if (at == offsetof(struct rf_contents_tail, reason))
            at = HEAD; /* there is none */
        testing_poke(fixture.tail_path, at, fixture.tail[at] ^ (uint8_t)(1u << at * 5 % 8));
        int seen = expect_damage(&fixture);
        /* What the file has is there, unless the length itself is in doubt. */
        if (at < offsetof(struct rf_contents_tail, number) || at >= HEAD)
            assert_int_equal(seen, 2);
        testing_poke(fixture.tail_path, at, fixture.tail[at]);
    }
    for (size_t bytes = 0; bytes < fixture.tail_bytes;
         bytes += bytes < HEAD + 20                                 ? 1
                  : bytes > HEAD + used - 20 && bytes < HEAD + used ? 1
                                                                    : 4999) {
        testing_save(fixture.tail_path, fixture.tail, bytes);
        if (bytes < HEAD + used)
            assert_int_equal(expect_damage(&fixture), 2);
        else
            expect_prepared(&fixture);
    }
    unlink(fixture.tail_path);
    assert_int_equal(expect_damage(&fixture), 2);
    contents_finish(&fixture);
}

/* Between the last chunk and the removal of the tail, both are there; and a tail that does not
   belong to the file is as none. */
static void whole_files_need_no_tail(void **unused) {
    (void)unused;
    struct contents_fixture fixture, other;
    prepare(&fixture, true);
    prepare(&other, false);
    testing_save(other.tail_path, fixture.tail, fixture.tail_bytes);
    expect_prepared(&other);
    testing_save(other.tail_path, "garbage", 7);
    expect_prepared(&other);
    contents_finish(&other);
    struct rf_contents_writer *writer = begin_file(&fixture);
    size_t tail_bytes, file_bytes;
    uint8_t *tail = testing_load(fixture.tail_path, &tail_bytes);
    contents_close(writer);
    uint8_t *file = testing_load(fixture.path, &file_bytes);
    testing_save(fixture.tail_path, tail, tail_bytes);
    expect_prepared(&fixture);
    /* The chunk that the tail has may be torn at any place. */
    for (size_t bytes = fixture.file_bytes; bytes < file_bytes; bytes++) {
        testing_save(fixture.path, file, bytes);
        expect_prepared(&fixture);
    }
    free(tail);
    free(file);
    contents_finish(&fixture);
}

static void expect_refusal(const struct contents_fixture *fixture, const char *text) {
    struct rf_error error = {0};
    assert_null(rf_contents_open(fixture->path, &error));
    assert_int_equal(error.code, RF_EXIT_TRACE);
    assert_non_null(strstr(error.text, fixture->path));
    if (!strstr(error.text, text))
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

static void other_files_are_refused(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    prepare(&fixture, false);
    struct rf_contents_head head;
    memcpy(&head, fixture.file, sizeof head);
    head.version = RF_CONTENTS_VERSION + 1;
    testing_save(fixture.path, &head, sizeof head);
    expect_refusal(&fixture, "newer Refrain (format 2, this one reads up to 1), or");
    head.check = XXH3_64bits(&head, offsetof(struct rf_contents_head, check));
    testing_save(fixture.path, &head, sizeof head);
    expect_refusal(&fixture, "was written by a newer Refrain (format 2, this one reads up to 1)");
    testing_save(fixture.path, "\177ELF................................", 36);
    expect_refusal(&fixture, "is not a file of contents");
    testing_save(fixture.path, "", 0);
    expect_refusal(&fixture, "cut off at byte 0");
    unlink(fixture.path);
    expect_refusal(&fixture, "cannot open it: No such file");
    assert_int_equal(mkdir(fixture.path, 0777), 0);
    expect_refusal(&fixture, "is not a regular file");
    rmdir(fixture.path);
    contents_finish(&fixture);
}

/* What the checksums cannot notice: the caller asks for something else than was put, or the writer
   was wrong. */
static void what_is_no_block_is_refused(void **unused) {
    (void)unused;
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } wrong[] = {
        {{0x80, 1}, 2},                                                /* 64 bytes */
        {{0x81, 1, 8}, 3},                                             /* 64 from 8 back */
        {{3, 200, 1}, 3},                                              /* 1 from 200 back */
        {{3, 0}, 2},                                                   /* 1 from here */
        {{0x80, 0x80, 0x80}, 3},                                       /* a cut number */
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 10},        /* the longest */
        {{254, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 10},        /* the longest */
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 11}, /* no end */
        {{3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 11},     /* far back */
    };
    for (size_t i = 0; i < 2 * sizeof wrong / sizeof *wrong; i++) {
        struct contents_fixture fixture;
        uint8_t got[64];
        uint64_t size = 0;
        contents_begin(&fixture);
        struct rf_contents_writer *writer = contents_create(&fixture);
        rf_contents_put(writer, "0123456789", 10);
        rf_contents_put(writer, wrong[i / 2].bytes, wrong[i / 2].size);
        contents_close(writer);
        struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
        assert_non_null(reader);
        assert_true(rf_contents_get(reader, got, 10));
        assert_false(i % 2 ? rf_contents_get_block(reader, got, 64)
                           : rf_contents_block_size(reader, &size));
        assert_int_equal(rf_contents_reader_error(reader)->code, RF_EXIT_TRACE);
        assert_non_null(strstr(rf_contents_reader_error(reader)->text, "at byte 10 of"));
        rf_contents_reader_close(reader);
        contents_finish(&fixture);
    }
    struct contents_fixture fixture;
    uint8_t got[64];
    contents_begin(&fixture);
    struct rf_contents_writer *writer = contents_create(&fixture);
    rf_contents_put_block(writer, "0123456789", 10);
    contents_close(writer);
    struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
    assert_non_null(reader);
    assert_false(rf_contents_get_block(reader, got, 9));
    assert_non_null(strstr(rf_contents_reader_error(reader)->text, "another length"));
    rf_contents_reader_close(reader);
    contents_finish(&fixture);
}

static void without_zstd_it_says_so(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    struct rf_error error;
    prepare(&fixture, false);
    contents_without_zstd = true;
    assert_int_equal(read_prepared(&fixture, &error), 0);
    contents_without_zstd = false;
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    assert_non_null(strstr(error.text, "libzstd.so.1"));
    contents_finish(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_noticed),
        cmocka_unit_test(bytes_after_the_end_are_noticed),
        cmocka_unit_test(damaged_tails_are_noticed),
        cmocka_unit_test(whole_files_need_no_tail),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(what_is_no_block_is_refused),
        cmocka_unit_test(without_zstd_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
