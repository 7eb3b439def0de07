/* Strands: one stream in which threads are told apart, and what each of them finds in a replay. */
#include "trace_testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/session.h"

static const struct rf_here somewhere = {"MPI_Recv", 1, 0};

static struct rf_session *new_session(enum rf_mode mode) {
    struct rf_session *session = calloc(1, sizeof *session);
    assert_non_null(session);
    session->mode = mode;
    session->concurrent = true;
    rf_session_check_at(session, 0, 1);
    return session;
}

/* The thread that opens the session has number `opener`. */
static struct rf_session *record(const char *directory, int opener) {
    struct rf_session *session = new_session(RF_RECORDING_SHARED);
    testing_open(&session->recorder, directory);
    rf_strands_open(session, opener);
    assert_true(session->shared);
    return session;
}

static void leave(int status) {
    _exit(status);
}

static struct rf_session *replay(const char *directory, int opener) {
    struct rf_session *session = new_session(RF_REPLAYING);
    struct rf_error error = {0};
    session->stop = leave;
    if (!rf_replay_open(&session->replayer, directory, NULL, 0, &error))
        fail_msg("%s", error.text);
    rf_strands_open(session, opener);
    session->replayer.shared = session;
    return session;
}

static void finish(struct rf_session *session) {
    if (rf_mode_records(session->mode))
        rf_recorder_close(&session->recorder, RF_END_FINALIZE, 0);
    else
        rf_reader_close(session->replayer.reader);
    struct rf_strands *strands = &session->strands;
    for (int i = 0; i < strands->size; i++) {
        struct rf_strand *strand = strands->list[i];
        for (struct rf_queued *queued = strand ? strand->first : NULL; queued;) {
            struct rf_queued *next = queued->next;
            free(queued);
            queued = next;
        }
        free(strand ? strand->cursor.list : NULL);
        free(strand);
    }
    free(strands->list);
    free(session);
    rf_strand_here = NULL;
}

/* From here on this thread is that one. */
static void become(struct rf_session *session, int number) {
    assert_true(rf_strand_meet(session, number));
    assert_int_equal(rf_strand_here->number, number);
}

static void put(struct rf_session *session, int number, int32_t value) {
    become(session, number);
    rf_session_append(session);
    rf_recorder_put(&session->recorder, rf_pack(RF_RECV, 0, 1), value, number, 1);
    rf_session_unlock(session);
}

/* The next event of that thread is this one. */
static void expect(struct rf_session *session, int number, int32_t value) {
    become(session, number);
    const struct rf_event *event = rf_replay_peek(session);
    assert_non_null(event);
    assert_int_equal(event->kind, RF_RECV);
    assert_int_equal(event->first, value);
    assert_int_equal(event->second, number);
    assert_ptr_equal(rf_replay_peek(session), event);
    rf_replay_take(&session->replayer);
}

static void expect_end(struct rf_session *session, int number) {
    become(session, number);
    assert_null(rf_replay_peek(session));
}

/* ---- record ---- */

static void the_stream_says_whose_events_are(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 2);
    static const int order[] = {2, 2, 5, 5, 0, 2};
    for (int i = 0; i < 6; i++)
        put(session, order[i], i);
    finish(session);
    /* The one that opened the session needs no mention at first. */
    static const int32_t expected[] = {0, 1, -5, 2, 3, 0, 4, -2, 5};
    struct rf_reader *reader = rf_reader_open(directory, 0, NULL);
    struct rf_event event;
    size_t seen = 0;
    while (rf_reader_next(reader, &event, NULL) == RF_READ_EVENT && event.kind != RF_END) {
        assert_true(seen < sizeof expected / sizeof *expected);
        bool names = seen == 2 || seen == 5 || seen == 7;
        assert_int_equal(event.kind, names ? RF_THREAD : RF_RECV);
        assert_int_equal(event.first, names ? -expected[seen] : expected[seen]);
        seen++;
    }
    assert_int_equal(seen, sizeof expected / sizeof *expected);
    rf_reader_close(reader);
    testing_clean(directory);
}

static void each_thread_signs_for_itself(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = new_session(RF_RECORDING_SHARED);
    testing_open(&session->recorder, directory);
    rf_sign(session, &somewhere, 1, 1, 1);
    rf_strands_open(session, 0);
    /* What was signed before goes on. */
    assert_int_equal(rf_session_calls(session), 1);
    rf_sign(session, &somewhere, 1, 1, 1);
    assert_int_equal(rf_session_calls(session), 2);
    uint64_t signature = rf_session_signs(session)->signature;
    become(session, 1);
    assert_int_equal(rf_session_calls(session), 0);
    for (int i = 0; i < 2; i++)
        rf_sign(session, &somewhere, 1, 1, 1);
    assert_int_equal(rf_session_calls(session), 2);
    assert_true(rf_session_signs(session)->signature == signature);
    rf_sign(session, &somewhere, 1, 1, 1);
    become(session, 0);
    assert_int_equal(rf_session_calls(session), 2);
    assert_true(rf_session_signs(session)->signature == signature);
    finish(session);
    testing_clean(directory);
}

static void numbers_have_limits(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 0);
    static const int numbers[] = {0, 7, 8, 16, 100, 5000, 3, RF_MOST_STRANDS - 1};
    struct rf_strand *found[8];
    for (int i = 0; i < 8; i++) {
        found[i] = rf_strand_find(session, numbers[i]);
        assert_non_null(found[i]);
        assert_int_equal(found[i]->number, numbers[i]);
    }
    for (int i = 0; i < 8; i++)
        assert_ptr_equal(rf_strand_find(session, numbers[i]), found[i]);
    assert_null(rf_strand_find(session, -1));
    assert_null(rf_strand_find(session, RF_MOST_STRANDS));
    assert_false(rf_strand_meet(session, -1));
    assert_null(rf_strand_here);
    finish(session);
    testing_clean(directory);
}

/* ---- replay ---- */

static void threads_follow_their_own_events(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 0);
    for (int i = 0; i < 300; i++)
        put(session, i % 3, i);
    finish(session);
    session = replay(directory, 0);
    for (int i = 2; i < 300; i += 3)
        expect(session, 2, i);
    for (int i = 0; i < 300; i++)
        if (i % 3 != 2)
            expect(session, i % 3, i);
    for (int i = 0; i < 4; i++)
        expect_end(session, i);
    assert_false(session->replayer.free);
    assert_null(rf_strands_rest(session));
    assert_int_equal(session->replayer.progress->events, 300);
    finish(session);
    testing_clean(directory);
}

/* What is read ahead for another thread keeps its list, and counts its repetitions. */
static void lists_and_runs_survive_reading_ahead(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 0);
    int32_t list[40];
    for (int32_t i = 0; i < 40; i++)
        list[i] = i * i;
    become(session, 1);
    for (uint32_t i = 0; i < 5; i++) {
        rf_session_append(session);
        rf_recorder_list(&session->recorder, rf_pack(RF_SET, 0, 1), (int32_t)i, 0, list, 10 * i);
        rf_session_unlock(session);
    }
    rf_session_append(session);
    for (int i = 0; i < 3; i++)
        rf_recorder_fold(&session->recorder, rf_pack(RF_NONE, 0, 1), 9, 0);
    rf_session_unlock(session);
    put(session, 0, 77);
    finish(session);
    session = replay(directory, 0);
    expect(session, 0, 77);
    become(session, 1);
    for (uint32_t i = 0; i < 5; i++) {
        const struct rf_event *event = rf_replay_peek(session);
        assert_non_null(event);
        assert_int_equal(event->first, i);
        assert_int_equal(event->list_length, i * 10);
        if (i)
            assert_memory_equal(event->list, list, i * 10 * sizeof *list);
        rf_replay_take(&session->replayer);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rf_replay_peek(session)->kind, RF_NONE);
        rf_replay_take(&session->replayer);
    }
    assert_null(rf_replay_peek(session));
    assert_null(rf_strands_rest(session));
    finish(session);
    testing_clean(directory);
}

static void what_was_not_played_is_told(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 0);
    for (int i = 0; i < 8; i++)
        put(session, i % 2, i);
    finish(session);
    session = replay(directory, 0);
    for (int i = 1; i < 8; i += 2)
        expect(session, 1, i);
    expect(session, 0, 0);
    /* The first in the order of the recording, be it looked at already or not. */
    assert_int_equal(rf_strands_rest(session)->first, 2);
    become(session, 0);
    assert_int_equal(rf_replay_peek(session)->first, 2);
    assert_int_equal(rf_strands_rest(session)->first, 2);
    for (int i = 2; i < 8; i += 2)
        expect(session, 0, i);
    assert_null(rf_strands_rest(session));
    finish(session);
    testing_clean(directory);
}

/* Where the recording was cut off a thread is free only when all the others have come so far. */
static void a_cut_sets_all_threads_free_at_once(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *recorded = record(directory, 0);
    for (int i = 0; i < 4; i++)
        put(recorded, i % 2, i);
    struct rf_session *session = replay(directory, 0);
    expect(session, 0, 0);
    expect(session, 0, 2);
    expect_end(session, 0);
    assert_true(rf_replay_at_cut(session));
    assert_false(session->replayer.free);
    expect(session, 1, 1);
    expect_end(session, 0);
    assert_false(session->replayer.free);
    expect(session, 1, 3);
    expect_end(session, 0);
    assert_true(session->replayer.free);
    assert_int_equal(session->replayer.progress->free, 1);
    assert_false(rf_replay_at_cut(session));
    expect_end(session, 1);
    finish(session);
    finish(recorded);
    testing_clean(directory);
}

static void play_odd(void *data) {
    struct rf_session *session = replay(data, 0);
    for (int i = 0; i < 100; i++)
        expect(session, 1, 1 + 2 * i);
}

/* A damaged stream stops the replay, with no lock held. */
static void damage_is_told(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 0);
    for (int i = 0; i < 100; i++)
        put(session, i % 2, i);
    finish(session);
    char path[512];
    size_t bytes;
    testing_path(path, sizeof path, directory, "rank-0.trace");
    free(testing_load(path, &bytes));
    assert_int_equal(truncate(path, (off_t)bytes - 100), 0);
    char text[2048];
    assert_int_equal(testing_apart(play_odd, (void *)directory, text, sizeof text),
                     RF_EXIT_DIVERGED);
    if (!strstr(text, "rank-0.trace") || !strstr(text, "byte"))
        fail_msg("\"%s\" does not name file and place", text);
    testing_clean(directory);
}

/* ---- at the same time ---- */

enum { WORKERS = 4, EACH = 20000 };

struct worker {
    struct rf_session *session;
    int number;
    unsigned wrong;
};

static void *append_all(void *data) {
    const struct worker *worker = data;
    struct rf_session *session = worker->session;
    rf_strand_meet(session, worker->number);
    for (int32_t i = 0; i < EACH; i++) {
        rf_session_append(session);
        rf_recorder_put(&session->recorder, rf_pack(RF_RECV, 0, 1), i, worker->number, 1);
        rf_session_unlock(session);
    }
    return NULL;
}

static void *play_all(void *data) {
    struct worker *worker = data;
    struct rf_session *session = worker->session;
    rf_strand_meet(session, worker->number);
    for (int32_t i = 0; i < EACH; i++) {
        const struct rf_event *event = rf_replay_peek(session);
        if (!event || event->first != i || event->second != worker->number) {
            worker->wrong++;
            break;
        }
        rf_replay_take(&session->replayer);
    }
    worker->wrong += rf_replay_peek(session) != NULL;
    return NULL;
}

static void run_all(struct rf_session *session, void *(*body)(void *)) {
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){session, i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
}

static void threads_share_a_session(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory, 0);
    run_all(session, append_all);
    finish(session);
    session = replay(directory, 0);
    run_all(session, play_all);
    assert_null(rf_strands_rest(session));
    assert_int_equal(session->replayer.progress->events, WORKERS * EACH);
    finish(session);
    testing_clean(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_says_whose_events_are),
        cmocka_unit_test(each_thread_signs_for_itself),
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(threads_follow_their_own_events),
        cmocka_unit_test(lists_and_runs_survive_reading_ahead),
        cmocka_unit_test(what_was_not_played_is_told),
        cmocka_unit_test(a_cut_sets_all_threads_free_at_once),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(threads_share_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
