/* Damaged, cut and foreign logs of threads: said plainly, with file and place; what is not damaged
   stays readable; never a crash. */
#include "trace_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thread_log_sample.h"

static struct sample sample;
static const char *directory;
static char path[512];
static uint8_t *sealed;
static size_t bytes;

static int set_up(void **unused) {
    (void)unused;
    directory = testing_directory();
    testing_path(path, sizeof path, directory, "rank-0.threads");
    sample_open(&sample, 0);
    sample_fill(&sample);
    testing_save(path, &sample, sample_bytes(&sample));
    rf_thread_log_seal(directory, 0);
    sealed = testing_load(path, &bytes);
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    free(sealed);
    testing_clean(directory);
    return 0;
}

static void names_the_place(const struct rf_error *error) {
    assert_int_equal(error->code, RF_EXIT_TRACE);
    if (!strstr(error->text, "rank-0.threads: ") || !strstr(error->text, "byte"))
        fail_msg("\"%s\" does not name file and place", error->text);
}

/* How many entries of a thread can be read; they must be those that were written. */
static size_t read_thread(const struct rf_thread_log *log, uint32_t thread, bool *good) {
    struct rf_thread_log_cursor cursor;
    struct rf_thread_log_entry entry;
    struct rf_error error = {0};
    size_t seen = 0;
    int result;
    if (!rf_thread_log_begin(log, thread, &cursor))
        return 0;
    for (; (result = rf_thread_log_next(&cursor, &entry, &error)) == RF_READ_EVENT; seen++) {
        assert_true(seen < sample.thread[thread].count);
        const struct rf_thread_log_entry *expected = &sample.thread[thread].expected[seen];
        assert_int_equal(entry.operation, expected->operation);
        assert_int_equal(entry.type, expected->type);
        assert_int_equal(entry.count, expected->count);
    }
    if (result == RF_READ_DAMAGED) {
        names_the_place(&error);
        *good = false;
    }
    rf_thread_log_leave(&cursor);
    return seen;
}

/* The log is damaged, and says so when it is opened, asked or read. Returns how many entries there
   were. */
static size_t expect_damage(void) {
    struct rf_error error = {0};
    struct rf_thread_log *log = rf_thread_log_open(directory, 0, &error);
    if (!log) {
        names_the_place(&error);
        return 0;
    }
    size_t seen = 0;
    bool good = rf_thread_log_whole(log, &error);
    if (!good)
        names_the_place(&error);
    for (uint32_t i = 0; i < rf_thread_log_threads(log); i++)
        seen += read_thread(log, i, &good);
    assert_false(good);
    rf_thread_log_close(log);
    return seen;
}

static size_t count_all(void) {
    size_t all = 0;
    for (uint32_t i = 0; i < sample.head.threads; i++)
        all += sample.thread[i].count;
    return all;
}

/* What comes before the chunks. */
static size_t front(void) {
    const struct rf_thread_log_head *head = &sample.head;
    return RF_THREAD_LOG_FRONT + head->modules * sizeof *head->module +
           head->sites * sizeof *head->site + head->threads * sizeof(struct rf_thread_log_thread);
}

static void truncation_is_noticed(void **unused) {
    (void)unused;
    size_t before = count_all();
    for (size_t at = bytes; at-- > 0;) {
        assert_int_equal(truncate(path, (off_t)at), 0);
        size_t seen = expect_damage();
        assert_true(seen <= before);
        /* Only the last chunk is lost. */
        if (at == bytes - 1)
            assert_int_equal(seen, count_all() - sample.thread[3].count);
        before = seen;
    }
    assert_int_equal(before, 0);
}

static void flipped_bits_are_noticed(void **unused) {
    (void)unused;
    size_t most = 0;
    for (size_t at = 0; at < bytes; at++) {
        for (unsigned bit = 0; bit <= 7; bit++) {
            testing_poke(path, at, sealed[at] ^ (uint8_t)(1u << bit));
            size_t seen = expect_damage();
            most = seen > most ? seen : most;
            /* Damage to a chunk costs only what follows it in its thread. */
            if (at >= front())
                assert_true(seen >= count_all() / 3);
        }
        testing_poke(path, at, sealed[at]);
    }
    assert_int_equal(most, count_all() - sample.thread[3].count);
}

static void bytes_after_the_end_are_noticed(void **unused) {
    (void)unused;
    assert_int_equal(truncate(path, (off_t)bytes + 1), 0);
    assert_int_equal(expect_damage(), count_all());
}

static void expect_refusal(const char *text) {
    struct rf_error error = {0};
    assert_null(rf_thread_log_open(directory, 0, &error));
    assert_int_equal(error.code, RF_EXIT_TRACE);
    if (!strstr(error.text, text))
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

static void other_files_are_refused(void **unused) {
    (void)unused;
    sample.head.version = RF_THREAD_LOG_SEALED + 1;
    testing_save(path, &sample, sample_bytes(&sample));
    expect_refusal("was written by a newer Refrain (format 3, this one reads up to 2), or");
    sample.head.check = rf_thread_log_check(&sample.head);
    testing_save(path, &sample, sample_bytes(&sample));
    expect_refusal("was written by a newer Refrain (format 3, this one reads up to 2)");
    sample_open(&sample, 1);
    testing_save(path, &sample, sample_bytes(&sample));
    expect_refusal("is the log of rank 1");
    memcpy(sample.head.magic, "\177ELF", 4);
    testing_save(path, &sample, sample_bytes(&sample));
    expect_refusal("is not a log of threads of Refrain");
    testing_save(path, "", 0);
    expect_refusal("is cut off at byte 0");
    unlink(path);
    assert_false(rf_thread_log_exist(directory, 0));
    expect_refusal("cannot open it: No such file");
}

/* The log of a process that nobody survived has no seal: only what cannot be is noticed. */
static void without_a_seal_nonsense_is_noticed(void **unused) {
    (void)unused;
    const struct {
        const char *what;
        uint8_t bytes[12];
    } wrong[] = {
        {"no type", {8 | RF_THREAD_LOG_NOTHING, 1}},
        {"an endless number", {0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
        {"no such site", {8 | RF_THREAD_LOG_VALUE, 4, 1}},
        {"no such thread", {8 | RF_THREAD_LOG_EDGE, 1, 4, 1}},
        {"no failure at all", {8 | RF_THREAD_LOG_FAILURE, 1, 16, 0}},
        {"a huge code", {8 | RF_THREAD_LOG_FAILURE, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1}},
        {"again what was never before", {8 | RF_THREAD_LOG_AGAIN, 1}},
        {"more bytes than there are", {8 | RF_THREAD_LOG_BYTES, 1, 0xff, 0x7f, 0xff, 1}},
        {"more bytes than in all", {8 | RF_THREAD_LOG_BYTES, 1, 1, 2, 1, 1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sample_open(&sample, 0);
        for (int thread = 0; thread < 4; thread++)
            sample_begin(&sample, 0);
        sample_add(&sample, 0,
                   (struct rf_thread_log_entry){
                       .operation = 1, .type = RF_THREAD_LOG_VALUE, .site = 1, .value = 5},
                   0);
        struct rf_thread_log_block *block = sample_block(&sample, sample.thread[0].last);
        memcpy((uint8_t *)block + sample.thread[0].used, wrong[i].bytes, sizeof wrong[i].bytes);
        sample_record(&sample, 0)->done = UINT64_MAX;
        testing_save(path, &sample, sample_bytes(&sample));
        rf_thread_log_seal(directory, 0); /* which would hide it: left as it is */
        if (expect_damage() != 1)
            fail_msg("%s: the entry before is lost", wrong[i].what);
    }
}

static void without_a_seal_broken_chains_are_noticed(void **unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) {
        sample_open(&sample, 0);
        sample_fill(&sample);
        struct rf_thread_log_block *last = sample_block(&sample, sample.thread[2].last);
        struct rf_thread_log_block *first = sample_block(&sample, sample.head.first_block + 2);
        if (i == 0)
            last->place++;
        else if (i == 1)
            last->thread = 1;
        else if (i == 2)
            first->next = sample.head.first_block + 2; /* to itself */
        else if (i == 3)
            first->next = sample.head.blocks;
        else
            last->place = 0; /* a second beginning */
        testing_save(path, &sample, sample_bytes(&sample));
        assert_true(expect_damage() >= count_all() / 3);
    }
}

/* Of the head and the tables every bit counts, sealed or not; the counts must be possible. */
static void without_a_seal_the_head_is_checked(void **unused) {
    (void)unused;
    const struct rf_thread_log_head *head = &sample.head;
    const size_t ends[] = {offsetof(struct rf_thread_log_head, blocks),
                           offsetof(struct rf_thread_log_head, module) + sizeof head->module[0],
                           offsetof(struct rf_thread_log_head, site) + 4 * sizeof head->site[0]};
    const size_t begins[] = {0, offsetof(struct rf_thread_log_head, module),
                             offsetof(struct rf_thread_log_head, site) + sizeof head->site[0]};
    testing_save(path, &sample, sample_bytes(&sample));
    for (int part = 0; part < 3; part++) {
        for (size_t at = begins[part]; at < ends[part]; at++) {
            uint8_t byte = ((const uint8_t *)&sample)[at];
            testing_poke(path, at, byte ^ (uint8_t)(1u << at % 8));
            expect_damage();
            testing_poke(path, at, byte);
        }
    }
    uint32_t *const counts[] = {&sample.head.threads, &sample.head.sites, &sample.head.modules,
                                &sample.head.blocks};
    const uint32_t wrong[] = {RF_THREAD_LOG_THREADS + 1, RF_THREAD_LOG_SITES + 1,
                              RF_THREAD_LOG_MODULES + 1, 0};
    for (int i = 0; i < 4; i++) {
        uint32_t before = *counts[i];
        *counts[i] = wrong[i];
        testing_save(path, &sample, sizeof sample.head + sizeof sample.blocks);
        assert_int_equal(expect_damage(), 0);
        *counts[i] = before;
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(truncation_is_noticed),
        TEST(flipped_bits_are_noticed),
        TEST(bytes_after_the_end_are_noticed),
        TEST(other_files_are_refused),
        TEST(without_a_seal_nonsense_is_noticed),
        TEST(without_a_seal_broken_chains_are_noticed),
        TEST(without_a_seal_the_head_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
