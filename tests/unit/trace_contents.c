/* Contents: what was put comes back, whatever happens to the process, the disk and the files. */
#include "trace_testing.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/contents.h"
#include "trace/log.h"
#include "trace_streams.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CHUNK ((size_t)RF_CONTENTS_CHUNK)
#define HEAD offsetof(struct rf_contents_tail, data)

/* Freed memory must not count as used in the test of bounded memory. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

static bool without_zstd;
void *__wrap_dlopen(const char *name, int flags);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
    return without_zstd ? NULL : __real_dlopen(name, flags);
}

/* ---- what is put -------------------------------------------------------------------------- */

/* The i-th put follows from the plan and i alone, so that a reader can check each one. */
struct plan {
    uint64_t seed;
    size_t largest;
    uint64_t count;
};

struct put {
    bool block;
    size_t size;
    uint64_t content; /* even: compressible */
};

static struct put put_of(const struct plan *plan, uint64_t i) {
    struct stream_state random = {.random = XXH3_64bits_withSeed(&i, sizeof i, plan->seed)};
    struct put put = {.block = stream_random(&random, 2)};
    static const uint32_t limits[] = {1, 1 << 3, 70, 200, 200, 3000, 20000, 20000, 300000};
    uint32_t place = stream_random(&random, sizeof limits / sizeof *limits + 1);
    put.size = stream_random(
        &random, place < sizeof limits / sizeof *limits ? limits[place] : (uint32_t)plan->largest);
    if (put.size > plan->largest)
        put.size = plan->largest;
    put.content = i;
    /* A third of the blocks are from a small set. */
    if (put.block && !stream_random(&random, 3)) {
        put.content = stream_random(&random, 20);
        put.size = put.content * 997 % plan->largest;
    }
    return put;
}

static void fill(uint8_t *data, const struct put *put) {
    struct stream_state random = {.random = put->content};
    if (put->content % 2)
        for (size_t i = 0; i < put->size; i += 4) {
            uint32_t word = stream_random(&random, UINT32_MAX);
            memcpy(data + i, &word, put->size - i < 4 ? put->size - i : 4);
        }
    else
        for (size_t i = 0; i < put->size; i++)
            data[i] = (uint8_t)(put->content + (i >> 8));
}

static void put_one(struct rf_contents_writer *writer, const struct plan *plan, uint64_t i,
                    uint8_t *room) {
    struct put put = put_of(plan, i);
    fill(room, &put);
    if (put.block)
        rf_contents_put_block(writer, room, put.size);
    else
        rf_contents_put(writer, room, put.size);
}

/* Reads until the reader ends, comparing; returns how many puts came back. Puts of nothing leave no
   trace: at the end they do not count. */
static uint64_t compare(const char *path, const struct plan *plan, struct rf_error *error) {
    struct rf_contents_reader *reader = rf_contents_open(path, error);
    if (!reader) {
        assert_int_not_equal(error->text[0], 0);
        return 0;
    }
    uint8_t *wanted = malloc(plan->largest + 4), *got = malloc(plan->largest + 4);
    assert_true(wanted && got);
    uint64_t i = 0, seen = 0, size;
    for (; i < plan->count; i++) {
        struct put put = put_of(plan, i);
        fill(wanted, &put);
        bool good = true;
        if (put.block) {
            good = rf_contents_block_size(reader, &size);
            if (good)
                assert_true(size == put.size);
            good = good && rf_contents_get_block(reader, got, put.size);
        } else {
            good = rf_contents_get(reader, got, put.size);
        }
        if (!good)
            break;
        assert_memory_equal(got, wanted, put.size);
        if (put.block || put.size)
            seen = i + 1;
    }
    if (i == plan->count) {
        seen = i;
        assert_false(rf_contents_get(reader, got, 1));
        assert_false(rf_contents_block_size(reader, &size));
        assert_false(rf_contents_get_block(reader, got, 0));
    }
    *error = *rf_contents_reader_error(reader);
    rf_contents_reader_close(reader);
    free(wanted);
    free(got);
    return seen;
}

static void expect_whole(const char *path, const struct plan *plan) {
    struct rf_error error = {0};
    uint64_t seen = compare(path, plan, &error);
    if (error.text[0])
        fail_msg("%s", error.text);
    assert_true(seen == plan->count);
}

struct fixture {
    char directory[256], path[512], tail_path[512];
    uint8_t *file, *tail; /* as they are on disk, in the damage tests */
    size_t file_bytes, tail_bytes;
};

static void begin(struct fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    snprintf(fixture->directory, sizeof fixture->directory, "%s", testing_directory());
    testing_path(fixture->path, sizeof fixture->path, fixture->directory, "rank-0.contents");
    testing_path(fixture->tail_path, sizeof fixture->tail_path, fixture->directory,
                 "rank-0.contents.tail");
}

static void finish(struct fixture *fixture) {
    free(fixture->file);
    free(fixture->tail);
    testing_clean(fixture->directory);
}

static struct rf_contents_writer *create(const struct fixture *fixture) {
    struct rf_error error = {0};
    struct rf_contents_writer *writer = rf_contents_create(fixture->path, &error);
    if (!writer)
        fail_msg("%s", error.text);
    return writer;
}

static void close_well(struct rf_contents_writer *writer) {
    struct rf_error error = {0};
    if (!rf_contents_close(writer, &error))
        fail_msg("%s", error.text);
}

static size_t bytes_of(const char *path) {
    struct stat status;
    return stat(path, &status) ? 0 : (size_t)status.st_size;
}

/* ---- round trips -------------------------------------------------------------------------- */

static void round_trip(const struct plan *plan) {
    struct fixture fixture;
    begin(&fixture);
    uint8_t *room = malloc(plan->largest + 4);
    assert_non_null(room);
    struct rf_contents_writer *writer = create(&fixture);
    uint64_t put = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        put_one(writer, plan, i, room);
        put += put_of(plan, i).size;
        assert_true(rf_contents_position(writer) == put);
        if (i == plan->count / 2) {
            /* With the writer still there: the rest of the last chunk is in the tail. */
            struct plan half = {plan->seed, plan->largest, i + 1};
            expect_whole(fixture.path, &half);
        }
    }
    assert_true(rf_contents_good(writer, NULL));
    expect_whole(fixture.path, plan);
    close_well(writer);
    assert_int_not_equal(access(fixture.tail_path, F_OK), 0);
    expect_whole(fixture.path, plan);
    free(room);
    finish(&fixture);
}

static void everything_comes_back(void **unused) {
    (void)unused;
    const struct plan plans[] = {
        {1, 200, 0}, {2, 200, 20000}, {3, 3 * CHUNK, 200}, {4, CHUNK / 2, 300}, {5, 70, 60000},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        round_trip(&plans[i]);
    without_zstd = true;
    round_trip(&plans[3]);
    without_zstd = false;
}

/* Puts that end at the border of a chunk, just before and just behind it. */
static void borders_are_no_obstacle(void **unused) {
    (void)unused;
    struct fixture fixture;
    uint8_t *data = calloc(1, 2 * CHUNK + 8), *got = calloc(1, 2 * CHUNK + 8);
    assert_true(data && got);
    for (size_t size = CHUNK - 3; size <= CHUNK + 3; size++)
        for (int closed = 0; closed < 2; closed++) {
            begin(&fixture);
            struct rf_contents_writer *writer = create(&fixture);
            rf_contents_put(writer, data, size);
            if (closed)
                close_well(writer);
            struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
            assert_non_null(reader);
            assert_true(rf_contents_get(reader, got, size));
            assert_false(rf_contents_get(reader, got, 1));
            assert_string_equal(rf_contents_reader_error(reader)->text, "");
            rf_contents_reader_close(reader);
            if (!closed) {
                rf_contents_put_block(writer, data, 2 * CHUNK - size);
                rf_contents_put_block(writer, data, 2 * CHUNK - size);
                close_well(writer);
                reader = rf_contents_open(fixture.path, NULL);
                assert_non_null(reader);
                assert_true(rf_contents_get(reader, got, size));
                assert_true(rf_contents_get_block(reader, got, 2 * CHUNK - size));
                assert_true(rf_contents_get_block(reader, got, 2 * CHUNK - size));
                assert_memory_equal(got, data, 2 * CHUNK - size);
                rf_contents_reader_close(reader);
            }
            finish(&fixture);
        }
    free(data);
    free(got);
}

static void equal_blocks_are_stored_once(void **unused) {
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    const size_t sizes[] = {64, 5000, 100000, 3 * CHUNK + 17};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 200 };
    uint8_t *blocks[SIZES], *got = malloc(sizes[SIZES - 1]);
    size_t sum = 0;
    struct rf_contents_writer *writer = create(&fixture);
    for (size_t k = 0; k < SIZES; k++) {
        sum += sizes[k];
        blocks[k] = malloc(sizes[k] + 4);
        assert_non_null(blocks[k]);
        fill(blocks[k], &(struct put){.size = sizes[k], .content = 2 * k + 1});
    }
    assert_non_null(got);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < SIZES; k++)
            rf_contents_put_block(writer, blocks[k], sizes[k] - (round == ROUNDS - 1));
    close_well(writer);
    /* Random bytes: the blocks, the shorter ones of the last round, and little else. */
    size_t bytes = bytes_of(fixture.path);
    assert_true(bytes > 2 * sum - 64 && bytes < 2 * sum + 64 + (size_t)ROUNDS * SIZES * 8);
    struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
    assert_non_null(reader);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < SIZES; k++) {
            size_t size = sizes[k] - (round == ROUNDS - 1);
            assert_true(rf_contents_get_block(reader, got, size));
            if (round % 50 == 0 || round == ROUNDS - 1)
                assert_memory_equal(got, blocks[k], size);
        }
    rf_contents_reader_close(reader);
    for (size_t k = 0; k < SIZES; k++)
        free(blocks[k]);
    free(got);
    finish(&fixture);
}

static void what_can_be_compressed_is(void **unused) {
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    struct put put = {.size = 4 * CHUNK, .content = 2};
    uint8_t *data = malloc(put.size + 4);
    assert_non_null(data);
    for (int random = 0; random < 2; random++) {
        put.content += (uint64_t)random;
        fill(data, &put);
        struct rf_contents_writer *writer = create(&fixture);
        rf_contents_put(writer, data, put.size);
        close_well(writer);
        size_t bytes = bytes_of(fixture.path);
        if (random)
            assert_true(bytes > put.size && bytes < put.size + 300);
        else
            assert_true(bytes < put.size / 100);
    }
    free(data);
    finish(&fixture);
}

static size_t memory_in_use(void) {
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    char line[256];
    size_t kilobytes = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %zu", &kilobytes) == 1)
            break;
    fclose(file);
    assert_true(kilobytes > 0);
    return kilobytes << 10;
}

static void memory_is_bounded(void **unused) {
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    const size_t size = 24 * CHUNK;
    enum { BLOCKS = 12 };
    uint8_t *data = calloc(1, size), *got = calloc(1, size);
    assert_true(data && got);
    memset(data, 1, size);
    memset(got, 1, size);
    size_t before = memory_in_use();
    struct rf_contents_writer *writer = create(&fixture);
    for (uint64_t i = 0; i < 2 * BLOCKS; i++) {
        uint64_t content = i % BLOCKS;
        memcpy(data + size / 2, &content, sizeof content);
        rf_contents_put_block(writer, data, size);
    }
    assert_true(memory_in_use() < before + 16 * CHUNK);
    close_well(writer);
    before = memory_in_use();
    struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
    assert_non_null(reader);
    for (uint64_t i = 0; i < 2 * BLOCKS; i++) {
        uint64_t content = i % BLOCKS;
        memcpy(data + size / 2, &content, sizeof content);
        assert_true(rf_contents_get_block(reader, got, size));
        assert_memory_equal(got, data, size);
    }
    assert_true(memory_in_use() < before + 32 * CHUNK);
    rf_contents_reader_close(reader);
    free(data);
    free(got);
    finish(&fixture);
}

/* ---- death -------------------------------------------------------------------------------- */

struct counter {
    uint64_t begun, done; /* puts; begun 0: not even created */
};

static void put_forever(const char *path, const struct plan *plan, struct counter *counter) {
    uint8_t *room = malloc(plan->largest + 4);
    struct rf_contents_writer *writer = rf_contents_create(path, NULL);
    if (!room || !writer)
        _exit(1);
    for (uint64_t i = 0; i < plan->count; i++) {
        __atomic_store_n(&counter->begun, i + 1, __ATOMIC_RELEASE);
        put_one(writer, plan, i, room);
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
static void expect_counted(const char *path, const struct plan *plan,
                           const struct counter *counter) {
    struct rf_error error = {0};
    uint64_t seen = compare(path, plan, &error);
    if (error.text[0])
        fail_msg("%s", error.text);
    uint64_t done = counter->done;
    for (; done; done--) {
        struct put last = put_of(plan, done - 1);
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
        struct fixture fixture;
        begin(&fixture);
        *counter = (struct counter){0};
        struct plan plan = {.seed = stream_random(&random, UINT32_MAX),
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
        finish(&fixture);
    }
    print_message("up to %llu puts\n", (unsigned long long)most);
    munmap(counter, sizeof *counter);
}

/* Looks at the files before and after every system call of the writer, and after each of the first
   instructions behind it: there is no moment at which they cannot be read. */
static void every_step_is_read(void **unused) {
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    struct counter *counter = share_counter();
    /* Few and large: chunks fill within one put and between puts. */
    struct plan plan = {.seed = 7, .largest = 5 * CHUNK / 2, .count = 30};
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
    expect_whole(fixture.path, &plan);
    print_message("looked %u times\n", looks);
    munmap(counter, sizeof *counter);
    finish(&fixture);
}

/* ---- damage ------------------------------------------------------------------------------- */

/* A file of several chunks that is small all the same: mostly zeros. `killed` leaves it with its
   tail. */
static const char fact[] = "a fact";
static uint8_t zeros[5 * (1 << 19)], noise[300];

static void prepare(struct fixture *fixture, bool killed) {
    begin(fixture);
    fill(noise, &(struct put){.size = sizeof noise, .content = 1});
    struct rf_contents_writer *writer = create(fixture);
    rf_contents_put(writer, fact, sizeof fact);
    rf_contents_put_block(writer, noise, sizeof noise);
    rf_contents_put_block(writer, zeros, sizeof zeros);
    rf_contents_put_block(writer, noise, sizeof noise);
    rf_contents_put_block(writer, zeros, sizeof zeros);
    rf_contents_put(writer, fact, sizeof fact);
    if (killed) {
        fixture->file = testing_load(fixture->path, &fixture->file_bytes);
        fixture->tail = testing_load(fixture->tail_path, &fixture->tail_bytes);
        close_well(writer);
        testing_save(fixture->path, fixture->file, fixture->file_bytes);
        testing_save(fixture->tail_path, fixture->tail, fixture->tail_bytes);
    } else {
        close_well(writer);
        fixture->file = testing_load(fixture->path, &fixture->file_bytes);
    }
}

/* How many of the six puts come back; the error tells why no more. */
static int read_prepared(const struct fixture *fixture, struct rf_error *error) {
    static uint8_t got[sizeof zeros];
    *error = (struct rf_error){0};
    struct rf_contents_reader *reader = rf_contents_open(fixture->path, error);
    if (!reader) {
        assert_int_not_equal(error->text[0], 0);
        return 0;
    }
    int seen = 0;
    for (bool good = true; good && seen < 6; seen += good) {
        bool is_fact = seen == 0 || seen == 5, is_noise = seen == 1 || seen == 3;
        const void *wanted = is_fact ? (const void *)fact : is_noise ? noise : zeros;
        size_t size = is_fact ? sizeof fact : is_noise ? sizeof noise : sizeof zeros;
        uint64_t length = size;
        if (is_fact)
            good = rf_contents_get(reader, got, size);
        else
            good =
                rf_contents_block_size(reader, &length) && rf_contents_get_block(reader, got, size);
        assert_true(length == size);
        if (good)
            assert_memory_equal(got, wanted, size);
    }
    if (seen == 6)
        assert_false(rf_contents_get(reader, got, 1));
    *error = *rf_contents_reader_error(reader);
    /* Once stopped, it stays so. */
    assert_false(rf_contents_get(reader, got, 1));
    rf_contents_reader_close(reader);
    return seen;
}

static int expect_damage(const struct fixture *fixture) {
    struct rf_error error;
    int seen = read_prepared(fixture, &error);
    assert_int_equal(error.code, RF_EXIT_TRACE);
    assert_non_null(strstr(error.text, "rank-0.contents"));
    assert_non_null(strstr(error.text, "byte"));
    return seen;
}

static void expect_prepared(const struct fixture *fixture) {
    struct rf_error error;
    int seen = read_prepared(fixture, &error);
    if (error.text[0])
        fail_msg("%s", error.text);
    assert_int_equal(seen, 6);
}

static void damaged_files_are_noticed(void **unused) {
    (void)unused;
    for (int killed = 0; killed < 2; killed++) {
        struct fixture fixture;
        prepare(&fixture, killed);
        assert_true(fixture.file_bytes < 2000);
        expect_prepared(&fixture);
        int most = 0;
        for (size_t at = 0; at < fixture.file_bytes; at++) {
            testing_poke(fixture.path, at, fixture.file[at] ^ (uint8_t)(1u << at * 5 % 8));
            int seen = expect_damage(&fixture);
            most = seen > most ? seen : most;
            testing_poke(fixture.path, at, fixture.file[at]);
        }
        /* The last chunk is of no use to the first puts. */
        assert_true(most >= 2);
        most = 0;
        for (size_t bytes = 0; bytes < fixture.file_bytes; bytes++) {
            testing_save(fixture.path, fixture.file, bytes);
            int seen = expect_damage(&fixture);
            assert_true(seen >= most);
            most = seen;
        }
        assert_true(most >= 2);
        finish(&fixture);
    }
}

static void bytes_after_the_end_are_noticed(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, false);
    uint8_t *longer = malloc(fixture.file_bytes + 1);
    assert_non_null(longer);
    memcpy(longer, fixture.file, fixture.file_bytes);
    longer[fixture.file_bytes] = 0;
    testing_save(fixture.path, longer, fixture.file_bytes + 1);
    free(longer);
    assert_int_equal(expect_damage(&fixture), 6);
    finish(&fixture);
}

static void damaged_tails_are_noticed(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, true);
    const struct rf_contents_tail *tail = (const void *)fixture.tail;
    uint64_t number;
    assert_true(rf_unseal(tail->number, &number) && number == 2);
    size_t used = (tail->committed & 0xffffffffffffu) - number * CHUNK;
    for (size_t at = 0; at < HEAD + used; at += at < HEAD || at > HEAD + used - 50 ? 1 : 4999) {
        if (at == offsetof(struct rf_contents_tail, reason))
            at = HEAD; /* there is none */
        testing_poke(fixture.tail_path, at, fixture.tail[at] ^ (uint8_t)(1u << at * 5 % 8));
        int seen = expect_damage(&fixture);
        /* What the file has is there, unless the length itself is in doubt. */
        if (at < offsetof(struct rf_contents_tail, number) || at >= HEAD)
            assert_int_equal(seen, 2);
        testing_poke(fixture.tail_path, at, fixture.tail[at]);
    }
    for (size_t bytes = 0; bytes < fixture.tail_bytes;
         bytes += bytes < HEAD + 20                                 ? 1
                  : bytes > HEAD + used - 20 && bytes < HEAD + used ? 1
                                                                    : 4999) {
        testing_save(fixture.tail_path, fixture.tail, bytes);
        if (bytes < HEAD + used)
            assert_int_equal(expect_damage(&fixture), 2);
        else
            expect_prepared(&fixture);
    }
    unlink(fixture.tail_path);
    assert_int_equal(expect_damage(&fixture), 2);
    finish(&fixture);
}

/* Between the last chunk and the removal of the tail, both are there; and a tail that does not
   belong to the file is as none. */
static void whole_files_need_no_tail(void **unused) {
    (void)unused;
    struct fixture fixture, other;
    prepare(&fixture, true);
    prepare(&other, false);
    testing_save(other.tail_path, fixture.tail, fixture.tail_bytes);
    expect_prepared(&other);
    testing_save(other.tail_path, "garbage", 7);
    expect_prepared(&other);
    finish(&other);
    struct rf_contents_writer *writer = create(&fixture);
    rf_contents_put(writer, fact, sizeof fact);
    rf_contents_put_block(writer, noise, sizeof noise);
    rf_contents_put_block(writer, zeros, sizeof zeros);
    rf_contents_put_block(writer, noise, sizeof noise);
    rf_contents_put_block(writer, zeros, sizeof zeros);
    rf_contents_put(writer, fact, sizeof fact);
    size_t tail_bytes, file_bytes;
    uint8_t *tail = testing_load(fixture.tail_path, &tail_bytes);
    close_well(writer);
    uint8_t *file = testing_load(fixture.path, &file_bytes);
    testing_save(fixture.tail_path, tail, tail_bytes);
    expect_prepared(&fixture);
    /* The chunk that the tail has may be torn at any place. */
    for (size_t bytes = fixture.file_bytes; bytes < file_bytes; bytes++) {
        testing_save(fixture.path, file, bytes);
        expect_prepared(&fixture);
    }
    free(tail);
    free(file);
    finish(&fixture);
}

static void expect_refusal(const struct fixture *fixture, const char *text) {
    struct rf_error error = {0};
    assert_null(rf_contents_open(fixture->path, &error));
    assert_int_equal(error.code, RF_EXIT_TRACE);
    assert_non_null(strstr(error.text, fixture->path));
    if (!strstr(error.text, text))
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

static void other_files_are_refused(void **unused) {
    (void)unused;
    struct fixture fixture;
    prepare(&fixture, false);
    struct rf_contents_head head;
    memcpy(&head, fixture.file, sizeof head);
    head.version = RF_CONTENTS_VERSION + 1;
    testing_save(fixture.path, &head, sizeof head);
    expect_refusal(&fixture, "newer Refrain (format 2, this one reads up to 1), or");
    head.check = XXH3_64bits(&head, offsetof(struct rf_contents_head, check));
    testing_save(fixture.path, &head, sizeof head);
    expect_refusal(&fixture, "was written by a newer Refrain (format 2, this one reads up to 1)");
    testing_save(fixture.path, "\177ELF................................", 36);
    expect_refusal(&fixture, "is not a file of contents");
    testing_save(fixture.path, "", 0);
    expect_refusal(&fixture, "cut off at byte 0");
    unlink(fixture.path);
    expect_refusal(&fixture, "cannot open it: No such file");
    assert_int_equal(mkdir(fixture.path, 0777), 0);
    expect_refusal(&fixture, "is not a regular file");
    rmdir(fixture.path);
    finish(&fixture);
}

/* What the checksums cannot notice: the caller asks for something else than was put, or the writer
   was wrong. */
static void what_is_no_block_is_refused(void **unused) {
    (void)unused;
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } wrong[] = {
        {{0x80, 1}, 2},                                                /* 64 bytes */
        {{0x81, 1, 8}, 3},                                             /* 64 from 8 back */
        {{3, 200, 1}, 3},                                              /* 1 from 200 back */
        {{3, 0}, 2},                                                   /* 1 from here */
        {{0x80, 0x80, 0x80}, 3},                                       /* a cut number */
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 10},        /* the longest */
        {{254, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 10},        /* the longest */
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 11}, /* no end */
        {{3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 11},     /* far back */
    };
    for (size_t i = 0; i < 2 * sizeof wrong / sizeof *wrong; i++) {
        struct fixture fixture;
        uint8_t got[64];
        uint64_t size = 0;
        begin(&fixture);
        struct rf_contents_writer *writer = create(&fixture);
        rf_contents_put(writer, "0123456789", 10);
        rf_contents_put(writer, wrong[i / 2].bytes, wrong[i / 2].size);
        close_well(writer);
        struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
        assert_non_null(reader);
        assert_true(rf_contents_get(reader, got, 10));
        assert_false(i % 2 ? rf_contents_get_block(reader, got, 64)
                           : rf_contents_block_size(reader, &size));
        assert_int_equal(rf_contents_reader_error(reader)->code, RF_EXIT_TRACE);
        assert_non_null(strstr(rf_contents_reader_error(reader)->text, "at byte 10 of"));
        rf_contents_reader_close(reader);
        finish(&fixture);
    }
    struct fixture fixture;
    uint8_t got[64];
    begin(&fixture);
    struct rf_contents_writer *writer = create(&fixture);
    rf_contents_put_block(writer, "0123456789", 10);
    close_well(writer);
    struct rf_contents_reader *reader = rf_contents_open(fixture.path, NULL);
    assert_non_null(reader);
    assert_false(rf_contents_get_block(reader, got, 9));
    assert_non_null(strstr(rf_contents_reader_error(reader)->text, "another length"));
    rf_contents_reader_close(reader);
    finish(&fixture);
}

static void without_zstd_it_says_so(void **unused) {
    (void)unused;
    struct fixture fixture;
    struct rf_error error;
    prepare(&fixture, false);
    without_zstd = true;
    assert_int_equal(read_prepared(&fixture, &error), 0);
    without_zstd = false;
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    assert_non_null(strstr(error.text, "libzstd.so.1"));
    finish(&fixture);
}

/* ---- full disks --------------------------------------------------------------------------- */

/* Puts until long after the disk is full; the plan's count becomes that of the puts kept. */
static void fill_disk(struct rf_contents_writer *writer, struct plan *plan, const char *reason) {
    uint8_t *room = malloc(plan->largest + 4);
    assert_non_null(room);
    struct rf_error error = {0};
    uint64_t i = 0, limit = plan->count;
    for (plan->count = 0; i < limit; i++) {
        put_one(writer, plan, i, room);
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

static void expect_cut(const struct fixture *fixture, const struct plan *plan, const char *reason) {
    struct rf_error error = {0};
    assert_true(compare(fixture->path, plan, &error) == plan->count);
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
        struct fixture fixture;
        begin(&fixture);
        /* With large puts, what is not kept as a whole has left chunks behind. */
        struct plan plan = {.seed = 9, .largest = large ? 6 * CHUNK : 20000, .count = 2000};
        if (large)
            plan.count = 100;
        struct rf_contents_writer *writer = create(&fixture);
        limit_files(3000000, &before);
        fill_disk(writer, &plan, strerror(EFBIG));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        expect_cut(&fixture, &plan, strerror(EFBIG));
        /* The reason is checked too. */
        size_t at = offsetof(struct rf_contents_tail, reason) + 3;
        testing_poke(fixture.tail_path, at, 'X');
        struct rf_error error = {0};
        assert_true(compare(fixture.path, &plan, &error) == plan.count);
        assert_non_null(strstr(error.text, "is damaged at byte"));
        finish(&fixture);
    }
}

static void without_room_for_the_end_the_tail_stays(void **unused) {
    (void)unused;
    struct fixture fixture;
    struct rlimit before;
    begin(&fixture);
    struct plan plan = {.seed = 11, .largest = 3000, .count = 100};
    uint8_t room[3004];
    struct rf_contents_writer *writer = create(&fixture);
    for (uint64_t i = 0; i < plan.count; i++)
        put_one(writer, &plan, i, room);
    limit_files(1000, &before);
    close_well(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(access(fixture.tail_path, F_OK), 0);
    expect_whole(fixture.path, &plan);
    finish(&fixture);
}

static void creating_without_room_leaves_nothing(void **unused) {
    (void)unused;
    struct fixture fixture;
    struct rlimit before;
    for (rlim_t bytes = 10; bytes < 100000; bytes *= 100) {
        begin(&fixture);
        struct rf_error error = {0};
        limit_files(bytes, &before);
        assert_null(rf_contents_create(fixture.path, &error));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
        assert_non_null(strstr(error.text, "rank-0.contents"));
        assert_int_equal(rmdir(fixture.directory), 0);
    }
    struct rf_error error = {0};
    assert_null(rf_contents_create("/nowhere/rank-0.contents", &error));
    assert_int_equal(error.code, RF_EXIT_ENVIRONMENT);
    char path[5000];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    assert_null(rf_contents_create(path, &error));
    assert_null(rf_contents_open(path, &error));
    assert_non_null(strstr(error.text, "too long"));
}

static void full_disks_are_survived(void **unused) {
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    if (mount("none", fixture.directory, "tmpfs", 0, "size=4m")) {
        rmdir(fixture.directory);
        print_message("no small file system to be had here\n");
        skip();
    }
    struct plan plan = {.seed = 10, .largest = CHUNK, .count = 300};
    struct rf_contents_writer *writer = create(&fixture);
    fill_disk(writer, &plan, strerror(ENOSPC));
    expect_cut(&fixture, &plan, strerror(ENOSPC));
    umount(fixture.directory);
    rmdir(fixture.directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(borders_are_no_obstacle),
        cmocka_unit_test(equal_blocks_are_stored_once),
        cmocka_unit_test(what_can_be_compressed_is),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(every_step_is_read),
        cmocka_unit_test(damaged_files_are_noticed),
        cmocka_unit_test(bytes_after_the_end_are_noticed),
        cmocka_unit_test(damaged_tails_are_noticed),
        cmocka_unit_test(whole_files_need_no_tail),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(what_is_no_block_is_refused),
        cmocka_unit_test(without_zstd_it_says_so),
        cmocka_unit_test(file_size_limits_are_survived),
        cmocka_unit_test(without_room_for_the_end_the_tail_stays),
        cmocka_unit_test(creating_without_room_leaves_nothing),
        cmocka_unit_test(full_disks_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
