#include "mpi/pending.h"

#include <stdlib.h>

#include "mpi/adapter.h"

void rf_pending_open(struct rf_pending *pending) {
    memset(pending, 0, sizeof *pending);
    pending->unused = pending->oldest = pending->newest = RF_NOWHERE;
}

bool rf_pending_grow(struct rf_pending *pending) {
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

bool rf_status_cancelled(const MPI_Status *status) {
    int cancelled = 0;
    rf_reals.Test_cancelled(status, &cancelled);
    return cancelled;
}

static void ask(struct rf_pending *pending, struct rf_pending_receive *receive) {
    MPI_Status status;
    status.MPI_SOURCE = RF_UNKNOWN; /* in case the library says yes without saying what */
    if (!rf_look(receive->handle, &status))
        return;
    rf_pending_known(pending, receive);
    if (status.MPI_SOURCE >= 0 && rf_the_session.recorder.on &&
        !(rf_mpi.cancels && rf_status_cancelled(&status)))
        rf_recorder_match(&rf_the_session.recorder, &receive->post, receive->late,
                          status.MPI_SOURCE, status.MPI_TAG);
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

void rf_pending_forget(MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    struct rf_pending *pending = &rf_mpi.pending;
    uint32_t slot = rf_handle_slot_of(&pending->map, rf_request_key(request));
    if (slot != RF_NOWHERE) {
        uint32_t place = pending->map.slots[slot].value;
        if (pending->receives[place].unknown)
            rf_pending_known(pending, &pending->receives[place]);
        rf_pending_remove(pending, slot, place);
    }
    rf_session_unlock(session);
}
