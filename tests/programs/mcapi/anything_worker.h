/* For anything.c: what is planned, who works, and the requests that a worker has. */
#ifndef ANYTHING_WORKER_H
#define ANYTHING_WORKER_H

#include <mcapix.h>

#define OBSERVE_STORAGE _Thread_local
#define OBSERVE_WHO "node"
#include "nodes.h"
#include "observe.h"

#include <stdbool.h>

enum {
    WORKERS_MOST = 8,
    THREADS_MOST = 2,
    PORTS = 2,         /* of each worker, for the messages that are planned */
    CHANNELS = 3,      /* at most, in a round */
    PENDING_MOST = 12, /* requests of a worker */
    SPARE_MOST = 2,
    ROOM = 1500,
    LATE_US = 3000,
    /* ports: those for planned messages come first */
    SPARE_PORT = 20, /* for messages that nobody counts */
    CHANNEL_PORT = 30,
    MEETING_PORT = 40,
    PORTS_OF_A_THREAD = 50,
};

static struct {
    uint64_t seed;
    int nodes, threads, workers, rounds, epochs;
    bool remake, narrow;
} plan = {.threads = 1, .epochs = 1};

/* What is nearly the same gives quite another number. */
static unsigned scatter(uint64_t seed, const void *data, size_t size) {
    uint64_t hash = observe_mix(seed, data, size);
    for (int i = 0; i < 2; i++)
        hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (unsigned)(hash >> 33);
}

/* ---- what is planned: the same number for whoever asks the same ---- */

enum question { NODES, TALK, REMAKE, MEET, KIND, FROM, TO, CONNECTS, COUNT, EARLY, WIDTH };

static unsigned planned(enum question what, int round, int one, int other) {
    const int words[] = {(int)what, round, one, other};
    return scatter(plan.seed, words, sizeof words);
}

static int talk(int round, int from, int to, int port) {
    unsigned number = planned(TALK, round, from * WORKERS_MOST + to, port);
    return number % 3 ? 0 : (int)(number / 3 % (plan.narrow ? 12 : 5));
}
static bool is_remade(int round, int worker, int port) {
    return plan.remake && planned(REMAKE, round, worker, port) % 3 == 0;
}
static int channels(int round) {
    return (int)planned(KIND, round, -1, 0) % (CHANNELS + 1);
}
/* Who is fast may be a round ahead, unless queues are short or names mean something else then. */
static bool do_meet(int round) {
    return plan.remake || plan.narrow || channels(round) || channels(round + 1) ||
           planned(MEET, round, 0, 0) % 2;
}

/* ---- a worker: a thread of a node ---- */

enum kind { RECEIVE, SPARE, PACKET, FOUND, OPENED, AT_ONCE };

struct pending {
    enum kind kind;
    int place; /* port, or channel, or who was looked for */
    mcapi_request_t request;
    unsigned char data[ROOM];
    size_t room;
    mcapi_endpoint_t found;
    void *packet;
};

enum state { CLOSED, OPENING, OPEN, OVER };

struct channel {
    bool scalars, sends, receives, connects;
    int count, limit; /* the receiver closes it then */
    mcapi_endpoint_t ends[2];
    enum state state;
    uint64_t handle;
    int done, posted;
};

static _Thread_local struct {
    int number, node, thread, epoch, round;
    uint64_t choices;
    mcapi_endpoint_t own[PORTS], spare, meeting, ends[CHANNELS];
    mcapi_endpoint_t others[WORKERS_MOST][PORTS], spares[WORKERS_MOST];
    int owed[WORKERS_MOST][PORTS], missing[PORTS], posted[PORTS], spare_posted;
    struct channel channels[CHANNELS];
    struct pending *pending[PENDING_MOST];
    int count; /* of them */
} me;

/* Depends on the seed, the worker, and all that it has seen. */
static unsigned choose(unsigned below) {
    me.choices++;
    return scatter(observer.hash, &me.choices, sizeof me.choices) % below;
}

static void be_late(void) {
    const char *late = getenv("PROGRAM_LATE");
    dawdle();
    if (late && atoi(late) == me.node && observer.random % 8 == 0)
        usleep(LATE_US);
}

static void fail(const char *what, mcapi_status_t status) {
    char text[MCAPI_MAX_STATUS_SIZE];
    fprintf(stderr, "worker %d, round %d: %s: %s\n", me.number, me.round, what,
            mcapi_display_status(status, text, sizeof text));
    abort();
}

/* What a call has told, which is one of these or success. */
static bool told(const char *what, mcapi_status_t status, mcapi_status_t one, mcapi_status_t two,
                 mcapi_status_t three) {
    observe(what, (long)status);
    if (status != MCAPI_SUCCESS && status != one && status != two && status != three &&
        status != MCAPI_ERR_REQUEST_LIMIT)
        fail(what, status);
    return status == MCAPI_SUCCESS;
}

static mcapi_node_t node_of(int worker) {
    return (mcapi_node_t)(worker / plan.threads + me.epoch * 10);
}
static mcapi_port_t port_of(int worker, int port) {
    return (mcapi_port_t)(worker % plan.threads * PORTS_OF_A_THREAD + port);
}

static bool has_made_all(void) {
    bool all = me.spare != 0;
    for (int i = 0; i < PORTS; i++)
        all = all && me.own[i];
    for (int i = 0; i < channels(me.round); i++)
        all = all && (me.ends[i] || !(me.channels[i].sends || me.channels[i].receives));
    return all;
}

/* Nobody waits for me. */
static bool owes_nothing(void) {
    for (int i = 0; i < plan.workers * PORTS; i++)
        if (me.owed[i / PORTS][i % PORTS])
            return false;
    for (int i = 0; i < channels(me.round); i++) {
        const struct channel *channel = &me.channels[i];
        if (channel->connects || (channel->receives && channel->state == CLOSED) ||
            (channel->sends && channel->state != OVER))
            return false;
    }
    return has_made_all();
}

static bool is_over(void) {
    for (int i = 0; i < PORTS; i++)
        if (me.missing[i])
            return false;
    for (int i = 0; i < channels(me.round); i++)
        if (me.channels[i].receives && me.channels[i].state != OVER)
            return false;
    return owes_nothing();
}

static mcapi_timeout_t some_time(bool sure) {
    return sure && owes_nothing() && choose(2) ? MCAPI_TIMEOUT_INFINITE : choose(3);
}

/* ---- requests ---- */

static struct pending *new_pending(enum kind kind, int place) {
    if (me.count == PENDING_MOST)
        return NULL;
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending)
        abort();
    pending->kind = kind;
    pending->place = place;
    pending->room = choose(4) ? ROOM : choose(40);
    return pending;
}

static void keep_pending(struct pending *pending, mcapi_status_t status) {
    if (status == MCAPI_PENDING || status == MCAPI_SUCCESS)
        me.pending[me.count++] = pending;
    else
        free(pending);
}

static void drop_pending(int index) {
    free(me.pending[index]);
    me.pending[index] = me.pending[--me.count];
}

static void take_packet(void *packet, size_t size) {
    mcapi_status_t status;
    observe_data("packet", packet, size);
    if (choose(4) == 0)
        observe("release_test", mcapi_pktchan_release_test(packet, &status));
    mcapi_pktchan_release(packet, &status);
    told("release", status, 0, 0, 0);
    if (choose(8) == 0) {
        mcapi_pktchan_release((char *)packet + 1, &status);
        observe("release", (long)status);
    }
}

static void has_come(const struct pending *pending, size_t size) {
    observe("size", (long)size);
    switch (pending->kind) {
    case RECEIVE:
    case SPARE:
        observe_data("message", pending->data, size);
        me.missing[pending->place] -= pending->kind == RECEIVE;
        break;
    case PACKET:
        take_packet(pending->packet, size);
        me.channels[pending->place].done++;
        break;
    case FOUND:
        me.others[pending->place / PORTS][pending->place % PORTS] = pending->found;
        break;
    case OPENED:
        me.channels[pending->place].state = OPEN;
        break;
    case AT_ONCE:
        break;
    }
}

/* It is complete, or cancelled. */
static void has_ended(int index, size_t size, mcapi_status_t status) {
    struct pending *pending = me.pending[index];
    me.posted[pending->kind == RECEIVE ? pending->place : 0] -= pending->kind == RECEIVE;
    me.spare_posted -= pending->kind == SPARE;
    me.channels[pending->kind == PACKET ? pending->place : 0].posted -= pending->kind == PACKET;
    if (status == MCAPI_SUCCESS || status == MCAPI_ERR_MSG_TRUNCATED)
        has_come(pending, size);
    else if (pending->kind == OPENED)
        me.channels[pending->place].state = CLOSED;
    drop_pending(index);
}

/* Whom nobody owes anything may be gone before he is found. */
static bool is_sure(const struct pending *pending) {
    return pending->kind != SPARE && pending->kind != FOUND;
}

/* What was complete at once may be gone, if there were too few requests. */
static bool is_gone(mcapi_status_t status) {
    if (status != MCAPI_ERR_REQUEST_INVALID)
        return false;
    int before = me.count;
    for (int i = me.count - 1; i >= 0; i--)
        if (me.pending[i]->kind == AT_ONCE)
            drop_pending(i);
    if (me.count == before)
        fail("no such request", status);
    observe("gone", before - me.count);
    return true;
}

static void ended(const char *what, mcapi_status_t status, mcapi_status_t not_yet) {
    if (status == MCAPI_ERR_MSG_TRUNCATED)
        observe(what, (long)status);
    else
        told(what, status, not_yet, MCAPI_ERR_ENDP_DELETED, MCAPI_ERR_CHAN_NOTOPEN);
}

static void test_one(void) {
    mcapi_status_t status, again;
    size_t size = 0;
    if (!me.count)
        return;
    int index = (int)choose((unsigned)me.count);
    mcapi_request_t request = me.pending[index]->request;
    bool done = mcapi_test(&request, &size, &status);
    if (is_gone(status))
        return;
    ended("test", status, MCAPI_PENDING);
    if (!done)
        return;
    /* It is there still. */
    if (choose(4) == 0) {
        mcapi_cancel(&request, &again);
        observe("cancel", (long)again);
    }
    if (choose(3) == 0) {
        mcapi_test(&request, &size, &again);
        observe("test", (long)again);
    }
    has_ended(index, size, status);
}

static void wait_one(void) {
    mcapi_status_t status;
    size_t size = 0;
    if (!me.count)
        return;
    int index = (int)choose((unsigned)me.count);
    mcapi_timeout_t time = some_time(is_sure(me.pending[index]));
    bool done = mcapi_wait(&me.pending[index]->request, &size, time, &status);
    if (is_gone(status))
        return;
    ended("wait", status, MCAPI_TIMEOUT);
    if (done)
        has_ended(index, size, status);
}

static void wait_for_any(void) {
    mcapi_request_t *requests[PENDING_MOST];
    mcapi_status_t status;
    size_t size = 0;
    bool sure = false;
    if (!me.count)
        return;
    unsigned number = 1 + choose((unsigned)me.count), first = choose((unsigned)me.count);
    for (unsigned i = 0; i < number; i++) {
        struct pending *pending = me.pending[(first + i) % (unsigned)me.count];
        requests[i] = &pending->request;
        sure = sure || is_sure(pending);
    }
    unsigned index = mcapi_wait_any(number, requests, &size, some_time(sure), &status);
    observe("index", (long)index);
    if (is_gone(status))
        return;
    ended("wait_any", status, MCAPI_TIMEOUT);
    if (index < number)
        has_ended((int)((first + index) % (unsigned)me.count), size, status);
}

static void cancel_one(void) {
    mcapi_status_t status;
    size_t size = 0;
    if (!me.count || choose(3))
        return;
    int index = (int)choose((unsigned)me.count);
    mcapi_request_t request = me.pending[index]->request;
    mcapi_cancel(&request, &status);
    if (!told("cancel", status, MCAPI_ERR_REQUEST_INVALID, 0, 0))
        return;
    if (choose(2)) {
        mcapi_wait(&request, &size, some_time(true), &status);
        observe("wait", (long)status);
    }
    has_ended(index, 0, MCAPI_ERR_REQUEST_CANCELLED);
}

#endif
