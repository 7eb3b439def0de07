/* Contents on a full disk: what there was room for comes back, and the rest is told. */
#include "contents_testing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

/* Puts until long after the disk is full; the plan's count becomes that of the puts kept. */
static void fill_disk(struct rf_contents_writer *writer, struct contents_plan *plan,
                      const char *reason) {
    uint8_t *room = malloc(plan->largest + 4);
    assert_non_null(room);
    struct rf_error error = {0};
    uint64_t i = 0, limit = plan->count;
    for (plan->count = 0; i < limit; i++) {
        contents_put_one(writer, plan, i, room);
        if (rf_contents_good(writer, &error))
            plan->count = i + 1;
    }
    free(room);
    assert_true(plan->count < limit);
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    assert_non_null(strstr(error.text, "rank-0.contents"));
    assert_non_null(strstr(error.text, reason));
    memset(&error, 0, sizeof error);
    assert_false(rf_contents_close(writer, &error));
    assert_non_null(strstr(error.text, reason));
}

static void expect_cut(const struct contents_fixture *fixture, const struct contents_plan *plan,
                       const char *reason) {
    struct rf_error error = {0};
    assert_true(contents_compare(fixture->path, plan, &error) == plan->count);
    assert_int_equal(error.code, RF_EXIT_TRACE);
    assert_non_null(strstr(error.text, "ends early"));
    assert_non_null(strstr(error.text, reason));
}

static void limit_files(rlim_t bytes, struct rlimit *before) {
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    struct rlimit limit = {bytes, before->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void file_size_limits_are_survived(void **unused) {
    (void)unused;
    struct rlimit before;
    for (int large = 0; large < 2; large++) {
        struct contents_fixture fixture;
        contents_begin(&fixture);
        /* With large puts, what is not kept as a whole has left chunks behind. */
        struct contents_plan plan = {
            .seed = 9, .largest = large ? 6 * CHUNK : 20000, .count = 2000};
        if (large)
            plan.count = 100;
        struct rf_contents_writer *writer = contents_create(&fixture);
        limit_files(3000000, &before);
        fill_disk(writer, &plan, strerror(EFBIG));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        expect_cut(&fixture, &plan, strerror(EFBIG));
        /* The reason is checked too. */
        size_t at = offsetof(struct rf_contents_tail, reason) + 3;
        testing_poke(fixture.tail_path, at, 'X');
        struct rf_error error = {0};
        assert_true(contents_compare(fixture.path, &plan, &error) == plan.count);
        assert_non_null(strstr(error.text, "is damaged at byte"));
        contents_finish(&fixture);
    }
}

static void without_room_for_the_end_the_tail_stays(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    struct rlimit before;
    contents_begin(&fixture);
    struct contents_plan plan = {.seed = 11, .largest = 3000, .count = 100};
    uint8_t room[3004];
    struct rf_contents_writer *writer = contents_create(&fixture);
    for (uint64_t i = 0; i < plan.count; i++)
        contents_put_one(writer, &plan, i, room);
    limit_files(1000, &before);
    contents_close(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(access(fixture.tail_path, F_OK), 0);
    contents_expect_whole(fixture.path, &plan);
    contents_finish(&fixture);
}

static void creating_without_room_leaves_nothing(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    struct rlimit before;
    for (rlim_t bytes = 10; bytes < 100000; bytes *= 100) {
        contents_begin(&fixture);
        struct rf_error error = {0};
        limit_files(bytes, &before);
        assert_null(rf_contents_create(fixture.path, RF_CONTENTS_CHUNK, &error));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
        assert_non_null(strstr(error.text, "rank-0.contents"));
        assert_int_equal(rmdir(fixture.directory), 0);
    }
    struct rf_error error = {0};
    assert_null(rf_contents_create("/nowhere/rank-0.contents", RF_CONTENTS_CHUNK, &error));
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    char path[5000];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    assert_null(rf_contents_create(path, RF_CONTENTS_CHUNK, &error));
    assert_null(rf_contents_open(path, &error));
    assert_non_null(strstr(error.text, "too long"));
}

static void full_disks_are_survived(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    contents_begin(&fixture);
    if (mount("none", fixture.directory, "tmpfs", 0, "size=4m")) {
        rmdir(fixture.directory);
        print_message("no small file system to be had here\n");
        skip();
    }
    struct contents_plan plan = {.seed = 10, .largest = CHUNK, .count = 300};
    struct rf_contents_writer *writer = contents_create(&fixture);
    fill_disk(writer, &plan, strerror(ENOSPC));
    expect_cut(&fixture, &plan, strerror(ENOSPC));
    umount(fixture.directory);
    rmdir(fixture.directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_size_limits_are_survived),
        cmocka_unit_test(without_room_for_the_end_the_tail_stays),
        cmocka_unit_test(creating_without_room_leaves_nothing),
        cmocka_unit_test(full_disks_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
