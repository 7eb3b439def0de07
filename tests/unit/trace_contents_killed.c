/* Contents of a process that dies: all that was put before comes back. */
#include "contents_testing.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace_streams.h"

struct counter {
    uint64_t begun, done; /* puts; begun 0: not even created */
};

static void put_forever(const char *path, const struct contents_plan *plan,
                        struct counter *counter) {
    uint8_t *room = malloc(plan->largest + 4);
    struct rf_contents_writer *writer = rf_contents_create(path, RF_CONTENTS_CHUNK, NULL);
    if (!room || !writer)
        _exit(1);
    for (uint64_t i = 0; i < plan->count; i++) {
        __atomic_store_n(&counter->begun, i + 1, __ATOMIC_RELEASE);
        contents_put_one(writer, plan, i, room);
        __atomic_store_n(&counter->done, i + 1, __ATOMIC_RELEASE);
    }
    _exit(!rf_contents_close(writer, NULL));
}

static struct counter *share_counter(void) {
    struct counter *counter =
        mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counter != MAP_FAILED);
    return counter;
}

/* All that was done, or the one that had just begun as well, as a whole; and no damage. */
static void expect_counted(const char *path, const struct contents_plan *plan,
                           const struct counter *counter) {
    struct rf_error error = {0};
    uint64_t seen = contents_compare(path, plan, &error);
    if (error.text[0])
        fail_msg("%s", error.text);
    uint64_t done = counter->done;
    for (; done; done--) {
        struct contents_put last = contents_put_of(plan, done - 1);
        if (last.block || last.size)
            break;
    }
    if (seen < done || seen > counter->begun)
        fail_msg("%llu of %llu", (unsigned long long)seen, (unsigned long long)done);
}

static void nothing_is_lost(void **unused) {
    (void)unused;
    struct counter *counter = share_counter();
    struct stream_state random = {.random = (uint64_t)time(NULL)};
    uint64_t most = 0;
    for (int round = 0; round < 40; round++) {
        struct contents_fixture fixture;
        contents_begin(&fixture);
        *counter = (struct counter){0};
        struct contents_plan plan = {.seed = stream_random(&random, UINT32_MAX),
                                     .largest = round % 2 ? 3000 : 2 * CHUNK,
                                     .count = 100000000};
        /* A few end by themselves, so that kills fall into the closing as well. */
        uint64_t wanted = stream_random(&random, round % 2 ? 3000 : 60);
        if (round % 5 == 0)
            plan.count = wanted;
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child)
            put_forever(fixture.path, &plan, counter);
        while (__atomic_load_n(&counter->begun, __ATOMIC_ACQUIRE) < (wanted ? wanted : 1) && wanted)
            usleep(50);
        usleep(stream_random(&random, 3000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        if (counter->begun)
            expect_counted(fixture.path, &plan, counter);
        most = counter->done > most ? counter->done : most;
        contents_finish(&fixture);
    }
    print_message("up to %llu puts\n", (unsigned long long)most);
    munmap(counter, sizeof *counter);
}

/* Looks at the files before and after every system call of the writer, and after each of the first
   instructions behind it: there is no moment at which they cannot be read. */
static void every_step_is_read(void **unused) {
    (void)unused;
    struct contents_fixture fixture;
    contents_begin(&fixture);
    struct counter *counter = share_counter();
    /* Few and large: chunks fill within one put and between puts. */
    struct contents_plan plan = {.seed = 7, .largest = 5 * CHUNK / 2, .count = 30};
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
            _exit(2);
        put_forever(fixture.path, &plan, counter);
    }
    int status;
    unsigned looks = 0, steps = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL);
    while (WIFSTOPPED(status)) {
        if (counter->begun) {
            expect_counted(fixture.path, &plan, counter);
            looks++;
        }
        for (int i = 0; counter->begun && i < 3000 && WIFSTOPPED(status) && steps < 30000; i++) {
            assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
            assert_int_equal(waitpid(child, &status, 0), child);
            steps++;
            if (i % 250 == 0 && WIFSTOPPED(status))
                expect_counted(fixture.path, &plan, counter);
        }
        if (!WIFSTOPPED(status))
            break;
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(looks > 10);
    contents_expect_whole(fixture.path, &plan);
    print_message("looked %u times\n", looks);
    munmap(counter, sizeof *counter);
    contents_finish(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(every_step_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
