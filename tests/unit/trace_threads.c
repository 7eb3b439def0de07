/* The appending and the coding thread, for the thread sanitizer. */
#include "trace_testing.h"

#include <pthread.h>

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

enum { NODES = 6, EVENTS = 50000 };

static const char *shared_directory;

/* Records and reads a rank of its own; what is wrong is told by NULL. */
static void *be_a_node(void *number) {
    struct rf_recorder recorder;
    struct rf_error error = {0};
    struct rf_event event;
    struct rf_node node;
    stream_node(&node);
    node.rank = *(const int32_t *)number;
    int32_t right = 0;
    if (!rf_recorder_open(&recorder, shared_directory, &node, &error))
        return NULL;
    stream_sites(&recorder, 31);
    rf_recorder_sparing(&recorder);
    for (int32_t i = 0; i < EVENTS; i++)
        rf_recorder_fold(&recorder, rf_pack(RF_RECV, 0, 1), (i * 7 + node.rank) % 1000, i);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    struct rf_reader *reader = rf_reader_open(shared_directory, node.rank, &error);
    while (reader && rf_reader_next(reader, &event, &error) == RF_READ_EVENT)
        right += event.first == (event.second * 7 + node.rank) % 1000;
    rf_reader_close(reader);
    return right == EVENTS ? number : NULL;
}

static void nodes_share_what_codes_their_segments(void **unused) {
    (void)unused;
    pthread_t nodes[NODES];
    int32_t numbers[NODES];
    void *good;
    shared_directory = testing_directory();
    for (int32_t i = 0; i < NODES; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&nodes[i], NULL, be_a_node, &numbers[i]), 0);
    }
    for (int i = 0; i < NODES; i++) {
        pthread_join(nodes[i], &good);
        assert_non_null(good);
    }
    testing_clean(shared_directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_threads_share_the_log),
                                       cmocka_unit_test(nodes_share_what_codes_their_segments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
