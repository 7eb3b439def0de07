#include "mpi/pending.h"

#include <stdlib.h>

#include "mpi/adapter.h"

void rf_pending_open(struct rf_pending *pending) {
    memset(pending, 0, sizeof *pending);
    pending->ring.older = pending->ring.newer = &pending->ring;
}

/* Receives never move: they are linked with each other. */
bool rf_pending_grow(struct rf_pending *pending) {
    uint32_t more = pending->size ? pending->size : 512;
    uint32_t size = pending->size + more;
    struct rf_pending_receive **buckets = calloc(size, sizeof(*buckets));
    struct rf_pending_receive *receives = calloc(more, sizeof *receives);
    if (!buckets || !receives) {
        free(buckets);
        free(receives);
        return false;
    }
    uint32_t shift = 64 - (uint32_t)__builtin_ctz(size);
    for (uint32_t i = 0; i < pending->size; i++) {
        struct rf_pending_receive *next;
        for (struct rf_pending_receive *receive = pending->buckets[i]; receive; receive = next) {
            next = receive->next;
            struct rf_pending_receive **bucket = &buckets[rf_handle_hash(receive->key) >> shift];
            receive->next = *bucket;
            *bucket = receive;
        }
    }
    for (uint32_t i = more; i-- > 0;) {
        receives[i].next = pending->unused;
        pending->unused = &receives[i];
    }
    free(pending->buckets);
    pending->buckets = buckets;
    pending->shift = shift;
    pending->size = size;
    return true;
}

bool rf_status_cancelled(const MPI_Status *status) {
    int cancelled = 0;
    rf_reals.Test_cancelled(status, &cancelled);
    return cancelled;
}

static void ask(struct rf_pending_receive *receive) {
    MPI_Status status;
    MPI_Request request;
    memcpy(&request, &receive->key, sizeof request);
    status.MPI_SOURCE = RF_UNKNOWN; /* in case the library says yes without saying what */
    if (rf_look(request, &status))
        rf_pending_learn(&rf_the_session, receive, &status, rf_mpi.cancels);
}

void rf_pending_sweep(void) {
    struct rf_link *next, *end = &rf_mpi.pending.ring;
    for (struct rf_link *link = end->newer; link != end; link = next) {
        next = link->newer;
        ask((struct rf_pending_receive *)link);
    }
}

/* Of two receives that fit a message the older one gets it. So an older one that would have fit
   this message has taken another one before, even if nobody has looked yet. Should the program die
   now, replay must know which. */
void rf_pending_ask_older(struct rf_pending *pending, const struct rf_pending_receive *receive,
                          const MPI_Status *status) {
    struct rf_link *next, *end = &pending->ring;
    for (struct rf_link *link = end->newer; link != end; link = next) {
        struct rf_pending_receive *older = (struct rf_pending_receive *)link;
        next = link->newer;
        if (older->post.ordinal > receive->post.ordinal)
            return;
        if (rf_packed_channel(older->post.what) == rf_packed_channel(receive->post.what) &&
            (older->tag == MPI_ANY_TAG || older->tag == status->MPI_TAG) &&
            (older->source == MPI_ANY_SOURCE || older->source == status->MPI_SOURCE))
            ask(older);
    }
}

void rf_pending_forget(MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    struct rf_pending *pending = &rf_mpi.pending;
    rf_session_lock(session);
    if (rf_pending_find(pending, request)) {
        struct rf_pending_receive **place = rf_pending_place(pending, request);
        if ((*place)->state == RF_UNMATCHED)
            rf_pending_known(*place);
        rf_pending_remove(pending, *place, place);
    }
    rf_session_unlock(session);
}
