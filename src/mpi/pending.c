#include "mpi/pending.h"

#include <stdlib.h>

#include "mpi/adapter.h"

void rf_pending_open(struct rf_pending *pending) {
    memset(pending, 0, sizeof *pending);
    pending->unused = pending->oldest = pending->newest = RF_NOWHERE;
}

static bool room_for_cancels(struct rf_pending *pending, uint32_t size) {
    struct rf_pending_cancel *cancels = realloc(pending->cancels, size * sizeof *cancels);
    if (cancels)
        pending->cancels = cancels;
    return cancels;
}

bool rf_pending_grow(struct rf_pending *pending) {
    uint32_t size = pending->size ? pending->size * 2 : 512;
    struct rf_pending_receive *receives =
        realloc(pending->receives, size * sizeof *pending->receives);
    if (!receives)
        return false;
    pending->receives = receives;
    if (pending->cancels && !room_for_cancels(pending, size))
        return false;
    for (uint32_t i = size; i-- > pending->size;) {
        receives[i].newer = pending->unused;
        receives[i].cancelling = receives[i].orphan = false;
        pending->unused = i;
    }
    pending->size = size;
    return true;
}

bool rf_status_cancelled(const MPI_Status *status) {
    int cancelled = 0;
    rf_reals.Test_cancelled(status, &cancelled);
    return cancelled;
}

/* A cancelled receive took nothing, and its status says nonsense. */
void rf_pending_learn_cancel(struct rf_pending *pending, struct rf_pending_receive *receive,
                             const MPI_Status *status) {
    struct rf_recorder *recorder = &rf_the_session.recorder;
    const struct rf_pending_cancel *cancel = &pending->cancels[receive - pending->receives];
    bool cancelled = rf_status_cancelled(status);
    receive->cancelling = false;
    if (recorder->on)
        rf_recorder_match(recorder, &cancel->post, cancel->late, cancelled, 0);
    if (!cancelled || !receive->unknown)
        return;
    rf_pending_known(pending, receive);
    if (recorder->on)
        rf_recorder_match(recorder, &receive->post, receive->late, RF_UNDEFINED, RF_UNDEFINED);
}

/* True if the request is complete. */
static bool ask(struct rf_pending *pending, struct rf_pending_receive *receive) {
    MPI_Status status;
    status.MPI_SOURCE = RF_UNKNOWN; /* in case the library says yes without saying what */
    if (!rf_look(receive->handle, &status))
        return false;
    rf_pending_learn(pending, &rf_the_session, receive, &status);
    return true;
}

void rf_pending_sweep(void) {
    struct rf_pending *pending = &rf_mpi.pending;
    uint32_t next;
    for (uint32_t place = pending->oldest; place != RF_NOWHERE; place = next) {
        next = pending->receives[place].newer;
        ask(pending, &pending->receives[place]);
    }
}

/* Of two receives that fit a message the older one gets it. So an older one that would have fit
   this message has taken another one before, even if nobody has looked yet. Should the program die
   now, replay must know which. */
void rf_pending_ask_older(struct rf_pending *pending, const struct rf_pending_receive *receive,
                          const MPI_Status *status) {
    uint32_t next;
    for (uint32_t place = pending->oldest;
         place != RF_NOWHERE && pending->receives[place].post.ordinal < receive->post.ordinal;
         place = next) {
        struct rf_pending_receive *older = &pending->receives[place];
        next = older->newer;
        if (older->channel == receive->channel &&
            (older->tag == MPI_ANY_TAG || older->tag == status->MPI_TAG) &&
            (older->source == MPI_ANY_SOURCE || older->source == status->MPI_SOURCE))
            ask(pending, older);
    }
}

/* The place of a request that is in no list: only its cancel has something to tell. */
static uint32_t add_named(struct rf_pending *pending, MPI_Request request) {
    uint32_t place = rf_pending_add(pending, request, 0, 0, 0, false);
    if (place != RF_NOWHERE) {
        pending->receives[place].active = true;
        pending->receives[place].post.ordinal = 0; /* the oldest: it makes no other be asked */
    }
    return place;
}

/* Whether a cancel won is seen when the request completes. A call for a request that is being
   cancelled already, or cannot be, changes nothing. */
static struct rf_pending_receive *begin_cancel(const struct rf_here *here, MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    struct rf_pending *pending = &rf_mpi.pending;
    uint32_t site = rf_here_site(session, here);
    struct rf_pending_cancel cancel = {
        rf_recorder_post(&session->recorder, rf_pack(RF_CANCEL, 0, site)),
        rf_pack(RF_LATE, 0, site)};
    uint32_t place = rf_handle_find(&pending->map, rf_request_key(request));
    if (place == RF_NOWHERE)
        place = add_named(pending, request);
    if (place == RF_NOWHERE || (!pending->cancels && !room_for_cancels(pending, pending->size)))
        return NULL;
    struct rf_pending_receive *receive = &pending->receives[place];
    if (!receive->active || receive->cancelling) {
        rf_recorder_match(&session->recorder, &cancel.post, cancel.late, 0, 0);
        return NULL;
    }
    receive->cancelling = true;
    pending->cancels[place] = cancel;
    return receive;
}

void rf_pending_cancel(const struct rf_here *here, MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    struct rf_pending_receive *receive = session->recorder.on ? begin_cancel(here, request) : NULL;
    rf_session_unlock(session);
    /* The libraries mostly know at once; then the program may die before it asks. */
    if (receive && !session->concurrent)
        ask(&rf_mpi.pending, receive);
}

/* Frees the orphans that are complete, or all. */
static void free_orphans(struct rf_pending *pending, bool all) {
    for (uint32_t place = 0; pending->orphans && place < pending->size; place++) {
        struct rf_pending_receive *receive = &pending->receives[place];
        MPI_Request handle = receive->handle;
        if (!receive->orphan || (!(ask(pending, receive) && rf_partner_done(handle)) && !all))
            continue;
        if (receive->unknown)
            rf_pending_known(pending, receive);
        receive->orphan = false;
        pending->orphans--;
        rf_pending_remove(pending, rf_handle_slot_of(&pending->map, rf_request_key(handle)), place);
        rf_reals.Request_free(&handle);
    }
}

bool rf_pending_orphan(MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    struct rf_pending *pending = &rf_mpi.pending;
    rf_session_lock(session);
    uint32_t slot = rf_handle_slot_of(&pending->map, rf_request_key(request));
    bool keep = false;
    if (slot != RF_NOWHERE) {
        uint32_t place = pending->map.slots[slot].value;
        struct rf_pending_receive *receive = &pending->receives[place];
        keep = receive->unknown || receive->cancelling;
        receive->orphan = keep;
        pending->orphans += keep;
        if (!keep)
            rf_pending_remove(pending, slot, place);
    }
    rf_session_unlock(session);
    if (keep && pending->orphans > pending->orphans_limit && !session->concurrent) {
        free_orphans(pending, false);
        pending->orphans_limit = pending->orphans * 2 + 16;
    }
    return keep;
}

void rf_pending_finish(void) {
    struct rf_pending *pending = &rf_mpi.pending;
    rf_pending_sweep();
    for (uint32_t place = 0; place < pending->size; place++)
        if (pending->receives[place].cancelling)
            ask(pending, &pending->receives[place]);
    free_orphans(pending, true);
}
