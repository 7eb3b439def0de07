/* Call sites: an address has one number, in the recording and in the replay. */
#include "trace_testing.h"

#include <stdlib.h>
#include <string.h>

#include "engine/session.h"

enum { MANY = 2 * RF_CALLSITE_SLOTS };

/* Any address in the program will do as the place of a call. */
static const char code[MANY + 1] = "here";
static uintptr_t place(uint32_t i) {
    return (uintptr_t)code + i;
}

static struct rf_session *begin(const char *directory) {
    struct rf_session *session = calloc(1, sizeof *session);
    assert_non_null(session);
    session->mode = RF_RECORDING;
    testing_open(&session->recorder, directory);
    return session;
}

static uint32_t number_of(struct rf_session *session, uint32_t i, uint32_t function) {
    const struct rf_here here = {function == 1 ? "MPI_Recv" : "MPI_Probe", function, place(i)};
    return rf_here_site(session, &here);
}

static struct rf_session *replay(const char *directory) {
    struct rf_session *session = calloc(1, sizeof *session);
    struct rf_error error = {0};
    assert_non_null(session);
    session->mode = RF_REPLAYING;
    if (!rf_replay_open(&session->replayer, directory, NULL, 0, &error))
        fail_msg("%s", error.text);
    return session;
}

static void end(struct rf_session *session, const char *directory) {
    if (session->mode == RF_REPLAYING)
        rf_reader_close(session->replayer.reader);
    else
        rf_recorder_close(&session->recorder, RF_END_FINALIZE, 0);
    free(session);
    if (directory)
        testing_clean(directory);
}

static void addresses_and_functions_tell_sites_apart(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = begin(directory);
    uint32_t receive = number_of(session, 0, 1), probe = number_of(session, 0, 2);
    uint32_t elsewhere = number_of(session, 1, 1);
    assert_true(receive && probe && elsewhere);
    assert_true(receive != probe && receive != elsewhere && probe != elsewhere);
    assert_int_equal(number_of(session, 0, 1), receive);
    assert_int_equal(number_of(session, 0, 2), probe);
    assert_int_equal(number_of(session, 1, 1), elsewhere);
    end(session, NULL);

    session = replay(directory);
    assert_int_equal(number_of(session, 1, 1), elsewhere);
    assert_int_equal(number_of(session, 0, 2), probe);
    assert_int_equal(number_of(session, 0, 1), receive);
    /* A place that was never seen, in a program that was; and code that belongs to no file. */
    assert_int_equal(number_of(session, 2, 1), RF_SITE_FRESH);
    const struct rf_here nowhere = {"MPI_Recv", 1, (uintptr_t)session};
    assert_int_equal(rf_here_site(session, &nowhere), RF_SITE_ANY);
    end(session, directory);
}

/* Addresses that share a slot of the table keep their numbers, whoever was asked for last. */
static void collisions_keep_their_numbers(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = begin(directory);
    enum { WANTED = 4 };
    uint32_t found[WANTED] = {0}, numbers[WANTED], count = 0;
    for (uint32_t i = 0; i < MANY && count < WANTED; i++)
        if (rf_callsite_slot(rf_callsite_key(place(i), 1)) ==
            rf_callsite_slot(rf_callsite_key(place(0), 1)))
            found[count++] = i;
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = number_of(session, found[i], 1);
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = count; i-- > 0;)
            assert_int_equal(number_of(session, found[i], 1), numbers[i]);
    end(session, directory);
}

/* Numbers a few thousand sites twice; none may change, though a full table may give up on some. */
static void expect_steady(uint32_t count, bool all_known) {
    const char *directory = testing_directory();
    struct rf_session *session = begin(directory);
    uint32_t *numbers = calloc(count, sizeof *numbers);
    assert_non_null(numbers);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = number_of(session, i, 1);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(number_of(session, i, 1), numbers[i]);
        assert_true(numbers[i] || !all_known);
    }
    end(session, NULL);
    session = replay(directory);
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i])
            assert_int_equal(number_of(session, i, 1), numbers[i]);
    end(session, directory);
    free(numbers);
}

static void many_sites_have_steady_numbers(void **unused) {
    (void)unused;
    expect_steady(RF_CALLSITE_SLOTS / 2, true);
}

static void too_many_sites_have_steady_numbers(void **unused) {
    (void)unused;
    expect_steady(MANY, false);
}

static void addresses_are_found_in_their_files(void **unused) {
    (void)unused;
    const struct rf_address *address = rf_address_of(place(5));
    assert_true(address->found && !address->internal);
    assert_non_null(strstr(address->module.path, "unit-engine"));
    uint64_t offset = address->offset;
    assert_true(rf_address_of(place(6))->offset == offset + 1);
    assert_true(rf_address_of(place(5))->offset == offset);
    address = rf_address_of((uintptr_t)&address);
    assert_false(address->found);
    assert_string_equal(address->module.path, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_and_functions_tell_sites_apart),
        cmocka_unit_test(collisions_keep_their_numbers),
        cmocka_unit_test(many_sites_have_steady_numbers),
        cmocka_unit_test(too_many_sites_have_steady_numbers),
        cmocka_unit_test(addresses_are_found_in_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
