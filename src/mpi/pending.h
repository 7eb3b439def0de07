/* Recording: the requests that have something to tell when they are complete. These are wildcard
   receives whose match is not known yet, in the order of their posts, the persistent ones that may
   be started again, and all requests that the program wants to cancel. Posting and completing are
   on the path of a call: they allocate only when the table doubles. */
#ifndef RF_MPI_PENDING_H
#define RF_MPI_PENDING_H

#include "engine/handle_map.h"
#include "engine/session.h"
#include "mpi/channels.h"

struct rf_link {
    struct rf_link *older, *newer;
};

enum rf_pending_state {
    RF_INACTIVE,  /* persistent, and not started */
    RF_UNMATCHED, /* linked; it has no match that we know of */
    RF_MATCHED,   /* its match is written down, or will never be known */
};

struct rf_pending_receive {
    struct rf_link link; /* in the ring of unknown matches; first, so that one leads to the other */
    uint64_t key;        /* of the request */
    struct rf_pending_receive *next; /* in its bucket, or among the unused */
    struct rf_post post;
    int source, tag; /* as the program asked, wildcards included */
    bool persistent; /* this, cancelling and claimed are false in the unused */
    uint8_t state;
    bool cancelling; /* whether the cancel won is not known yet */
    bool orphan;     /* the program has freed it, the library has not */
    bool claimed;    /* a thread is in a call that may complete it; see rf_pending_find() */
    struct rf_post cancel;
};

struct rf_pending {
    struct rf_pending_receive **buckets;
    struct rf_pending_receive *unused;
    uint32_t shift; /* 64 - log2(number of buckets) */
    uint32_t size;  /* receives there is room for, as many as buckets */
    uint32_t used;
    uint32_t orphans, orphans_limit; /* as many are looked through for complete ones */
    struct rf_link ring;             /* between the newest and the oldest of the unknown matches */
};

void rf_pending_open(struct rf_pending *pending);
bool rf_pending_grow(struct rf_pending *pending);

static inline bool rf_pending_any(const struct rf_pending *pending) {
    return pending->used != 0;
}

static inline bool rf_pending_unknown(const struct rf_pending *pending) {
    return pending->ring.newer != &pending->ring;
}

/* Where a receive hangs, or would. Only if there are any. */
RF_STEP struct rf_pending_receive **rf_pending_place(const struct rf_pending *pending,
                                                     MPI_Request request) {
    uint64_t key = rf_request_key(request);
    struct rf_pending_receive **place = &pending->buckets[rf_handle_hash(key) >> pending->shift];
    while (*place && (*place)->key != key)
        place = &(*place)->next;
    return place;
}

/* Where this one hangs. */
static inline struct rf_pending_receive **
rf_pending_place_of(const struct rf_pending *pending, const struct rf_pending_receive *receive) {
    struct rf_pending_receive **place =
        &pending->buckets[rf_handle_hash(receive->key) >> pending->shift];
    while (*place != receive)
        place = &(*place)->next;
    return place;
}

/* A request can be in one completing call at a time. So one that a thread has claimed is not meant
   by another thread that has a request of this handle: the library has let go of it, and given the
   handle away again. */
static inline struct rf_pending_receive *rf_pending_find(const struct rf_pending *pending,
                                                         MPI_Request request) {
    struct rf_pending_receive *receive =
        rf_pending_any(pending) ? *rf_pending_place(pending, request) : NULL;
    while (receive && (receive->claimed || receive->key != rf_request_key(request)))
        receive = receive->next;
    return receive;
}

/* A receive that was posted, or made to be started. NULL when memory ran out. */
RF_STEP struct rf_pending_receive *rf_pending_add(struct rf_pending *pending, MPI_Request request,
                                                  int source, int tag, bool persistent) {
    if (__builtin_expect(!pending->unused, 0) && !rf_pending_grow(pending))
        return NULL;
    struct rf_pending_receive *receive = pending->unused;
    pending->unused = receive->next;
    pending->used++;
    receive->key = rf_request_key(request);
    struct rf_pending_receive **bucket =
        &pending->buckets[rf_handle_hash(receive->key) >> pending->shift];
    receive->next = *bucket;
    *bucket = receive;
    receive->source = source;
    receive->tag = tag;
    if (persistent)
        receive->persistent = true;
    return receive;
}

/* The receive enters the matching order now. */
RF_STEP void rf_pending_post(struct rf_pending *pending, struct rf_recorder *recorder,
                             struct rf_pending_receive *receive, uint32_t what) {
    rf_recorder_post(recorder, what, &receive->post);
    receive->state = RF_UNMATCHED;
    struct rf_link *newest = pending->ring.older;
    receive->link.older = newest;
    receive->link.newer = &pending->ring;
    newest->newer = pending->ring.older = &receive->link;
}

/* The match is known, or will never be. */
RF_STEP void rf_pending_known(struct rf_pending_receive *receive) {
    receive->link.older->newer = receive->link.newer;
    receive->link.newer->older = receive->link.older;
    receive->state = RF_MATCHED;
}

/* `place` is where it hangs. */
RF_STEP void rf_pending_remove(struct rf_pending *pending, struct rf_pending_receive *receive,
                               struct rf_pending_receive **place) {
    *place = receive->next;
    receive->next = pending->unused;
    pending->unused = receive;
    pending->used--;
}

/* What is done outside the common path. */
bool rf_status_cancelled(const MPI_Status *status);
void rf_pending_learn_cancel(struct rf_pending_receive *receive, const MPI_Status *status);
void rf_pending_ask_older(struct rf_pending *pending, const struct rf_pending_receive *receive,
                          const MPI_Status *status);
/* The same where threads may call at the same time, after the lock. */
void rf_pending_ask_before(uint32_t channel, uint64_t ordinal, const MPI_Status *status);
/* The same where a blocking call took or saw a message. */
void rf_pending_ask_fitting(MPI_Comm comm, int source, int tag);

/* The library reported this request complete: writes its match down. Done for all requests of a
   call before any of them is settled: the library has let go of all of them, and must not be asked
   about one that another one of the call is younger than. */
RF_STEP void rf_pending_learn(struct rf_session *session, struct rf_pending_receive *receive,
                              const MPI_Status *status) {
    if (__builtin_expect(receive->cancelling, 0))
        rf_pending_learn_cancel(receive, status);
    if (__builtin_expect(receive->state != RF_UNMATCHED, 0))
        return;
    rf_pending_known(receive);
    if (status->MPI_SOURCE >= 0 && session->recorder.on)
        rf_recorder_match(&session->recorder, &receive->post, status->MPI_SOURCE, status->MPI_TAG);
}

/* Then, for each: older ones that have a match by now are asked for it, and the request is done. */
RF_STEP void rf_pending_settle(struct rf_pending *pending, const struct rf_session *session,
                               struct rf_pending_receive *receive,
                               struct rf_pending_receive **place, const MPI_Status *status) {
    if (__builtin_expect(receive->state == RF_INACTIVE, 0))
        return;
    const struct rf_link *oldest = pending->ring.newer;
    if (oldest != &pending->ring &&
        ((const struct rf_pending_receive *)oldest)->post.ordinal < receive->post.ordinal &&
        !session->concurrent)
        rf_pending_ask_older(pending, receive, status);
    if (__builtin_expect(receive->persistent, 0))
        receive->state = RF_INACTIVE;
    else
        rf_pending_remove(pending, receive, place);
}

/* The program wants to cancel the request, and the library has been told. */
void rf_pending_cancel(const struct rf_here *here, MPI_Request request);
/* The program frees the request. True if it has something to tell yet, and must be kept. */
bool rf_pending_orphan(MPI_Request request);
/* Asks the library, without completing anything, for matches it knows but has not reported. */
void rf_pending_sweep(void);
/* The same at the end of the recording, when orphans are freed as well. `alone`: no other thread
   calls any more. */
void rf_pending_finish(bool alone);
/* Another thread than that of MPI_Init calls for the first time. */
void rf_pending_meet(void);

#endif
