/* The appending and the coding thread, for the thread sanitizer. */
#include "trace_testing.h"

#include "trace_streams.h"

static void two_threads_share_the_log(void **unused) {
    (void)unused;
    for (size_t i = 0; i < stream_count; i++) {
        const char *directory = testing_directory();
        struct rf_recorder recorder;
        struct stream_state state = {0};
        struct rf_event event;
        struct rf_error error = {0};
        testing_open(&recorder, directory);
        while (recorder.segment < 7)
            streams[i].round(&recorder, &state);
        rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
        struct rf_reader *reader = rf_reader_open(directory, 0, &error);
        assert_non_null(reader);
        enum rf_read read;
        while ((read = rf_reader_next(reader, &event, &error)) == RF_READ_EVENT)
            ;
        assert_int_equal(read, RF_READ_END);
        rf_reader_close(reader);
        testing_clean(directory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_threads_share_the_log)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
