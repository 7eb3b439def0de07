#include "mpi/pending.h"

#include <stdlib.h>

#include "mpi/adapter.h"

void rf_pending_open(struct rf_pending *pending) {
    memset(pending, 0, sizeof *pending);
    pending->unused = pending->oldest = pending->newest = RF_NOWHERE;
}

static bool grow(struct rf_pending *pending) {
    uint32_t size = pending->size ? pending->size * 2 : 512;
    struct rf_pending_receive *receives =
        realloc(pending->receives, size * sizeof *pending->receives);
    if (!receives)
        return false;
    pending->receives = receives;
    for (uint32_t i = size; i-- > pending->size;) {
        receives[i].newer = pending->unused;
        pending->unused = i;
    }
    pending->size = size;
    return true;
}

static uint32_t take_place(struct rf_pending *pending, MPI_Request request) {
    if (pending->unused == RF_NOWHERE && !grow(pending))
        return RF_NOWHERE;
    uint32_t place = pending->unused;
    if (!rf_handle_add(&pending->map, rf_request_key(request), place))
        return RF_NOWHERE;
    pending->unused = pending->receives[place].newer;
    pending->receives[place].handle = request;
    return place;
}

static void give_back(struct rf_pending *pending, uint32_t place) {
    rf_handle_remove(&pending->map, rf_request_key(pending->receives[place].handle));
    pending->receives[place].newer = pending->unused;
    pending->unused = place;
}

static void list_append(struct rf_pending *pending, uint32_t place) {
    struct rf_pending_receive *receive = &pending->receives[place];
    receive->older = pending->newest;
    receive->newer = RF_NOWHERE;
    if (pending->newest != RF_NOWHERE)
        pending->receives[pending->newest].newer = place;
    else
        pending->oldest = place;
    pending->newest = place;
    receive->unknown = true;
}

static void list_remove(struct rf_pending *pending, struct rf_pending_receive *receive) {
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

static void post(const struct rf_here *here, struct rf_pending *pending, uint32_t place) {
    struct rf_session *session = &rf_the_session;
    struct rf_pending_receive *receive = &pending->receives[place];
    uint32_t site = rf_here_site(session, here);
    receive->post = rf_recorder_post(&session->recorder, rf_pack(RF_POST, receive->channel, site));
    receive->late = rf_pack(RF_LATE, receive->channel, site);
    receive->active = true;
    list_append(pending, place);
}

void rf_pending_post(const struct rf_here *here, MPI_Request request, MPI_Comm comm) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    uint32_t place = session->recorder.on ? take_place(&rf_mpi.pending, request) : RF_NOWHERE;
    if (place != RF_NOWHERE) {
        struct rf_pending_receive *receive = &rf_mpi.pending.receives[place];
        receive->channel = rf_channel_of(&rf_mpi.channels, comm);
        receive->persistent = false;
        post(here, &rf_mpi.pending, place);
    }
    rf_session_unlock(session);
}

void rf_pending_persistent(MPI_Request request, MPI_Comm comm) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    uint32_t place = session->recorder.on ? take_place(&rf_mpi.pending, request) : RF_NOWHERE;
    if (place != RF_NOWHERE) {
        struct rf_pending_receive *receive = &rf_mpi.pending.receives[place];
        receive->channel = rf_channel_of(&rf_mpi.channels, comm);
        receive->persistent = true;
        receive->active = false;
        receive->unknown = false;
    }
    rf_session_unlock(session);
}

void rf_pending_start(const struct rf_here *here, MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    uint32_t place = rf_handle_find(&rf_mpi.pending.map, rf_request_key(request));
    if (place != RF_NOWHERE && session->recorder.on)
        post(here, &rf_mpi.pending, place);
    rf_session_unlock(session);
}

/* Writes a match down. A cancelled receive took nothing, and its status says nonsense. */
static void learn(struct rf_pending *pending, struct rf_pending_receive *receive,
                  const MPI_Status *status) {
    int cancelled = 0;
    if (rf_mpi.cancels)
        rf_reals.Test_cancelled(status, &cancelled);
    list_remove(pending, receive);
    if (!cancelled && status->MPI_SOURCE >= 0 && rf_the_session.recorder.on)
        rf_recorder_match(&rf_the_session.recorder, &receive->post, receive->late,
                          status->MPI_SOURCE, status->MPI_TAG);
}

void rf_pending_sweep(uint32_t until) {
    struct rf_pending *pending = &rf_mpi.pending;
    uint32_t next;
    for (uint32_t place = pending->oldest; place != until && place != RF_NOWHERE; place = next) {
        struct rf_pending_receive *receive = &pending->receives[place];
        next = receive->newer;
        MPI_Status status;
        if (rf_look(receive->handle, &status))
            learn(pending, receive, &status);
    }
}

void rf_pending_complete(MPI_Request request, const MPI_Status *status) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    struct rf_pending *pending = &rf_mpi.pending;
    uint32_t place = rf_handle_find(&pending->map, rf_request_key(request));
    if (place != RF_NOWHERE && pending->receives[place].active) {
        struct rf_pending_receive *receive = &pending->receives[place];
        if (receive->unknown) {
            /* An older receive that could have taken this message has taken another one before,
               even if nobody has looked yet. Should the program die now, replay must know. */
            if (__builtin_expect(pending->oldest != place, 0) && !session->concurrent)
                rf_pending_sweep(place);
            learn(pending, receive, status);
        }
        receive->active = false;
        if (!receive->persistent)
            give_back(pending, place);
    }
    rf_session_unlock(session);
    rf_partner_settle(request);
}

void rf_pending_forget(MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    struct rf_pending *pending = &rf_mpi.pending;
    uint32_t place = rf_handle_find(&pending->map, rf_request_key(request));
    if (place != RF_NOWHERE) {
        if (pending->receives[place].unknown)
            list_remove(pending, &pending->receives[place]);
        give_back(pending, place);
    }
    rf_session_unlock(session);
}
