#include "mpi/pending.h"

#include <sched.h>
#include <stdlib.h>

#include "mpi/kept.h"

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
            /* At the end: of two with one handle, the first is the newer one. */
            while (*bucket)
                bucket = &(*bucket)->next;
            receive->next = NULL;
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

/* A cancelled receive took nothing, and its status says nonsense. */
void rf_pending_learn_cancel(struct rf_pending_receive *receive, const MPI_Status *status) {
    struct rf_recorder *recorder = &rf_the_session.recorder;
    bool cancelled = rf_status_cancelled(status);
    receive->cancelling = false;
    if (recorder->on)
        rf_recorder_match(recorder, &receive->cancel, cancelled, 0);
    if (!cancelled || receive->state != RF_UNMATCHED)
        return;
    rf_pending_known(receive);
    if (recorder->on)
        rf_recorder_match(recorder, &receive->post, RF_UNDEFINED, RF_UNDEFINED);
}

static MPI_Request handle_of(const struct rf_pending_receive *receive) {
    MPI_Request request;
    memcpy(&request, &receive->key, sizeof request);
    return request;
}

/* True if the request is complete. */
static bool ask(struct rf_pending_receive *receive) {
    MPI_Status status;
    status.MPI_SOURCE = RF_UNKNOWN; /* in case the library says yes without saying what */
    if (receive->persistent && !receive->orphan && rf_asking_completes())
        return false; /* the program is to be told, and not we */
    if (!rf_look(handle_of(receive), &status))
        return false;
    rf_pending_learn(&rf_the_session, receive, &status);
    return true;
}

/* ---- asking where threads may call at the same time ---- */

/* Another thread may complete what is being asked about, and then the library does not know it any
   more. But many programs only say that their threads may call: as long as there is but one, nobody
   can. The second one waits until nothing is being asked. */
static bool several;
static int asking;

void rf_pending_meet(void) {
    __atomic_store_n(&several, true, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&asking, __ATOMIC_SEQ_CST))
        sched_yield();
}

static void end_asking(void) {
    if (rf_the_session.concurrent)
        __atomic_sub_fetch(&asking, 1, __ATOMIC_SEQ_CST);
}

/* Not where contents are kept: a rank alone would have to ask the same, and there the second thread
   may come sooner. */
static bool begin_asking(void) {
    if (!rf_the_session.concurrent)
        return true;
    if (rf_layer != RF_LAYER_NONE || __atomic_load_n(&several, __ATOMIC_RELAXED))
        return false;
    __atomic_add_fetch(&asking, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&several, __ATOMIC_SEQ_CST))
        return true;
    end_asking();
    return false;
}

static void sweep(void) {
    struct rf_link *next, *end = &rf_mpi.pending.ring;
    for (struct rf_link *link = end->newer; link != end; link = next) {
        next = link->newer;
        ask((struct rf_pending_receive *)link);
    }
}

void rf_pending_sweep(void) {
    if (!begin_asking())
        return;
    sweep();
    end_asking();
}

/* Of two receives that fit a message the older one gets it. So an older one that would have fit
   this message has taken another one before, even if nobody has looked yet. Should the program die
   now, replay must know which. */
static void ask_fitting(const struct rf_pending *pending, uint32_t channel, uint64_t before,
                        int source, int tag) {
    const struct rf_link *next, *end = &pending->ring;
    for (const struct rf_link *link = end->newer; link != end; link = next) {
        struct rf_pending_receive *older = (struct rf_pending_receive *)link;
        next = link->newer;
        if (older->post.ordinal > before)
            return;
        if (rf_packed_channel(older->post.what) == channel &&
            (older->tag == MPI_ANY_TAG || older->tag == tag) &&
            (older->source == MPI_ANY_SOURCE || older->source == source))
            ask(older);
    }
}

void rf_pending_ask_older(struct rf_pending *pending, const struct rf_pending_receive *receive,
                          const MPI_Status *status) {
    ask_fitting(pending, rf_packed_channel(receive->post.what), receive->post.ordinal,
                status->MPI_SOURCE, status->MPI_TAG);
}

void rf_pending_ask_before(uint32_t channel, uint64_t ordinal, const MPI_Status *status) {
    if (!begin_asking())
        return;
    ask_fitting(&rf_mpi.pending, channel, ordinal, status->MPI_SOURCE, status->MPI_TAG);
    end_asking();
}

void rf_pending_ask_fitting(MPI_Comm comm, int source, int tag) {
    if (source < 0 || !begin_asking())
        return;
    ask_fitting(&rf_mpi.pending, rf_channel_known(&rf_mpi.channels, comm), UINT64_MAX, source, tag);
    end_asking();
}

/* A request that is in no list: only its cancel has something to tell. */
static struct rf_pending_receive *add_named(struct rf_pending *pending, MPI_Request request) {
    struct rf_pending_receive *receive = rf_pending_add(pending, request, 0, 0, false);
    if (receive) {
        receive->state = RF_MATCHED;
        receive->post.ordinal = 0; /* the oldest: it makes no other be asked */
    }
    return receive;
}

/* Whether a cancel won is seen when the request completes. A call for a request that is being
   cancelled already, or cannot be, changes nothing. */
static struct rf_pending_receive *begin_cancel(const struct rf_here *here, MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    struct rf_post cancel;
    rf_recorder_post(&session->recorder, rf_here_pack(session, here, RF_CANCEL, 0), &cancel);
    struct rf_pending_receive *receive = rf_pending_find(&rf_mpi.pending, request);
    if (!receive)
        receive = add_named(&rf_mpi.pending, request);
    if (!receive)
        return NULL;
    if (receive->state == RF_INACTIVE || receive->cancelling) {
        rf_recorder_match(&session->recorder, &cancel, 0, 0);
        return NULL;
    }
    receive->cancelling = true;
    receive->cancel = cancel;
    return receive;
}

void rf_pending_cancel(const struct rf_here *here, MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    rf_session_append(session);
    struct rf_pending_receive *receive = session->recorder.on ? begin_cancel(here, request) : NULL;
    rf_session_unlock(session);
    /* The libraries mostly know at once; then the program may die before it asks. */
    if (receive && begin_asking()) {
        ask(receive);
        end_asking();
    }
}

static uint64_t age_of(const struct rf_pending_receive *receive) {
    return receive->post.ordinal ? receive->post.ordinal : receive->cancel.ordinal;
}

static int by_age(const void *one, const void *other) {
    uint64_t first = age_of(*(struct rf_pending_receive *const *)one);
    uint64_t second = age_of(*(struct rf_pending_receive *const *)other);
    return (first > second) - (first < second);
}

static bool is_orphan(const struct rf_pending_receive *receive) {
    return receive->orphan;
}

static bool is_cancelling(const struct rf_pending_receive *receive) {
    return receive->cancelling;
}

/* Those of a kind, the oldest first: their places depend on handles, and what is asked of the
   library must not. NULL if there are none, or no memory. */
static struct rf_pending_receive **
those(struct rf_pending *pending, bool (*kind)(const struct rf_pending_receive *), size_t *count) {
    struct rf_pending_receive **found = NULL;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t seen = 0;
        for (uint32_t i = 0; i < pending->size; i++)
            for (struct rf_pending_receive *receive = pending->buckets[i]; receive;
                 receive = receive->next)
                if (kind(receive) && seen++ < *count)
                    found[seen - 1] = receive;
        if (pass == 0 && seen)
            found = malloc(seen * sizeof(struct rf_pending_receive *));
        *count = found ? seen : 0;
    }
    if (found)
        qsort(found, *count, sizeof(struct rf_pending_receive *), by_age);
    return found;
}

/* Frees the orphans that are complete, or all. */
static void free_orphans(struct rf_pending *pending, bool all) {
    size_t count;
    struct rf_pending_receive **orphans = those(pending, is_orphan, &count);
    for (size_t i = 0; i < count; i++) {
        struct rf_pending_receive *receive = orphans[i];
        MPI_Request handle = handle_of(receive);
        if (!ask(receive) && !all)
            continue;
        if (receive->state == RF_UNMATCHED)
            rf_pending_known(receive);
        receive->orphan = receive->cancelling = receive->persistent = false;
        pending->orphans--;
        rf_pending_remove(pending, receive, rf_pending_place(pending, handle));
        rf_reals.Request_free(&handle);
    }
    free(orphans);
}

bool rf_pending_orphan(MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    struct rf_pending *pending = &rf_mpi.pending;
    bool keep = false;
    rf_session_lock(session);
    struct rf_pending_receive *receive = rf_pending_find(pending, request);
    if (receive) {
        keep = receive->state == RF_UNMATCHED || receive->cancelling;
        receive->orphan = keep;
        pending->orphans += keep;
        if (!keep) {
            receive->persistent = false;
            rf_pending_remove(pending, receive, rf_pending_place(pending, request));
        }
    }
    rf_session_unlock(session);
    if (keep && pending->orphans > pending->orphans_limit && begin_asking()) {
        free_orphans(pending, false);
        pending->orphans_limit = pending->orphans * 2 + 16;
        end_asking();
    }
    return keep;
}

void rf_pending_finish(bool alone) {
    struct rf_pending *pending = &rf_mpi.pending;
    if (!alone && !begin_asking())
        return;
    sweep();
    size_t count;
    struct rf_pending_receive **cancelling = those(pending, is_cancelling, &count);
    for (size_t i = 0; i < count; i++)
        ask(cancelling[i]);
    free(cancelling);
    free_orphans(pending, true);
    if (!alone)
        end_asking();
}
