/* Recording: the requests that have something to tell when they are complete. These are wildcard
   receives whose match is not known yet, in the order of their posts, the persistent ones that may
   be started again, and all requests that the program wants to cancel. Posting and completing are
   on the path of a call: they allocate only when the tables double. */
#ifndef RF_MPI_PENDING_H
#define RF_MPI_PENDING_H

#include "engine/session.h"
#include "mpi/channels.h"
#include "mpi/handle_map.h"

struct rf_pending_receive { /* one line of the cache */
    MPI_Request handle;
    struct rf_post post;
    uint32_t late;  /* packed word, should the match become known late */
    uint32_t older; /* neighbours in the list of unknown matches, RF_NOWHERE at its ends */
    uint32_t newer;
    uint32_t channel;
    int source, tag; /* as the program asked, wildcards included */
    bool persistent;
    bool active;
    bool unknown;    /* in the list */
    bool cancelling; /* whether the cancel won is not known yet */
    bool orphan;     /* the program has freed it, the library has not */
};

/* A cancel of the receive at the same place. */
struct rf_pending_cancel {
    struct rf_post post;
    uint32_t late;
};

struct rf_pending {
    struct rf_handle_map map;
    struct rf_pending_receive *receives;
    struct rf_pending_cancel *cancels; /* NULL until the program cancels something */
    uint32_t size, unused;             /* `unused` heads a list of free places, linked by `newer` */
    uint32_t oldest, newest;
    uint32_t orphans, orphans_limit; /* as many are looked through for complete ones */
};

void rf_pending_open(struct rf_pending *pending);
bool rf_pending_grow(struct rf_pending *pending);

static inline bool rf_pending_any(const struct rf_pending *pending) {
    return pending->map.used != 0;
}

/* A receive that was posted, or made to be started. Its place, RF_NOWHERE when memory ran out. */
static inline uint32_t rf_pending_add(struct rf_pending *pending, MPI_Request request,
                                      uint32_t channel, int source, int tag, bool persistent) {
    if (__builtin_expect(pending->unused == RF_NOWHERE, 0) && !rf_pending_grow(pending))
        return RF_NOWHERE;
    uint32_t place = pending->unused;
    if (!rf_handle_add(&pending->map, rf_request_key(request), place))
        return RF_NOWHERE;
    struct rf_pending_receive *receive = &pending->receives[place];
    pending->unused = receive->newer;
    receive->handle = request;
    receive->channel = channel;
    receive->source = source;
    receive->tag = tag;
    receive->persistent = persistent;
    receive->active = false;
    receive->unknown = false;
    receive->cancelling = false;
    return place;
}

/* The receive enters the matching order now. */
static inline void rf_pending_post(struct rf_pending *pending, struct rf_recorder *recorder,
                                   uint32_t place, uint32_t site) {
    struct rf_pending_receive *receive = &pending->receives[place];
    receive->post = rf_recorder_post(recorder, rf_pack(RF_POST, receive->channel, site));
    receive->late = rf_pack(RF_LATE, receive->channel, site);
    receive->active = true;
    receive->unknown = true;
    receive->older = pending->newest;
    receive->newer = RF_NOWHERE;
    if (pending->newest != RF_NOWHERE)
        pending->receives[pending->newest].newer = place;
    else
        pending->oldest = place;
    pending->newest = place;
}

/* The match is known, or will never be. */
static inline void rf_pending_known(struct rf_pending *pending,
                                    struct rf_pending_receive *receive) {
    if (receive->older != RF_NOWHERE)
        pending->receives[receive->older].newer = receive->newer;
    else
        pending->oldest = receive->newer;
    if (receive->newer != RF_NOWHERE)
        pending->receives[receive->newer].older = receive->older;
    else
        pending->newest = receive->older;
    receive->unknown = false;
}

static inline void rf_pending_remove(struct rf_pending *pending, uint32_t slot, uint32_t place) {
    rf_handle_remove_at(&pending->map, slot);
    pending->receives[place].newer = pending->unused;
    pending->unused = place;
}

/* What is done outside the common path. */
void rf_pending_learn_cancel(struct rf_pending *pending, struct rf_pending_receive *receive,
                             const MPI_Status *status);
void rf_pending_ask_older(struct rf_pending *pending, const struct rf_pending_receive *receive,
                          const MPI_Status *status);
bool rf_status_cancelled(const MPI_Status *status);

/* The library reported this request complete: writes its match down. Done for all requests of a
   call before any of them is settled: the library has let go of all of them, and must not be asked
   about one that another one of the call is younger than. */
static inline void rf_pending_learn(struct rf_pending *pending, struct rf_session *session,
                                    struct rf_pending_receive *receive, const MPI_Status *status) {
    if (__builtin_expect(receive->cancelling, 0))
        rf_pending_learn_cancel(pending, receive, status);
    if (!receive->active || !receive->unknown)
        return;
    rf_pending_known(pending, receive);
    if (status->MPI_SOURCE >= 0 && session->recorder.on)
        rf_recorder_match(&session->recorder, &receive->post, receive->late, status->MPI_SOURCE,
                          status->MPI_TAG);
}

/* Then, for each: older ones that have a match by now are asked for it, and the request is done. */
static inline void rf_pending_settle(struct rf_pending *pending, const struct rf_session *session,
                                     uint32_t slot, uint32_t place, const MPI_Status *status) {
    struct rf_pending_receive *receive = &pending->receives[place];
    if (!receive->active)
        return;
    if (__builtin_expect(pending->oldest != RF_NOWHERE, 0) &&
        pending->receives[pending->oldest].post.ordinal < receive->post.ordinal &&
        !session->concurrent)
        rf_pending_ask_older(pending, receive, status);
    receive->active = false;
    if (!receive->persistent)
        rf_pending_remove(pending, slot, place);
}

/* The program wants to cancel the request, and the library has been told. */
void rf_pending_cancel(const struct rf_here *here, MPI_Request request);
/* The program frees the request. True if it has something to tell yet, and must be kept. */
bool rf_pending_orphan(MPI_Request request);
/* Asks the library, without completing anything, for matches it knows but has not reported. */
void rf_pending_sweep(void);
/* The same at the end of the recording, when orphans are freed as well. */
void rf_pending_finish(void);

#endif
