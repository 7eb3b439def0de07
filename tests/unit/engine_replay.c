/* The session: signatures and their spacing, the cursor of a replay, and what it shows meanwhile.
 */
#include "trace_testing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/session.h"

static const char code[16] = "here";
static const struct rf_here receive = {"MPI_Recv", 1, (uintptr_t)code};
static const struct rf_here probe = {"MPI_Probe", 2, (uintptr_t)code + 1};

static struct rf_session *record(const char *directory) {
    struct rf_session *session = calloc(1, sizeof *session);
    assert_non_null(session);
    session->mode = RF_RECORDING;
    rf_session_check_at(session, 0, 1);
    testing_open(&session->recorder, directory);
    return session;
}

static void finish(struct rf_session *session) {
    if (session->mode == RF_RECORDING)
        rf_recorder_close(&session->recorder, RF_END_FINALIZE, 0);
    else
        rf_reader_close(session->replayer.reader);
    free(session);
}

static void leave(int status) {
    _exit(status);
}

static struct rf_session *replay(const char *directory) {
    struct rf_session *session = calloc(1, sizeof *session);
    struct rf_error error = {0};
    assert_non_null(session);
    session->mode = RF_REPLAYING;
    rf_session_check_at(session, 0, 1);
    session->stop = leave;
    if (!rf_replay_open(&session->replayer, directory, NULL, 0, &error))
        fail_msg("%s", error.text);
    /* Without a watcher all replays of a process count in the same place. */
    session->replayer.progress->events = 0;
    session->replayer.progress->free = 0;
    return session;
}

/* ---- signatures ------------------------------------------------------------------------------ */

enum { CALLS = 200000 };

static void sign_all(struct rf_session *session, int32_t different) {
    for (int32_t i = 0; i < CALLS; i++)
        rf_sign(session, &receive, i % 7, i == different ? -5 : 3, 100);
}

static void checks_are_dense_at_first_and_sparse_later(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory);
    sign_all(session, -1);
    finish(session);
    session = replay(directory);
    struct rf_event event;
    uint32_t before = 0, count = 0;
    while (rf_reader_next(session->replayer.reader, &event, NULL) == RF_READ_EVENT) {
        assert_int_equal(event.kind, RF_CHECK);
        uint32_t calls = (uint32_t)event.second, step = calls - before;
        assert_true(calls > before);
        /* Never more than a quarter of what came before, nor more than the largest interval. */
        assert_true(calls <= 32 ? step == 1 : step <= before / 4 + 1 && step <= 16384);
        before = calls;
        count++;
    }
    assert_true(before > CALLS - 16384);
    assert_in_range(count, 48, 128);
    finish(session);
    session = replay(directory);
    sign_all(session, -1);
    assert_null(rf_replay_peek(session));
    assert_false(session->replayer.free);
    finish(session);
    testing_clean(directory);
}

struct part {
    const char *directory;
    void (*play)(struct rf_session *session);
};

static void play_part(void *data) {
    const struct part *part = data;
    part->play(replay(part->directory));
}

/* Runs a part that must end in a difference, and say so. */
static void expect_difference(const char *directory, void (*play)(struct rf_session *),
                              const char *words) {
    struct part part = {directory, play};
    char text[1024];
    assert_int_equal(testing_apart(play_part, &part, text, sizeof text), RF_EXIT_DIVERGED);
    if (!strstr(text, words))
        fail_msg("\"%s\" does not say \"%s\"", text, words);
}

static void differ_early(struct rf_session *session) {
    sign_all(session, 3);
}
static void differ_late(struct rf_session *session) {
    sign_all(session, CALLS / 2);
}

static void another_call_is_noticed(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory);
    sign_all(session, -1);
    finish(session);
    expect_difference(directory, differ_early, "event 0: MPI_Recv: the calls up to here are not");
    expect_difference(directory, differ_late, "the calls up to here are not");
    testing_clean(directory);
}

/* ---- the cursor ------------------------------------------------------------------------------ */

/* Three equal receives, a list, a probe with a failed one before it. */
static void append_some(struct rf_session *session) {
    struct rf_recorder *recorder = &session->recorder;
    static const int32_t list[] = {4, 2};
    uint32_t at_receive = rf_here_site(session, &receive);
    uint32_t at_probe = rf_here_site(session, &probe);
    for (int i = 0; i < 3; i++)
        rf_recorder_fold(recorder, rf_pack(RF_RECV, 1, at_receive), 5, 6);
    rf_recorder_list(recorder, rf_pack(RF_SET, 0, at_receive), 9, 0, list, 2);
    rf_recorder_fold(recorder, rf_pack(RF_NONE, 0, at_probe), 1, 0);
    rf_recorder_fold(recorder, rf_pack(RF_FOUND, 0, at_probe), 1, 2);
}

static void play_some(struct rf_session *session) {
    struct rf_replayer *replayer = &session->replayer;
    for (unsigned i = 0; i < 3; i++) {
        const struct rf_event *event =
            rf_replay_expect(session, &receive, RF_IS(RECV) | RF_IS(ERROR), 1, NULL);
        assert_ptr_equal(event, rf_replay_peek(session));
        assert_int_equal(event->first, 5);
        assert_int_equal(event->second, 6);
        assert_int_equal(replayer->cursor.used, i);
        rf_replay_take(replayer);
    }
    const struct rf_event *event = rf_replay_expect(session, &receive, RF_IS(SET), 0, NULL);
    assert_int_equal(event->list_length, 2);
    assert_int_equal(event->list[1], 2);
    rf_replay_take(replayer);
    event = rf_replay_expect(session, &probe, RF_IS(NONE) | RF_IS(FOUND), 0, NULL);
    assert_int_equal(event->kind, RF_NONE);
    rf_replay_take(replayer);
    event = rf_replay_expect(session, &probe, RF_IS(NONE) | RF_IS(FOUND), 0, NULL);
    assert_int_equal(event->kind, RF_FOUND);
    rf_replay_take(replayer);
}

static void play_more(struct rf_session *session) {
    play_some(session);
    rf_replay_expect(session, &receive, RF_IS(RECV), 1, NULL);
}
static void play_other_function(struct rf_session *session) {
    rf_replay_expect(session, &probe, RF_IS(RECV), 1, NULL);
}
static void play_other_kind(struct rf_session *session) {
    rf_replay_expect(session, &receive, RF_IS(SET), 1, NULL);
}
static void play_other_place(struct rf_session *session) {
    const struct rf_here moved = {"MPI_Recv", 1, (uintptr_t)code + 9};
    rf_replay_expect(session, &moved, RF_IS(RECV), 1, NULL);
}
static void play_other_channel(struct rf_session *session) {
    rf_replay_expect(session, &receive, RF_IS(RECV), 2, NULL);
}
static void play_less(struct rf_session *session) {
    rf_replay_take((rf_replay_peek(session), &session->replayer));
    rf_replay_finish(session, &receive, RF_END_FINALIZE, 0);
}
static void end_otherwise(struct rf_session *session) {
    play_some(session);
    rf_replay_finish(session, &receive, RF_END_EXIT, 3);
}

static void proper_ends_are_ends(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory);
    append_some(session);
    finish(session);
    session = replay(directory);
    play_some(session);
    assert_null(rf_replay_peek(session));
    assert_false(session->replayer.free);
    assert_true(session->replayer.progress->events == 6);
    /* Of the run of three one is remembered; what found nothing is not. */
    assert_int_equal(session->replayer.remembered, 3);
    rf_replay_finish(session, &receive, RF_END_FINALIZE, 0);
    finish(session);
    testing_clean(directory);
}

static void differences_are_told_apart(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory);
    append_some(session);
    finish(session);
    expect_difference(directory, play_more, "event 6: MPI_Recv: the recorded run made no such");
    expect_difference(directory, play_other_function, "event 0: MPI_Probe: another call than");
    expect_difference(directory, play_other_kind, "another outcome");
    expect_difference(directory, play_other_place, "from another place");
    expect_difference(directory, play_other_channel, "number 2, recorded 1");
    expect_difference(directory, play_less, "event 1: MPI_Recv: the program ends before");
    expect_difference(directory, end_otherwise, "the recorded run finished here (code 0)");
    testing_clean(directory);
}

/* The recording of a process that was killed: what it has is binding, what comes after is free. */
static void cut_off_ends_set_free(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *recorded = record(directory);
    append_some(recorded);
    struct rf_session *session = replay(directory);
    play_some(session);
    assert_false(session->replayer.free);
    assert_null(rf_replay_expect(session, &receive, RF_IS(RECV), 1, NULL));
    assert_true(session->replayer.free);
    assert_int_equal(session->replayer.progress->free, 1);
    assert_null(rf_replay_peek(session));
    rf_replay_finish(session, &receive, RF_END_ABORT, 7);
    finish(session);
    finish(recorded);
    testing_clean(directory);
}

/* ---- what is shown --------------------------------------------------------------------------- */

struct watching {
    const struct rf_progress *progress;
    unsigned seen[2];
    bool torn;
    volatile bool stop;
};

/* Reads as the command line does. */
static void *watch(void *data) {
    struct watching *watching = data;
    const struct rf_progress *progress = watching->progress;
    while (!watching->stop) {
        uint32_t before = __atomic_load_n(&progress->current_version, __ATOMIC_ACQUIRE);
        struct rf_call call = progress->current;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before & 1 || before == 0 ||
            before != __atomic_load_n(&progress->current_version, __ATOMIC_ACQUIRE))
            continue;
        bool probing = strcmp(call.function, "MPI_Probe") == 0;
        watching->seen[probing]++;
        if (!probing && strcmp(call.function, "MPI_Recv") != 0)
            watching->torn = true;
        if (call.peer != (probing ? 2 : 1) || call.tag != (probing ? 20 : 10))
            watching->torn = true;
    }
    return NULL;
}

static void what_is_shown_is_never_torn(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    struct rf_session *session = record(directory);
    finish(session);
    struct rf_replayer replayer;
    struct rf_error error;
    assert_true(rf_replay_open(&replayer, directory, directory, 0, &error));
    struct watching watching = {.progress = replayer.progress};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch, &watching), 0);
    /* Until the other thread has seen enough of both, however it is scheduled. */
    for (unsigned i = 0; i < 1000000 || !__atomic_load_n(&watching.seen[0], __ATOMIC_RELAXED) ||
                         !__atomic_load_n(&watching.seen[1], __ATOMIC_RELAXED);
         i++) {
        rf_progress_wait(&replayer, i & 1 ? &probe : &receive, i & 1 ? 2 : 1, i & 1 ? 20 : 10);
        if (i % 64 == 0)
            rf_progress_requests(&replayer, 2, 4);
        rf_progress_go(&replayer);
    }
    watching.stop = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(watching.torn);
    assert_int_equal(replayer.progress->magic, RF_PROGRESS_MAGIC);
    assert_true(replayer.progress->calls >= 1000000);
    rf_reader_close(replayer.reader);
    munmap(replayer.progress, sizeof *replayer.progress);
    testing_clean(directory);
}

static void events_are_described(void **unused) {
    (void)unused;
    char text[64], little[8];
    static const int32_t list[] = {3, 1};
    struct rf_event event = {.kind = RF_RECV, .first = 3, .second = 7};
    rf_describe_event(&event, text, sizeof text);
    assert_string_equal(text, "source 3, tag 7");
    rf_describe_event(&event, little, sizeof little);
    assert_string_equal(little, "source ");
    event = (struct rf_event){.kind = RF_POST, .first = RF_UNKNOWN, .second = RF_UNKNOWN};
    rf_describe_event(&event, text, sizeof text);
    assert_string_equal(text, "source unknown, tag unknown");
    event = (struct rf_event){.kind = RF_SET, .first = 4, .list = list, .list_length = 2};
    rf_describe_event(&event, text, sizeof text);
    assert_string_equal(text, "count 4: 3 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_are_dense_at_first_and_sparse_later),
        cmocka_unit_test(another_call_is_noticed),
        cmocka_unit_test(proper_ends_are_ends),
        cmocka_unit_test(differences_are_told_apart),
        cmocka_unit_test(cut_off_ends_set_free),
        cmocka_unit_test(what_is_shown_is_never_torn),
        cmocka_unit_test(events_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
