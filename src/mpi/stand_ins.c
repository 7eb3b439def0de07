#include "mpi/stand_ins.h"

#include <limits.h>
#include <stdlib.h>

#include "mpi/kept.h"

static int post(const struct rf_receive *receive, int source, int tag, MPI_Request *request) {
#ifdef RF_ABI_LARGE_COUNTS
    if (receive->count > INT_MAX)
        return rf_reals.Irecv_c(receive->buffer, receive->count, receive->type, source, tag,
                                receive->comm, request);
#endif
    return rf_reals.Irecv(receive->buffer, (int)receive->count, receive->type, source, tag,
                          receive->comm, request);
}

int rf_receive_post(const struct rf_receive *receive, int source, int tag, MPI_Request *request) {
    int code = post(receive, source, tag, request);
    if (code == MPI_SUCCESS && !rf_recording())
        rf_bell_expect(*request, receive->comm, source, RF_BELL_SENT);
    return code;
}

static void lock(void) {
    if (rf_the_session.concurrent)
        rf_lock(&rf_mpi.stand_ins.lock);
}

static void unlock(void) {
    if (rf_the_session.concurrent)
        rf_unlock(&rf_mpi.stand_ins.lock);
}

static int open_parking(void) {
    struct rf_stand_ins *stand_ins = &rf_mpi.stand_ins;
    int code = MPI_SUCCESS;
    lock();
    if (!stand_ins->has_parking) {
        /* Ours in a rank alone, too. A duplicate would get what the program put on the original. */
        code = rf_library.Comm_split(MPI_COMM_SELF, 0, 0, &stand_ins->parking);
        stand_ins->has_parking = code == MPI_SUCCESS;
    }
    unlock();
    return code;
}

static int park(void *buffer, MPI_Request *request) {
    int code = open_parking();
    if (code != MPI_SUCCESS)
        return code;
    return rf_reals.Irecv(buffer, 0, MPI_BYTE, 0, 0, rf_mpi.stand_ins.parking, request);
}

MPI_Request rf_stand_ins_never(void) {
    struct rf_stand_ins *stand_ins = &rf_mpi.stand_ins;
    if (!stand_ins->has_never)
        stand_ins->has_never = park(NULL, &stand_ins->never) == MPI_SUCCESS;
    return stand_ins->has_never ? stand_ins->never : MPI_REQUEST_NULL;
}

/* The program may free its datatype at once; a type made of it keeps it alive. */
static MPI_Datatype keep_type(MPI_Datatype type) {
    MPI_Datatype kept = type;
    if (rf_reals.Type_contiguous(1, type, &kept) == MPI_SUCCESS)
        rf_reals.Type_commit(&kept);
    return kept;
}

/* Under the lock. */
static struct rf_stand_in *enter(MPI_Request handle) {
    struct rf_stand_ins *stand_ins = &rf_mpi.stand_ins;
    uint32_t place = 0;
    while (place < stand_ins->size && stand_ins->entries[place])
        place++;
    if (place == stand_ins->size) {
        uint32_t size = stand_ins->size ? stand_ins->size * 2 : 16;
        struct rf_stand_in **entries =
            realloc(stand_ins->entries, size * sizeof *stand_ins->entries);
        if (!entries)
            return NULL;
        memset(entries + stand_ins->size, 0, (size - stand_ins->size) * sizeof *entries);
        stand_ins->entries = entries;
        stand_ins->size = size;
    }
    struct rf_stand_in *stand_in = calloc(1, sizeof *stand_in);
    if (!stand_in || !rf_handle_add(&stand_ins->map, rf_request_key(handle), place)) {
        free(stand_in);
        return NULL;
    }
    stand_ins->entries[place] = stand_in;
    stand_in->place = place;
    stand_in->handle = handle;
    stand_in->inner = MPI_REQUEST_NULL;
    return stand_in;
}

static struct rf_stand_in *add(const struct rf_receive *receive, MPI_Request handle) {
    MPI_Datatype type = keep_type(receive->type);
    lock();
    struct rf_stand_in *stand_in = enter(handle);
    if (stand_in) {
        stand_in->receive = *receive;
        stand_in->receive.type = type;
    }
    unlock();
    return stand_in;
}

static void set_held(struct rf_stand_in *stand_in, bool held) {
    rf_mpi.stand_ins.held += (uint32_t)held - (uint32_t)stand_in->held;
    stand_in->held = held;
}

static void hold(struct rf_stand_in *stand_in, enum rf_match match) {
    lock();
    stand_in->order = rf_mpi.stand_ins.started++;
    stand_in->nothing = match == RF_MATCH_NOTHING;
    stand_in->parked = match == RF_MATCH_NOTHING || match == RF_MATCH_UNKNOWN;
    set_held(stand_in, match != RF_MATCH_KNOWN);
    unlock();
}

static int park_new(const struct rf_receive *receive, enum rf_match match, MPI_Request *request) {
    int code = match == RF_MATCH_UNSEEN
                   ? rf_receive_post(receive, receive->source, receive->tag, request)
                   : park(receive->buffer, request);
    if (code != MPI_SUCCESS)
        return code;
    struct rf_stand_in *stand_in = add(receive, *request);
    if (!stand_in)
        return MPI_ERR_NO_MEM;
    stand_in->inner = *request;
    hold(stand_in, match);
    return MPI_SUCCESS;
}

int rf_stand_in_park(const struct rf_receive *receive, enum rf_match match, MPI_Request *request) {
    bool kept = rf_kept_begin(RF_PARK);
    int code = park_new(receive, match, request);
    return kept ? rf_kept_done(code) : code;
}

int rf_stand_in_persistent(const struct rf_receive *receive, MPI_Request *request) {
    struct rf_stand_in *stand_in = add(receive, *request);
    if (!stand_in)
        return MPI_ERR_NO_MEM;
    stand_in->persistent = true;
    return MPI_SUCCESS;
}

struct rf_stand_in *rf_stand_in_find(MPI_Request request) {
    if (!rf_stand_ins_any(&rf_mpi.stand_ins))
        return NULL;
    lock();
    uint32_t place = rf_handle_find(&rf_mpi.stand_ins.map, rf_request_key(request));
    struct rf_stand_in *found = place == RF_NOWHERE ? NULL : rf_mpi.stand_ins.entries[place];
    unlock();
    return found;
}

int rf_stand_in_start(struct rf_stand_in *stand_in, enum rf_match match, int source, int tag) {
    hold(stand_in, match);
    if (!stand_in->parked) {
        bool known = match == RF_MATCH_KNOWN;
        return rf_receive_post(&stand_in->receive, known ? source : stand_in->receive.source,
                               known ? tag : stand_in->receive.tag, &stand_in->inner);
    }
    bool kept = rf_kept_begin(RF_PARK);
    int code = park(stand_in->receive.buffer, &stand_in->inner);
    return kept ? rf_kept_done(code) : code;
}

MPI_Request rf_stand_in_inner(MPI_Request request) {
    return rf_stand_in_inner_of(rf_stand_in_find(request), request);
}

/* Not found by its handle any more. Under the lock. */
static void unmap(struct rf_stand_in *stand_in) {
    if (!stand_in->claimed)
        rf_handle_remove(&rf_mpi.stand_ins.map, rf_request_key(stand_in->handle));
    stand_in->claimed = true;
}

static void forget(struct rf_stand_in *stand_in) {
    lock();
    set_held(stand_in, false);
    unmap(stand_in);
    rf_mpi.stand_ins.entries[stand_in->place] = NULL;
    unlock();
    rf_reals.Type_free(&stand_in->receive.type);
    free(stand_in);
}

void rf_stand_in_claim(struct rf_stand_in *stand_in) {
    if (!stand_in || stand_in->persistent)
        return;
    lock();
    unmap(stand_in);
    unlock();
}

void rf_stand_in_update(struct rf_stand_in *stand_in, MPI_Request *request, MPI_Request inner) {
    if (!stand_in || stand_in->inner == MPI_REQUEST_NULL) {
        *request = inner;
        return;
    }
    stand_in->inner = inner;
    lock();
    if (stand_in->claimed && inner != MPI_REQUEST_NULL)
        stand_in->claimed = !rf_handle_add(&rf_mpi.stand_ins.map, rf_request_key(stand_in->handle),
                                           stand_in->place);
    unlock();
    if (inner != MPI_REQUEST_NULL)
        return;
    lock();
    set_held(stand_in, false);
    unlock();
    if (stand_in->persistent)
        return;
    if (stand_in->order == UINT64_MAX) { /* it was released: the parked request is still there */
        rf_reals.Cancel(request);
        rf_reals.Request_free(request);
    }
    forget(stand_in);
    *request = MPI_REQUEST_NULL;
}

void rf_stand_in_cancelled(MPI_Request request) {
    struct rf_stand_in *stand_in = rf_stand_in_find(request);
    lock();
    if (stand_in)
        set_held(stand_in, false);
    unlock();
}

static int free_requests(struct rf_stand_in *stand_in) {
    MPI_Request handle = stand_in->handle;
    MPI_Request inner = stand_in->inner;
    lock();
    unmap(stand_in);
    stand_in->handle = stand_in->inner = MPI_REQUEST_NULL;
    unlock();
    if (inner != MPI_REQUEST_NULL && inner != handle)
        rf_reals.Request_free(&inner);
    return handle == MPI_REQUEST_NULL ? MPI_SUCCESS : rf_reals.Request_free(&handle);
}

static int free_both(struct rf_stand_in *stand_in) {
    int code = free_requests(stand_in);
    forget(stand_in);
    return code;
}

/* What is parked is posted first. What has been posted is remembered, as it is in the way. */
int rf_stand_in_free(struct rf_stand_in *stand_in, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    stand_in->freed = stand_in->held;
    if (!stand_in->held)
        return free_both(stand_in);
    return stand_in->parked ? MPI_SUCCESS : free_requests(stand_in);
}

bool rf_stand_ins_in_the_way(MPI_Comm comm, int source, int tag) {
    const struct rf_stand_ins *stand_ins = &rf_mpi.stand_ins;
    bool found = false;
    if (!stand_ins->held)
        return false;
    lock();
    for (uint32_t i = 0; !found && i < stand_ins->size; i++) {
        const struct rf_stand_in *stand_in = stand_ins->entries[i];
        if (!stand_in || !stand_in->held || stand_in->nothing || stand_in->receive.comm != comm)
            continue;
        const struct rf_receive *receive = &stand_in->receive;
        /* Messages of one sender are taken in their order: one that is posted takes its own again.
         */
        found = (receive->source == MPI_ANY_SOURCE ||
                 (receive->source == source && stand_in->parked)) &&
                (receive->tag == MPI_ANY_TAG || receive->tag == tag);
    }
    unlock();
    return found;
}

/* The oldest that is held, which it is no more. */
static struct rf_stand_in *let_go(void) {
    struct rf_stand_ins *stand_ins = &rf_mpi.stand_ins;
    struct rf_stand_in *first = NULL;
    for (uint32_t i = 0; i < stand_ins->size; i++) {
        struct rf_stand_in *stand_in = stand_ins->entries[i];
        if (stand_in && stand_in->held && (!first || stand_in->order < first->order))
            first = stand_in;
    }
    if (first)
        set_held(first, false);
    return first;
}

static struct rf_stand_in *release_one(void) {
    struct rf_stand_in *first = let_go();
    if (!first || !first->parked)
        return first;
    if (first->persistent) {
        rf_reals.Cancel(&first->inner);
        rf_reals.Request_free(&first->inner);
    } else {
        first->order = UINT64_MAX;
    }
    rf_receive_post(&first->receive, first->receive.source, first->receive.tag, &first->inner);
    return first;
}

void rf_stand_ins_post(void) {
    struct rf_stand_in *released = NULL;
    do {
        lock();
        released = rf_mpi.stand_ins.held ? release_one() : NULL;
        unlock();
        if (released && released->freed)
            free_both(released);
    } while (released);
}

/* A thread that finds none held must find them posted. */
void rf_stand_ins_release(void) {
    lock();
    bool any = rf_mpi.stand_ins.held;
    unlock();
    if (!any || (rf_alone() && rf_the_session.shared))
        return;
    bool kept = rf_kept_begin(RF_RELEASE);
    rf_stand_ins_post();
    if (kept)
        rf_kept_done(MPI_SUCCESS);
}

void rf_stand_ins_close(void) {
    struct rf_stand_ins *stand_ins = &rf_mpi.stand_ins;
    for (uint32_t i = 0; i < stand_ins->size; i++)
        if (stand_ins->entries[i] && stand_ins->entries[i]->freed)
            free_both(stand_ins->entries[i]);
    if (stand_ins->has_never) {
        rf_reals.Cancel(&stand_ins->never);
        rf_reals.Request_free(&stand_ins->never);
    }
    if (stand_ins->has_parking)
        rf_reals.Comm_free(&stand_ins->parking);
    stand_ins->has_never = stand_ins->has_parking = false;
}
