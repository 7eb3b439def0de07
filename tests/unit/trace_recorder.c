/* Recorder and reader: everything that is appended comes back. */
#include "trace_testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/log.h"
#include "trace_streams.h"

static struct rf_reader *open_reader(const char *directory) {
    struct rf_error error = {0};
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    if (!reader)
        fail_msg("%s", error.text);
    return reader;
}

/* Random events of all kinds; posts are matched after any delay, some never. */
static void append_all(struct mirror *mirror, unsigned rounds, uint64_t seed) {
    struct stream_state random = {.random = seed};
    enum { OPEN = 64 };
    struct rf_post posts[OPEN];
    size_t places[OPEN];
    bool used[OPEN] = {false};
    static int32_t list[3000];
    for (unsigned i = 0; i < rounds; i++) {
        uint32_t site = stream_random(&random, 32), channel = stream_random(&random, 1024);
        uint32_t slot = stream_random(&random, OPEN);
        int32_t value = (int32_t)stream_random(&random, 5) - 1;
        uint32_t length = stream_random(&random, 100) ? stream_random(&random, 9) : 3000;
        switch (stream_random(&random, 6)) {
        case 0:
            if (used[slot])
                mirror_match(mirror, places[slot], &posts[slot], value < 0 ? RF_UNDEFINED : value,
                             value * 1000);
            places[slot] = mirror_post(
                mirror, rf_pack(site % 8 ? RF_POST : RF_CANCEL, channel, site), &posts[slot]);
            used[slot] = true;
            break;
        case 1:
            for (uint32_t k = 0; k < length; k++)
                list[k] = (int32_t)stream_random(&random, 50) - (k == 4 ? 0x7fffff00 : 0);
            mirror_list(mirror, rf_pack(RF_SET, 0, site), 9, 0, list, length);
            break;
        case 2:
            mirror_fold(mirror, rf_pack(RF_INDEX, 0, site), value < 0 ? RF_UNDEFINED : value, 4);
            break;
        case 3:
            for (uint32_t k = 0; k < length; k++)
                mirror_fold(mirror, rf_pack(RF_NONE, channel & 1, 1), 2, 0);
            break;
        case 4:
            mirror_fold(mirror, rf_pack(RF_RECV, 0, 5), value, INT32_MAX - (value & 7));
            break;
        default:
            mirror_list(mirror, rf_pack(RF_ERROR, 0, site), 5, (int32_t)i, list, length & 1);
            break;
        }
    }
}

static void events_come_back(void **unused) {
    (void)unused;
    static const unsigned rounds[] = {0, 1, 100, 20000, 100000};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        const char *directory = testing_directory();
        struct rf_recorder recorder;
        struct mirror mirror = {.recorder = &recorder};
        testing_open(&recorder, directory);
        append_all(&mirror, rounds[i], i + 1);
        /* First as a killed process would leave it, then as it ends properly. */
        struct rf_reader *reader = open_reader(directory);
        mirror_compare(&mirror, reader, RF_READ_END);
        assert_int_equal(rf_reader_ending(reader)->how, RF_END_NONE);
        assert_int_equal(rf_reader_ending(reader)->code, 0);
        rf_reader_close(reader);
        rf_recorder_cut_off(&recorder, SIGSEGV);
        reader = open_reader(directory);
        mirror_compare(&mirror, reader, RF_READ_END);
        assert_int_equal(rf_reader_ending(reader)->how, RF_END_NONE);
        assert_int_equal(rf_reader_ending(reader)->code, SIGSEGV);
        rf_reader_close(reader);
        rf_recorder_close(&recorder, RF_END_EXIT, 3);
        rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
        rf_recorder_put(&recorder, rf_pack(RF_RECV, 0, 0), 1, 1, 1);
        reader = open_reader(directory);
        mirror_compare(&mirror, reader, RF_READ_END);
        assert_int_equal(rf_reader_ending(reader)->how, RF_END_EXIT);
        assert_int_equal(rf_reader_ending(reader)->code, 3);
        assert_false(rf_reader_ending(reader)->incomplete);
        rf_reader_close(reader);
        char path[512];
        testing_path(path, sizeof path, directory, "rank-0.tail");
        assert_int_not_equal(access(path, F_OK), 0);
        mirror_free(&mirror);
        testing_clean(directory);
    }
}

static void lists(bool sparing) {
    const uint32_t most = RF_SEGMENT_SLOTS * 4;
    const uint32_t lengths[] = {0,        1,    3,        4,        5,        most - 5,
                                most - 4, most, most + 1, 3 * most, 9 * most, 9 * most + 7};
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    struct mirror mirror = {.recorder = &recorder};
    testing_open(&recorder, directory);
    if (sparing)
        rf_recorder_sparing(&recorder);
    int32_t *list = malloc((9 * most + 7) * sizeof *list);
    assert_non_null(list);
    for (uint32_t i = 0; i < 9 * most + 7; i++)
        list[i] = (int32_t)(i * 2654435761u >> (i % 3 * 12));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        mirror_list(&mirror, rf_pack(RF_SET, 0, 2), (int32_t)i, 0, list, lengths[i]);
        mirror_fold(&mirror, rf_pack(RF_RECV, 0, 1), (int32_t)i, 1);
        mirror_list(&mirror, rf_pack(RF_SET, 0, 2), (int32_t)i, 0, list + 1, lengths[i] / 2);
    }
    struct rf_reader *reader = open_reader(directory);
    mirror_compare(&mirror, reader, RF_READ_END);
    rf_reader_close(reader);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    reader = open_reader(directory);
    mirror_compare(&mirror, reader, RF_READ_END);
    rf_reader_close(reader);
    free(list);
    mirror_free(&mirror);
    testing_clean(directory);
}

static void long_lists_are_split_and_joined(void **unused) {
    (void)unused;
    lists(false);
    lists(true);
}

/* Matches that come many segments later. */
static void matches(bool sparing) {
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    struct mirror mirror = {.recorder = &recorder};
    testing_open(&recorder, directory);
    if (sparing)
        rf_recorder_sparing(&recorder);
    struct rf_post posts[100];
    size_t places[100];
    for (int i = 0; i < 100; i++)
        places[i] = mirror_post(&mirror, rf_pack(i % 3 ? RF_POST : RF_CANCEL, 3, 4), &posts[i]);
    struct rf_post other;
    size_t other_place = 0;
    for (int i = 0; i < 5; i++) {
        for (unsigned k = 0; k < RF_SEGMENT_SLOTS; k++)
            mirror_fold(&mirror, rf_pack(RF_RECV, 0, 1), (int32_t)(k % 7), 0);
        if (i == 2)
            other_place = mirror_post(&mirror, rf_pack(RF_POST, 3, 4), &other);
    }
    for (int i = 0; i < 90; i++)
        mirror_match(&mirror, places[i], &posts[i], i, -i);
    mirror_match(&mirror, other_place, &other, 77, 78);
    for (int twice = 0; twice < 2; twice++) {
        struct rf_reader *reader = open_reader(directory);
        assert_int_equal(rf_reader_unmatched(reader), 10);
        mirror_compare(&mirror, reader, RF_READ_END);
        rf_reader_close(reader);
        rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    }
    mirror_free(&mirror);
    testing_clean(directory);
}

static void late_matches_find_their_posts(void **unused) {
    (void)unused;
    matches(false);
    matches(true);
}

static void check_facts(const char *directory) {
    struct rf_reader *reader = open_reader(directory);
    assert_string_equal(rf_reader_node(reader)->host, "somewhere");
    assert_string_equal(rf_reader_node(reader)->library, "MPICH Version: 4.0.2");
    assert_int_equal(rf_reader_node(reader)->size, 4);
    assert_true(rf_reader_node(reader)->started_ns == 1700000000000000000);
    assert_int_equal(rf_reader_site_count(reader), 32);
    assert_string_equal(rf_reader_site(reader, 0)->function, "elsewhere");
    assert_string_equal(rf_reader_site(reader, 31)->function, "MPI_Function_31");
    assert_int_equal(rf_reader_site(reader, 31)->module, 1);
    assert_true(rf_reader_site(reader, 31)->offset == 0x1000 + 16 * 31);
    assert_null(rf_reader_site(reader, 32));
    assert_string_equal(rf_reader_module(reader, 1)->path, "/usr/bin/program");
    assert_int_equal(rf_reader_module(reader, 1)->build_id_length, 20);
    assert_null(rf_reader_module(reader, 2));
    assert_string_equal(rf_reader_unsupported(reader, 0), "MPI_Get");
    assert_string_equal(rf_reader_unsupported(reader, 1), "MPI_Put");
    assert_null(rf_reader_unsupported(reader, 2));
    rf_reader_close(reader);
}

static void facts_come_back(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    testing_open(&recorder, directory);
    rf_recorder_unsupported(&recorder, "MPI_Get");
    rf_recorder_unsupported(&recorder, "MPI_Put");
    rf_recorder_unsupported(&recorder, "MPI_Get");
    check_facts(directory);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    check_facts(directory);
    testing_clean(directory);
}

static void full_tables_are_no_harm(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    struct rf_module module = {.path = ""};
    struct rf_site site = {.function = "MPI_Recv"};
    testing_open(&recorder, directory);
    uint32_t last = 31;
    for (unsigned i = 32; i < RF_MAX_SITES + 10; i++) {
        snprintf(module.path, sizeof module.path, "/module/%u", i);
        uint32_t number = rf_recorder_site(&recorder, &site, &module);
        assert_int_equal(number, i < RF_MAX_SITES ? last + 1 : 0);
        last = number ? number : last;
    }
    char name[32];
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "MPI_Unknown_%u", i);
        rf_recorder_unsupported(&recorder, name);
    }
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    struct rf_reader *reader = open_reader(directory);
    assert_int_equal(rf_reader_site_count(reader), RF_MAX_SITES);
    assert_string_equal(rf_reader_unsupported(reader, 255), "MPI_Unknown_255");
    assert_null(rf_reader_unsupported(reader, 256));
    rf_reader_close(reader);
    testing_clean(directory);
}

static void calls_in_flight_are_seen(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    testing_open(&recorder, directory);
    int32_t *room = rf_recorder_flight_room(&recorder, 8, 16, 64);
    assert_null(rf_recorder_flight_room(&recorder, 8, 12, 100000));
    uint32_t *word = rf_recorder_flight_word(&recorder);
    struct rf_reader *reader = open_reader(directory);
    assert_false(rf_reader_ending(reader)->in_flight.active);
    rf_reader_close(reader);
    *word = rf_pack(RF_RECV, 2, 7);
    reader = open_reader(directory);
    assert_true(rf_reader_ending(reader)->in_flight.active);
    assert_false(rf_reader_ending(reader)->in_flight.matched);
    rf_reader_close(reader);
    room[2] = 5;
    room[4] = 99;
    reader = open_reader(directory);
    assert_true(rf_reader_ending(reader)->in_flight.matched);
    assert_int_equal(rf_reader_ending(reader)->in_flight.what, rf_pack(RF_RECV, 2, 7));
    assert_int_equal(rf_reader_ending(reader)->in_flight.source, 5);
    assert_int_equal(rf_reader_ending(reader)->in_flight.tag, 99);
    rf_reader_close(reader);
    rf_recorder_close(&recorder, RF_END_ABORT, 42);
    *word = 0; /* late stores of the adapter go nowhere */
    room[2] = 0;
    reader = open_reader(directory);
    assert_int_equal(rf_reader_ending(reader)->how, RF_END_ABORT);
    assert_false(rf_reader_ending(reader)->in_flight.active);
    rf_reader_close(reader);
    testing_clean(directory);
}

static void forked_children_leave_the_files_alone(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    struct mirror mirror = {.recorder = &recorder};
    testing_open(&recorder, directory);
    append_all(&mirror, 60000, 9);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        rf_recorder_cut_off(&recorder, SIGABRT);
        rf_recorder_abandon(&recorder);
        for (int i = 0; i < 1000000; i++)
            rf_recorder_put(&recorder, rf_pack(RF_RECV, 0, 1), i, i, 1);
        rf_recorder_close(&recorder, RF_END_EXIT, 0);
        _exit(recorder.on);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    append_all(&mirror, 60000, 10);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    struct rf_reader *reader = open_reader(directory);
    mirror_compare(&mirror, reader, RF_READ_END);
    rf_reader_close(reader);
    mirror_free(&mirror);
    testing_clean(directory);
}

static void traces_are_never_overwritten(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_recorder recorder, second;
    struct rf_node node;
    struct rf_error error = {0};
    testing_open(&recorder, directory);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    stream_node(&node);
    assert_false(rf_recorder_open(&second, directory, &node, &error));
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    assert_false(rf_recorder_open(&second, "/nonexistent", &node, &error));
    assert_non_null(strstr(error.text, "/nonexistent/rank-0."));
    struct rf_reader *reader = open_reader(directory);
    rf_reader_close(reader);
    testing_clean(directory);
}

static void ranks_are_found(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    static const char *const names[] = {
        "rank-10.new",   "rank-2.trace", "rank-2.tail", "rank-0.tail",   "rank-01.trace",
        "rank-10.trace", "rank-.trace",  "rank-3.json", "manifest.json", "rank-4.trace~"};
    int *ranks;
    size_t count;
    struct rf_error error = {0};
    assert_true(rf_trace_ranks(directory, &ranks, &count, &error));
    assert_int_equal(count, 0);
    free(ranks);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        testing_path(path, sizeof path, directory, names[i]);
        testing_save(path, "", 0);
    }
    assert_true(rf_trace_ranks(directory, &ranks, &count, &error));
    assert_int_equal(count, 3);
    assert_int_equal(ranks[0], 0);
    assert_int_equal(ranks[1], 2);
    assert_int_equal(ranks[2], 10);
    free(ranks);
    assert_false(rf_trace_ranks("/nonexistent", &ranks, &count, &error));
    assert_int_equal(error.code, RF_EXIT_TRACE);
    testing_clean(directory);
}

static long resident(void) {
    long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &pages), 2);
    fclose(file);
    return pages;
}

/* Two million entries take no more memory than a quarter of a million. */
static void memory_stays_flat(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    testing_open(&recorder, directory);
    long after_few = 0;
    for (int i = 0; i < 2000000; i++) {
        rf_recorder_fold(&recorder, rf_pack(RF_RECV, 0, 1), i % 3, 5);
        if (i == 250000)
            after_few = resident();
    }
    long after_all = resident();
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    struct rf_reader *reader = open_reader(directory);
    struct rf_event event;
    uint64_t count = 0;
    long reading = 0;
    while (rf_reader_next(reader, &event, NULL) == RF_READ_EVENT) {
        assert_int_equal(event.first, count % 3);
        if (++count == 250000)
            reading = resident();
    }
    assert_int_equal(count, 2000000);
    assert_true(after_all - after_few < 256);
    assert_true(resident() - reading < 256);
    rf_reader_close(reader);
    testing_clean(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(long_lists_are_split_and_joined),
        cmocka_unit_test(late_matches_find_their_posts),
        cmocka_unit_test(facts_come_back),
        cmocka_unit_test(full_tables_are_no_harm),
        cmocka_unit_test(calls_in_flight_are_seen),
        cmocka_unit_test(forked_children_leave_the_files_alone),
        cmocka_unit_test(traces_are_never_overwritten),
        cmocka_unit_test(ranks_are_found),
        cmocka_unit_test(memory_stays_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
