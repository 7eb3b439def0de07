#include "mcapi/lines.h"

#include <time.h>

#include "mcapi/adapter.h"

/* Only Refrain's own runtime tells numbers. In any other, messages are told apart by what they say.
 */
static bool are_numbered(void) {
    return rf_reals.watch_sends && rf_reals.origin;
}

/* Replay: this thread waited for its turn. */
static _Thread_local bool awaited __attribute__((tls_model("initial-exec")));

/* ---- record ---- */

/* The call that this thread is making. */
static _Thread_local struct {
    struct rf_mcapi_node *node; /* NULL: none that is numbered */
    struct rf_here here;
    enum rf_line line;
    uint64_t key;
} call __attribute__((tls_model("initial-exec")));

static void note(uint64_t sequence) {
    uint32_t number = (uint32_t)sequence;
    uint32_t *next = rf_value_of(&rf_this_thread->lines[call.line], call.key, 0);
    if (number != *next)
        (call.line == RF_LINE_PACKETS ? rf_number : rf_value)(call.node, &call.here,
                                                              (int32_t)(number - *next));
    *next = number + 1;
    rf_link->step();
}

/* The library calls it. What is sent has its number in the recording before anybody receives it: of
   a process that is killed it is known what its threads had sent, and in which order. */
static void note_sent(uint64_t sequence) {
    if (call.node && call.line < RF_LINE_RECEIVED)
        note(sequence);
}

void rf_lines_open(const struct rf_mcapi_node *node) {
    if (rf_recording(node) && are_numbered())
        rf_reals.watch_sends(note_sent);
}

/* ---- replay ---- */

/* How many have gone in this replay, of all threads. */
static uint32_t gone(struct rf_mcapi_node *node, enum rf_line line, uint64_t key) {
    rf_lock(&node->tables);
    uint32_t now = *rf_value_of(&node->lines[line], key, 0);
    rf_unlock(&node->tables);
    return now;
}

static bool is_in(const struct rf_mcapi_thread *thread, enum rf_in_line_how how, enum rf_line line,
                  uint64_t key) {
    const struct rf_in_line *in = &thread->in_line;
    return in->how == how && in->line == line && in->key == key;
}

static void nap(long nanoseconds) {
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

/* Past the end of the recording. A thread of the node may still wait for its number: one that was
   killed while it had the number before has left no trace of that. It is its turn after so many,
   and then nobody else comes first. */
static void give_way(struct rf_mcapi_node *node, enum rf_line line, uint64_t key) {
    for (bool due = true; due;) {
        rf_lock(&node->tables);
        uint32_t next = *rf_value_of(&node->lines[line], key, 0);
        const struct rf_mcapi_thread *thread;
        for (thread = node->threads; thread; thread = thread->next)
            next += is_in(thread, RF_IN_LINE_FREE, line, key);
        for (thread = node->threads, due = false; thread && !due; thread = thread->next)
            due = is_in(thread, RF_IN_LINE_DUE, line, key) && thread->in_line.number == next;
        if (!due)
            rf_this_thread->in_line =
                (struct rf_in_line){.how = RF_IN_LINE_FREE, .line = line, .key = key};
        rf_unlock(&node->tables);
        if (due)
            nap(200000);
    }
}

static void wait_for_number(struct rf_mcapi_node *node, const struct rf_here *here,
                            enum rf_line line, uint64_t key) {
    struct rf_session *session = &node->session;
    uint32_t *next = rf_value_of(&rf_this_thread->lines[line], key, 0);
    uint32_t number = *next;
    if (rf_has_value(node, here))
        number += (uint32_t)rf_value(node, here, 0);
    *next = number + 1;
    rf_lock(&node->tables);
    rf_this_thread->in_line = (struct rf_in_line){RF_IN_LINE_DUE, line, key, number};
    rf_unlock(&node->tables);
    uint32_t now = gone(node, line, key);
    if (now != number)
        rf_progress_wait(&session->replayer, here, RF_NO_PEER, RF_NO_PEER);
    __atomic_fetch_add(&node->waiting[line], 1, __ATOMIC_RELAXED);
    for (int looks = 0; (int32_t)(number - now) > 0; looks++) {
        nap(looks < 100 ? 10000 : 200000);
        now = gone(node, line, key);
    }
    __atomic_fetch_sub(&node->waiting[line], 1, __ATOMIC_RELAXED);
    if (now != number)
        rf_diverge(session, here, rf_replay_peek(session), NULL,
                   "%u went this way before, recorded were %u", now, number);
}

/* The recording was cut off before this: others come to their ends first. Only what was received
   and not yet written down when the process was killed is missing to them: if they wait for what
   comes after it, and nobody gets on, it was this thread that had it. */
static void wait_at_cut(struct rf_mcapi_node *node, const struct rf_here *here, enum rf_line line,
                        uint64_t key) {
    uint32_t before = gone(node, line, key);
    rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    for (int still = 0; still < 1000; still++) {
        rf_replay_peek(&node->session); /* so that it is known whether there is a recording yet */
        if (rf_free(node))
            return;
        nap(1000000);
        uint32_t now = gone(node, line, key);
        bool receives = line == RF_LINE_RECEIVED || line == RF_LINE_PACKETS;
        if (now != before || !receives || !__atomic_load_n(&node->waiting[line], __ATOMIC_RELAXED))
            still = 0;
        before = now;
    }
}

/* ---- both ---- */

void rf_line_wait(struct rf_mcapi_node *node, const struct rf_here *here, enum rf_line line,
                  uint64_t key) {
    awaited = are_numbered() && !rf_recording(node) && !rf_fails(node, here);
    if (rf_recording(node)) {
        call.node = are_numbered() ? node : NULL;
        call.here = *here;
        call.line = line;
        call.key = key;
    } else if (awaited) {
        bool recorded = rf_link->await(here->name, here->address) || rf_free(node) ||
                        rf_has_value(node, here) || rf_has_number(node, here);
        if (!recorded)
            wait_at_cut(node, here, line, key);
        if (!recorded || rf_free(node))
            give_way(node, line, key);
        else if (line != RF_LINE_PACKETS)
            wait_for_number(node, here, line, key);
    }
}

void rf_line_went(struct rf_mcapi_node *node, enum rf_line line, uint64_t key,
                  mcapi_status_t status) {
    struct mcapix_origin origin;
    bool done = !rf_is_failure(status);
    if (!rf_recording(node) && awaited) {
        rf_lock(&node->tables);
        *rf_value_of(&node->lines[line], key, 0) += done;
        rf_this_thread->in_line.how = RF_IN_NO_LINE;
        rf_unlock(&node->tables);
        if (done)
            rf_link->played();
    } else if (call.node && line >= RF_LINE_RECEIVED && status == MCAPI_SUCCESS &&
               rf_reals.origin(&origin)) {
        note(origin.sequence);
    }
    call.node = NULL;
}
