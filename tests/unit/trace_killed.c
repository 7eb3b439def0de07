/* Whatever moment a process is killed at, nothing that was appended is lost, and nothing doubled.
 */
#include "trace_testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/log.h"
#include "trace_streams.h"

struct counter {
    uint64_t begun, done; /* appends begun and done */
};

/* The i-th append follows from i alone, so the reader can check each one. */
static uint32_t list_of(uint64_t i, int32_t list[64]) {
    uint32_t length = (uint32_t)(i * 7 % 64);
    for (uint32_t k = 0; k < length; k++)
        list[k] = (int32_t)(i + k * 3);
    return length;
}

static void append_forever(const char *directory, struct counter *counter, uint64_t limit) {
    struct rf_recorder recorder;
    struct rf_node node;
    stream_node(&node);
    if (!rf_recorder_open(&recorder, directory, &node, NULL))
        _exit(1);
    stream_sites(&recorder, 31);
    int32_t list[64];
    for (uint64_t i = 0; i < limit; i++) {
        __atomic_store_n(&counter->begun, i + 1, __ATOMIC_RELEASE);
        if (i % 5 == 0)
            rf_recorder_list(&recorder, rf_pack(RF_SET, 0, 2), (int32_t)i, 0, list,
                             list_of(i, list));
        else
            rf_recorder_put(&recorder, rf_pack(RF_RECV, 0, 1), (int32_t)i, (int32_t)(i % 3), 1);
        __atomic_store_n(&counter->done, i + 1, __ATOMIC_RELEASE);
    }
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    _exit(0);
}

static uint64_t check(const char *directory) {
    struct rf_error error = {0};
    struct rf_event event;
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    if (!reader)
        fail_msg("%s", error.text);
    uint64_t i = 0;
    int32_t list[64];
    enum rf_read read;
    while ((read = rf_reader_next(reader, &event, &error)) == RF_READ_EVENT) {
        assert_true(event.number == i);
        assert_int_equal(event.first, i);
        if (i % 5 == 0) {
            assert_int_equal(event.kind, RF_SET);
            assert_int_equal(event.list_length, list_of(i, list));
            if (event.list_length)
                assert_memory_equal(event.list, list, event.list_length * sizeof *list);
        } else {
            assert_int_equal(event.kind, RF_RECV);
            assert_int_equal(event.second, i % 3);
        }
        i++;
    }
    if (read != RF_READ_END)
        fail_msg("%s", error.text);
    rf_reader_close(reader);
    return i;
}

static void nothing_is_lost(void **unused) {
    (void)unused;
    struct counter *counter =
        mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counter != MAP_FAILED);
    struct stream_state random = {.random = (uint64_t)time(NULL)};
    uint64_t most = 0;
    for (int round = 0; round < 30; round++) {
        const char *directory = testing_directory();
        *counter = (struct counter){0};
        /* A few end by themselves, so that kills fall into the closing as well. */
        uint64_t limit = round % 3 ? 100000000 : 30000 + stream_random(&random, 40000);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child)
            append_forever(directory, counter, limit);
        uint64_t wanted = round % 3 == 0 ? limit : stream_random(&random, 120000);
        while (__atomic_load_n(&counter->done, __ATOMIC_ACQUIRE) < wanted)
            usleep(50);
        usleep(stream_random(&random, 2000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        uint64_t events = check(directory);
        assert_true(events >= counter->done && events <= counter->begun);
        most = events > most ? events : most;
        testing_clean(directory);
    }
    print_message("up to %llu events\n", (unsigned long long)most);
    munmap(counter, sizeof *counter);
}

/* A reader of a running process sees a beginning of the stream, never a hole. */
static void running_processes_can_be_read(void **unused) {
    (void)unused;
    struct counter *counter =
        mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counter != MAP_FAILED);
    const char *directory = testing_directory();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        append_forever(directory, counter, 200000);
    while (__atomic_load_n(&counter->done, __ATOMIC_ACQUIRE) < 1)
        usleep(50);
    for (int i = 0; i < 8; i++)
        assert_true(check(directory) <= __atomic_load_n(&counter->begun, __ATOMIC_ACQUIRE));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    munmap(counter, sizeof *counter);
    testing_clean(directory);
}

/* The states between two steps of the coding thread, made by hand. */
static void every_state_between_is_read(void **unused) {
    (void)unused;
    const char *directory = testing_directory();
    char trace_path[512], log_path[512];
    testing_path(trace_path, sizeof trace_path, directory, "rank-0.trace");
    testing_path(log_path, sizeof log_path, directory, "rank-0.tail");
    struct rf_recorder recorder;
    testing_open(&recorder, directory);
    int32_t list[64];
    size_t log_bytes, start_bytes, trace_bytes;
    for (uint64_t i = 0; i < 20000; i++) {
        if (i % 5 == 0)
            rf_recorder_list(&recorder, rf_pack(RF_SET, 0, 2), (int32_t)i, 0, list,
                             list_of(i, list));
        else
            rf_recorder_put(&recorder, rf_pack(RF_RECV, 0, 1), (int32_t)i, (int32_t)(i % 3), 1);
    }
    assert_int_equal(recorder.segment, 1);
    uint8_t *log = testing_load(log_path, &log_bytes);
    uint8_t *start = testing_load(trace_path, &start_bytes);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    uint8_t *trace = testing_load(trace_path, &trace_bytes);
    /* The log is as it was before the closing; the trace file grew by any number of bytes. */
    testing_save(log_path, log, log_bytes);
    for (size_t bytes = 0; bytes <= trace_bytes; bytes += bytes < 600 ? 7 : 1997) {
        testing_save(trace_path, trace, bytes);
        assert_int_equal(check(directory), 20000);
    }
    /* The first chunk is whole and its segment half wiped, with and without its being known. */
    struct rf_log *state = (struct rf_log *)(void *)log;
    memset(state->ring[0], 0, sizeof state->ring[0] / 2);
    testing_save(log_path, log, log_bytes);
    testing_save(trace_path, trace, trace_bytes - 300);
    assert_int_equal(check(directory), 20000);
    state->written = rf_seal(1);
    testing_save(log_path, log, log_bytes);
    assert_int_equal(check(directory), 20000);
    /* If that chunk is gone now, it must be noticed. */
    testing_save(trace_path, start, start_bytes);
    struct rf_error error = {0};
    struct rf_event event;
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    assert_non_null(reader);
    assert_int_equal(rf_reader_next(reader, &event, &error), RF_READ_DAMAGED);
    rf_reader_close(reader);
    free(log);
    free(start);
    free(trace);
    testing_clean(directory);
}

/* Opens a recording in a child that is killed at its stops-th stop, before or after a system call.
   False when it came to its end before. */
static bool open_and_kill(const char *directory, int stops) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct rf_recorder recorder;
        struct rf_node node;
        stream_node(&node);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
            _exit(2);
        _exit(!rf_recorder_open(&recorder, directory, &node, NULL));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    while (WIFSTOPPED(status) && stops--) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip();
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) == child && !WIFSIGNALED(status))
        ;
    return true;
}

/* There is no moment in which a rank has left something that cannot be read. */
static void every_step_of_the_beginning_is_read(void **unused) {
    (void)unused;
    enum { NOTHING, BEGUN, WHOLE, STATES } state = NOTHING;
    int seen[STATES] = {0};
    bool killed = true;
    for (int stops = 1; killed; stops++) {
        const char *directory = testing_directory();
        killed = open_and_kill(directory, stops);
        int *ranks;
        size_t count;
        struct rf_error error = {0};
        assert_true(rf_trace_ranks(directory, &ranks, &count, &error));
        free(ranks);
        struct rf_reader *reader = rf_reader_open(directory, 0, &error);
        assert_int_equal(count, reader ? 1 : 0);
        int now = !reader ? NOTHING : rf_reader_node(reader)->size ? WHOLE : BEGUN;
        assert_true(now >= (int)state);
        state = now;
        seen[now]++;
        if (reader) {
            struct rf_event event;
            assert_int_equal(rf_reader_node(reader)->rank, 0);
            assert_int_equal(rf_reader_next(reader, &event, &error), RF_READ_END);
            assert_int_equal(rf_reader_ending(reader)->how, RF_END_NONE);
            rf_reader_close(reader);
        }
        testing_clean(directory);
    }
    assert_true(seen[NOTHING] && seen[BEGUN] && seen[WHOLE]);
    print_message("killed at %d places\n", seen[NOTHING] + seen[BEGUN] + seen[WHOLE] - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_of_the_beginning_is_read),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(running_processes_can_be_read),
        cmocka_unit_test(every_state_between_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
