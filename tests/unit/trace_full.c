/* A full disk: recording stops, the program does not, and what was recorded is readable. */
#include "trace_testing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/log.h"
#include "trace_streams.h"

/* Random sources, which hardly compress, until long after the disk is full. */
static void fill(struct mirror *mirror, unsigned events) {
    struct stream_state random = {0};
    for (unsigned i = 0; i < events; i++) {
        int32_t source = (int32_t)stream_random(&random, 1000000);
        if (mirror->recorder->on)
            mirror_fold(mirror, rf_pack(RF_RECV, 0, 1), source, (int32_t)i);
        else
            rf_recorder_fold(mirror->recorder, rf_pack(RF_RECV, 0, 1), source, 5);
    }
}

/* The event at which the recorder finds the disk full is not kept. */
static void expect_incomplete(const char *directory, struct mirror *mirror, const char *reason) {
    struct rf_error error = {0};
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    if (!reader)
        fail_msg("%s", error.text);
    mirror->count--;
    mirror_compare(mirror, reader, RF_READ_END);
    assert_true(mirror->count > 2 * RF_SEGMENT_SLOTS);
    assert_true(rf_reader_ending(reader)->incomplete);
    assert_string_equal(rf_reader_ending(reader)->reason, reason);
    assert_int_equal(rf_reader_ending(reader)->how, RF_END_FINALIZE);
    rf_reader_close(reader);
}

static void file_size_limits_are_survived(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rf_recorder recorder;
    struct mirror mirror = {.recorder = &recorder};
    testing_open(&recorder, directory);
    limit = (struct rlimit){300000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill(&mirror, 500000);
    assert_false(recorder.on);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_incomplete(directory, &mirror, strerror(EFBIG));
    mirror_free(&mirror);
    testing_clean(directory);
}

static void opening_without_room_leaves_nothing(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){100000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rf_recorder recorder;
    struct rf_node node;
    struct rf_error error = {0};
    stream_node(&node);
    assert_false(rf_recorder_open(&recorder, directory, &node, &error));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    assert_non_null(strstr(error.text, "rank-0.tail"));
    assert_int_equal(rmdir(directory), 0);
}

static void full_disks_are_survived(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    if (mount("none", directory, "tmpfs", 0, "size=4m")) {
        rmdir(directory);
        print_message("no small file system to be had here\n");
        skip();
    }
    struct rf_recorder recorder, second;
    struct mirror mirror = {.recorder = &recorder};
    struct rf_node node;
    struct rf_error error = {0};
    testing_open(&recorder, directory);
    stream_node(&node);
    node.rank = 1;
    assert_false(rf_recorder_open(&second, directory, &node, &error));
    assert_non_null(strstr(error.text, strerror(ENOSPC)));
    char path[512];
    testing_path(path, sizeof path, directory, "rank-1.trace");
    assert_int_not_equal(access(path, F_OK), 0);
    fill(&mirror, 800000);
    assert_false(recorder.on);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    expect_incomplete(directory, &mirror, strerror(ENOSPC));
    mirror_free(&mirror);
    umount(directory);
    rmdir(directory);
}

/* Room that comes back in time loses nothing. */
static void room_that_comes_back_is_used(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rf_recorder recorder;
    struct mirror mirror = {.recorder = &recorder};
    testing_open(&recorder, directory);
    limit = (struct rlimit){1000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill(&mirror, 3 * RF_SEGMENT_SLOTS);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(recorder.on);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    struct rf_reader *reader = rf_reader_open(directory, 0, NULL);
    assert_non_null(reader);
    mirror_compare(&mirror, reader, RF_READ_END);
    assert_false(rf_reader_ending(reader)->incomplete);
    rf_reader_close(reader);
    mirror_free(&mirror);
    testing_clean(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_size_limits_are_survived),
        cmocka_unit_test(opening_without_room_leaves_nothing),
        cmocka_unit_test(full_disks_are_survived),
        cmocka_unit_test(room_that_comes_back_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
