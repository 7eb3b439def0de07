#include "mcapi/turns.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mcapi/adapter.h"
#include "trace/trace_file.h"

enum {
    LOOKS = 20,              /* before sleeping */
    HELD_MS = 50,            /* a turn that is held longer is passed on by those who wait */
    FIRST_SLEEP_NS = 300000, /* if nobody wakes it */
    LONGEST_SLEEP_NS = 5000000,
    READY = RF_TURN_SENT | RF_TURN_POSTED,
    PIECE = 16384 /* turns */
};

/* ---- the files ---- */

/* One for all nodes of this process. */
static struct rf_turns *map_shared(const char *run) {
    static struct rf_turns *shared;
    static int lock;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/turns", run);
    int file = -1;
    struct stat facts;
    void *memory = MAP_FAILED;
    rf_lock(&lock);
    if (!shared)
        file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size > 0)
        memory = mmap(NULL, (size_t)facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (memory != MAP_FAILED)
        shared = memory;
    rf_unlock(&lock);
    return shared;
}

static void begin_stream(struct rf_turn_stream *stream, uint64_t *at, uint64_t bytes) {
    *stream = (struct rf_turn_stream){.at = *at, .end = *at + bytes};
    *at += bytes;
}

/* The pairs are read at once: there are few. */
static bool read_head(struct rf_turn_list *list) {
    struct rf_turns_of_node head;
    if (rf_read_at(list->file, &head, sizeof head, 0) != sizeof head)
        return false;
    size_t pairs = head.pairs * sizeof *list->pairs;
    list->pairs = rf_room(NULL, pairs);
    list->pair_count = head.pairs;
    uint64_t at = sizeof head + pairs;
    begin_stream(&list->posts, &at, head.posts * sizeof(uint32_t));
    begin_stream(&list->receives, &at, head.receives * sizeof(uint32_t));
    list->sends = at;
    return rf_read_at(list->file, list->pairs, pairs, sizeof head) == pairs;
}

bool rf_turns_open(struct rf_mcapi_node *node, const char *run, struct rf_error *error) {
    struct rf_turn_list *list = &node->turns;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/turns-%d", run ? run : "", node->number);
    list->held = RF_NO_TURN;
    list->file = open(path, O_RDONLY | O_CLOEXEC);
    list->shared = list->file >= 0 && read_head(list) ? map_shared(run) : NULL;
    return list->shared ||
           rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: the order of deliveries is missing", path);
}

void rf_turns_close(struct rf_mcapi_node *node) {
    struct rf_turn_list *list = &node->turns;
    if (!list->shared)
        return;
    rf_turn_pass(node);
    close(list->file);
    free(list->pairs);
    *list = (struct rf_turn_list){0};
}

/* The next `words` of a list without taking them; NULL at its end. */
static const uint32_t *peek(struct rf_mcapi_node *node, struct rf_turn_stream *stream,
                            uint32_t words) {
    if (stream->next == stream->filled) {
        uint64_t left = stream->end - stream->at;
        size_t bytes = left < sizeof stream->window ? (size_t)left : sizeof stream->window;
        if (rf_read_at(node->turns.file, stream->window, bytes, stream->at) != bytes)
            rf_diverge(&node->session, NULL, NULL, NULL, "the order of deliveries cannot be read");
        stream->at += bytes;
        stream->next = 0;
        stream->filled = (uint32_t)(bytes / sizeof *stream->window);
    }
    return stream->filled - stream->next < words ? NULL : &stream->window[stream->next];
}

static uint32_t next_turn(struct rf_mcapi_node *node, struct rf_turn_stream *stream) {
    const uint32_t *turn = peek(node, stream, 1);
    stream->next += turn != NULL;
    return turn ? *turn : RF_NO_TURN;
}

/* ---- whose turn it is ---- */

/* Wakes the receiver of that delivery: it alone can go on now. */
static void wake(struct rf_turns *shared, uint32_t turn) {
    if (turn >= shared->count ||
        !(__atomic_load_n(&shared->states[turn], __ATOMIC_SEQ_CST) & RF_TURN_ASLEEP))
        return;
    __atomic_fetch_and(&shared->states[turn], ~(uint32_t)RF_TURN_ASLEEP, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &shared->states[turn], FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* What is through is looked at no more, or hardly: it need not stay in memory. */
static void forget_before(struct rf_turns *shared, uint32_t turn) {
    static uint32_t forgotten; /* pieces */
    uint32_t pieces = turn / PIECE, before = __atomic_load_n(&forgotten, __ATOMIC_RELAXED);
    if (__builtin_expect(pieces <= before, 1) ||
        !__atomic_compare_exchange_n(&forgotten, &before, pieces, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    const size_t piece = PIECE * sizeof *shared->states;
    madvise((char *)shared + before * piece, (pieces - before) * piece, MADV_DONTNEED);
}

/* Lets through what can get through. One that is passed while its receiver sleeps wakes it, too. */
static void advance(struct rf_turns *shared) {
    for (;;) {
        uint32_t turn = __atomic_load_n(&shared->next, __ATOMIC_SEQ_CST);
        forget_before(shared, turn);
        if (turn >= shared->count)
            return;
        uint32_t state = __atomic_load_n(&shared->states[turn], __ATOMIC_SEQ_CST);
        if (!(state & RF_TURN_PASSED)) {
            if ((state & READY) != READY)
                return;
            if (state & RF_TURN_CLAIMED) {
                wake(shared, turn);
                return;
            }
            if (!__atomic_compare_exchange_n(&shared->states[turn], &state, state | RF_TURN_PASSED,
                                             false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                continue;
        }
        if (__atomic_compare_exchange_n(&shared->next, &turn, turn + 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            wake(shared, turn);
    }
}

static void mark(struct rf_turns *shared, uint32_t turn, uint32_t state) {
    if (turn == RF_NO_TURN || turn >= shared->count)
        return;
    __atomic_fetch_or(&shared->states[turn], state, __ATOMIC_SEQ_CST);
    advance(shared);
}

void rf_turn_pass(struct rf_mcapi_node *node) {
    struct rf_turn_list *list = &node->turns;
    if (!list->shared || list->held == RF_NO_TURN)
        return;
    uint32_t turn = list->held;
    list->held = RF_NO_TURN;
    mark(list->shared, turn, RF_TURN_PASSED);
}

static uint32_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* Is the thread waiting for something, or has it ended? One that only waits for a core is not. */
static bool is_asleep(uint32_t thread) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%u/stat", thread);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    const char *state = strrchr(text, ')');
    return !state || state[1] != ' ' || state[2] != 'R';
}

/* The program of the one whose turn it is may wait for something else than a call of MCAPI, and
   that for us. */
static void hurry(struct rf_turns *shared, uint32_t turn) {
    uint32_t state = __atomic_load_n(&shared->states[turn], __ATOMIC_SEQ_CST);
    if ((state & READY) == READY && is_asleep(state >> RF_TURN_BITS))
        mark(shared, turn, RF_TURN_PASSED);
}

static bool can_go(const struct rf_turns *shared, uint32_t turn) {
    uint32_t next = __atomic_load_n(&shared->next, __ATOMIC_SEQ_CST);
    return next > turn || (next == turn &&
                           __atomic_load_n(&shared->states[turn], __ATOMIC_SEQ_CST) & RF_TURN_SENT);
}

static void sleep_until_woken(struct rf_turns *shared, uint32_t turn, long nanoseconds) {
    uint32_t *word = &shared->states[turn];
    uint32_t state = __atomic_or_fetch(word, RF_TURN_ASLEEP, __ATOMIC_SEQ_CST);
    if (!can_go(shared, turn))
        syscall(SYS_futex, word, FUTEX_WAIT, state, &(struct timespec){.tv_nsec = nanoseconds},
                NULL, 0);
}

static uint32_t claim(const struct rf_mcapi_node *node) {
    return (uint32_t)node->thread << RF_TURN_BITS | RF_TURN_CLAIMED;
}

void rf_turn_take(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t turn) {
    struct rf_turns *shared = node->turns.shared;
    if (!shared || turn == RF_NO_TURN || turn >= shared->count)
        return;
    rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    /* If it went through before, nobody waits for us to pass it on. */
    if (__atomic_fetch_or(&shared->states[turn], claim(node), __ATOMIC_SEQ_CST) & RF_TURN_PASSED)
        return;
    uint32_t last = RF_NO_TURN, since = 0, looks = 0;
    long sleep = FIRST_SLEEP_NS;
    while (!can_go(shared, turn)) {
        uint32_t seen = __atomic_load_n(&shared->next, __ATOMIC_SEQ_CST);
        if (seen != last) {
            last = seen;
            since = now_ms();
            looks = 0;
        } else if (now_ms() - since >= HELD_MS && seen != turn) {
            hurry(shared, seen);
        }
        /* Whoever finds a full queue here may be the one that all wait for. */
        if (rf_hold_all(node))
            continue;
        if (looks++ < LOOKS) {
            sched_yield();
            continue;
        }
        sleep_until_woken(shared, turn, sleep);
        if (sleep < LONGEST_SLEEP_NS)
            sleep *= 2;
    }
    if (__atomic_load_n(&shared->next, __ATOMIC_SEQ_CST) > turn)
        return;
    node->turns.held = turn;
}

/* ---- what takes a turn ---- */

uint32_t rf_turn_post(struct rf_mcapi_node *node) {
    if (!node->turns.shared)
        return RF_NO_TURN;
    uint32_t turn = next_turn(node, &node->turns.posts);
    mark(node->turns.shared, turn, RF_TURN_POSTED);
    return turn;
}

uint32_t rf_turn_receive(struct rf_mcapi_node *node) {
    if (!node->turns.shared)
        return RF_NO_TURN;
    uint32_t turn = next_turn(node, &node->turns.receives);
    /* It waits already: the turn must not pass by. */
    mark(node->turns.shared, turn, RF_TURN_POSTED | claim(node));
    return turn;
}

void rf_turn_find(const struct rf_turn_list *list, struct rf_pair *pair, mcapi_port_t port,
                  mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t to_port) {
    for (uint32_t i = 0; i < list->pair_count; i++) {
        const struct rf_turn_pair *one = &list->pairs[i];
        uint64_t at = list->sends + one->first * sizeof(struct rf_turn_send);
        if (one->port == port && one->domain == domain && one->node == number &&
            one->to_port == to_port)
            begin_stream(&pair->sends, &at, one->count * sizeof(struct rf_turn_send));
    }
}

void rf_turn_sent(struct rf_mcapi_node *node, struct rf_pair *pair) {
    uint32_t sequence = __atomic_fetch_add(&pair->sent, 1, __ATOMIC_RELAXED);
    if (!node->turns.shared)
        return;
    const uint32_t *words = peek(node, &pair->sends, sizeof(struct rf_turn_send) / sizeof *words);
    struct rf_turn_send next;
    if (!words)
        return;
    memcpy(&next, words, sizeof next);
    if (next.sequence != sequence)
        return; /* nobody received it */
    pair->sends.next += sizeof next / sizeof *words;
    mark(node->turns.shared, next.turn, RF_TURN_SENT);
}
