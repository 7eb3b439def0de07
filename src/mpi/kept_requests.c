/* Extraction: requests, and what comes with their completion. Alone they are real requests of the
   library, but complete from the beginning: when each is completed is known. */
#include <stdlib.h>

#include "mpi/kept.h"

static struct rf_handle_map request_map;
static struct rf_kept_request *requests;
static uint32_t request_room, request_free; /* the free ones are chained through `key` */

static int query(void *unused, MPI_Status *status) {
    (void)unused;
    rf_library.Status_set_elements(status, MPI_BYTE, 0);
    rf_library.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *unused) {
    (void)unused;
    return MPI_SUCCESS;
}

static int cancel(void *unused, int complete) {
    (void)unused;
    (void)complete;
    return MPI_SUCCESS;
}

static void make_request(MPI_Request *request, bool persistent) {
    if (persistent) {
        rf_library.Send_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
    } else {
        rf_library.Grequest_start(query, release, cancel, NULL, request);
        rf_library.Grequest_complete(*request);
    }
}

static bool is_named(MPI_Datatype type) {
    int integers, addresses, types, combiner;
    rf_library.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

/* With nothing to get, a type may be anything. */
static bool is_empty(const struct rf_output *output, int part) {
    return output->count_size == sizeof(int) ? ((const int *)output->counts)[part] <= 0
                                             : ((const int64_t *)output->counts)[part] <= 0;
}

/* The program may free its datatypes before the request is complete. */
void rf_output_hold(struct rf_output *output) {
    if (output->shape == RF_NOTHING)
        return;
    if (output->shape != RF_VARIOUS) {
        output->owns_type = !is_named(output->type);
        if (output->owns_type)
            rf_library.Type_dup(output->type, &output->type);
        return;
    }
    MPI_Datatype *types = rf_kept_room(NULL, (size_t)output->parts * sizeof *types);
    for (int i = 0; i < output->parts; i++)
        rf_library.Type_dup(is_empty(output, i) ? MPI_BYTE : output->types[i], &types[i]);
    output->types = types;
    output->owns_type = true;
}

static void remember(MPI_Request request, const struct rf_kept_request *what) {
    uint64_t key = rf_request_key(request);
    if (!requests || request_free >= request_room) {
        uint32_t first = request_room;
        request_room += request_room + 64;
        requests = rf_kept_room(requests, request_room * sizeof *requests);
        memset(requests + first, 0, (request_room - first) * sizeof *requests);
        for (uint32_t i = first; i < request_room; i++)
            requests[i].key = i + 1;
    }
    uint32_t place = request_free;
    request_free = (uint32_t)requests[place].key;
    requests[place] = *what;
    requests[place].key = key;
    rf_output_hold(&requests[place].output);
    rf_kept_enter(&request_map, key, place);
}

struct rf_kept_request *rf_kept_find(MPI_Request request) {
    uint32_t place = rf_handle_find(&request_map, rf_request_key(request));
    return place == RF_NOWHERE ? NULL : &requests[place];
}

/* A rank alone has the stream while it completes a request. */
static bool are_claimed(void) {
    return rf_the_session.concurrent && !rf_alone();
}

struct rf_claim rf_kept_claim(MPI_Request request) {
    struct rf_claim claim = {request, RF_NOWHERE};
    if (!are_claimed())
        return claim;
    rf_kept_hold();
    claim.place = rf_handle_find(&request_map, rf_request_key(request));
    if (claim.place != RF_NOWHERE) {
        requests[claim.place].claimed = true;
        rf_handle_remove(&request_map, rf_request_key(request));
    }
    rf_kept_release();
    return claim;
}

void rf_kept_give_back(struct rf_claim claim) {
    if (claim.place == RF_NOWHERE)
        return;
    rf_kept_hold();
    requests[claim.place].claimed = false;
    rf_kept_enter(&request_map, requests[claim.place].key, claim.place);
    rf_kept_release();
}

static struct rf_kept_request *claimed(struct rf_claim claim) {
    if (!are_claimed())
        return rf_kept_find(claim.request);
    return claim.place == RF_NOWHERE ? NULL : &requests[claim.place];
}

void rf_output_release(struct rf_output *output) {
    if (output->owns_type && output->shape == RF_VARIOUS) {
        MPI_Datatype *types = (MPI_Datatype *)output->types;
        for (int i = 0; i < output->parts; i++)
            rf_library.Type_free(&types[i]);
        free(types);
    } else if (output->owns_type) {
        rf_library.Type_free(&output->type);
    }
    output->owns_type = false;
}

static void forget(struct rf_kept_request *kept) {
    rf_output_release(&kept->output);
    if (!kept->claimed)
        rf_handle_remove(&request_map, kept->key);
    kept->key = request_free;
    request_free = (uint32_t)(kept - requests);
}

/* The handle of a send that is complete at once. */
static MPI_Request shared_handle(void) {
    MPI_Request request, handle;
    rf_library.Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    handle = request;
    rf_library.Wait(&request, MPI_STATUS_IGNORE);
    return handle;
}

/* The libraries have one handle for all requests that are complete at once, sends among them. They
   could not be told apart, so they are finished here. */
static bool complete_at_once(MPI_Request request, const struct rf_output *output) {
    int32_t complete = 0;
    if (output->shape == RF_NOTHING || output->shape == RF_RECEIVED)
        return false;
    /* Checksums need a place that does not hang on time. */
    if (rf_layer == RF_LAYER_CHECKING)
        return request == shared_handle() || rf_kept_find(request) != NULL;
    if (!rf_alone())
        rf_library.Request_get_status(request, &complete, MPI_STATUS_IGNORE);
    rf_through(&complete, sizeof complete);
    return complete;
}

void rf_kept_post(MPI_Request *request, const struct rf_output *output, MPI_Comm comm,
                  MPI_Comm *made, bool persistent) {
    if (rf_alone())
        make_request(request, persistent);
    if (!persistent && complete_at_once(*request, output)) {
        rf_through_output(output, NULL);
        return;
    }
    struct rf_kept_request *stale = rf_kept_find(*request);
    if (stale)
        forget(stale);
    if (!persistent && output->shape == RF_NOTHING && !made)
        return;
    remember(*request, &(struct rf_kept_request){.output = *output,
                                                 .comm = comm,
                                                 .made = made,
                                                 .persistent = persistent,
                                                 .active = !persistent});
}

/* Alone: what the library does to the handle of a complete request. */
static void retire(MPI_Request before, MPI_Request *request, bool persistent) {
    if (rf_alone() && !persistent && before != MPI_REQUEST_NULL)
        rf_library.Wait(request, MPI_STATUS_IGNORE);
}

static void through_contents(const struct rf_kept_request *kept, const MPI_Status *status) {
    rf_through_output(&kept->output, status);
    if (kept->made)
        rf_through_facts(*kept->made);
}

void rf_kept_show(MPI_Request request, MPI_Status *status) {
    struct rf_kept_request *kept = rf_kept_find(request);
    if (!kept || !kept->active || kept->shown)
        return;
    rf_through_status(status);
    through_contents(kept, status);
    kept->shown = true;
}

void rf_kept_complete(struct rf_claim claim, MPI_Request *request, MPI_Status *status,
                      bool wanted) {
    struct rf_kept_request *kept = claimed(claim);
    bool active = kept && kept->active;
    bool persistent = kept && kept->persistent;
    if (wanted || (active && kept->output.shape == RF_RECEIVED))
        rf_through_status(status);
    if (active) {
        if (!kept->shown)
            through_contents(kept, status);
        kept->shown = kept->active = false;
    }
    if (persistent)
        rf_kept_give_back(claim);
    else if (kept)
        forget(kept);
    retire(claim.request, request, persistent);
}

MPI_Comm rf_kept_comm(struct rf_claim claim) {
    const struct rf_kept_request *kept = claimed(claim);
    return kept ? kept->comm : RF_NO_COMM;
}

bool rf_kept_is_persistent(struct rf_claim claim) {
    const struct rf_kept_request *kept = claimed(claim);
    return kept && kept->persistent;
}

/* ---- freed receives ---- */

static struct orphan {
    MPI_Request request;
    bool owned; /* to be freed here */
    bool told;  /* that it is complete: MPICH 4.2 says of a persistent one only once how */
    MPI_Status status;
    struct rf_output output;
} * orphans;
static int32_t orphan_count, orphan_room;

static bool adopt(MPI_Request request, struct rf_kept_request *kept, bool owned) {
    if (rf_layer == RF_LAYER_CHECKING || !kept->active || kept->shown ||
        kept->output.shape != RF_RECEIVED)
        return false;
    if (orphan_count == orphan_room) {
        int32_t size = orphan_room ? orphan_room * 2 : 16;
        orphans = rf_kept_room(orphans, (size_t)size * sizeof *orphans);
        orphan_room = size;
    }
    orphans[orphan_count++] =
        (struct orphan){.request = request, .owned = owned, .output = kept->output};
    kept->output.owns_type = false;
    return true;
}

static bool is_complete(struct orphan *orphan) {
    int complete = orphan->told;
    if (!complete)
        rf_library.Request_get_status(orphan->request, &complete, &orphan->status);
    return orphan->told = complete;
}

void rf_kept_orphan_told(MPI_Request request, const MPI_Status *status) {
    rf_kept_hold();
    for (int32_t i = 0; i < orphan_count; i++)
        if (orphans[i].request == request && !orphans[i].told) {
            orphans[i].told = true;
            orphans[i].status = *status;
        }
    rf_kept_release();
}

/* Whoever freed a receive while it was recorded frees it in the library now. */
static void last_look(MPI_Request request) {
    int32_t place = 0;
    int complete = 0;
    while (place < orphan_count && (orphans[place].owned || orphans[place].request != request))
        place++;
    if (place == orphan_count)
        return;
    if (!rf_alone())
        complete = is_complete(&orphans[place]);
    rf_through(&complete, sizeof complete);
    if (complete) {
        rf_through_orphan(place);
    } else {
        rf_output_release(&orphans[place].output);
        orphans[place] = orphans[--orphan_count];
    }
}

void rf_kept_adopt(MPI_Request request) {
    rf_kept_call(RF_FN_Request_free, MPI_SUCCESS);
    struct rf_kept_request *kept = rf_kept_find(request);
    if (kept) {
        adopt(request, kept, false);
        forget(kept);
    }
    rf_kept_done(MPI_SUCCESS);
}

/* The library is not told before the receive is complete: else nobody could ask about it. */
int rf_kept_free(MPI_Request *request) {
    rf_kept_call(RF_FN_Request_free, MPI_SUCCESS);
    struct rf_kept_request *kept = rf_kept_find(*request);
    bool adopted = kept && adopt(*request, kept, true);
    if (kept)
        forget(kept);
    else
        last_look(*request);
    int code = MPI_SUCCESS;
    if (rf_alone() || !adopted)
        code = rf_library.Request_free(request);
    else
        *request = MPI_REQUEST_NULL;
    return rf_kept_done(code);
}

void rf_kept_orphans(void) {
    for (int32_t i = 0; i < orphan_count;) {
        if (is_complete(&orphans[i]))
            rf_kept_orphan(i);
        else
            i++;
    }
}

void rf_through_orphan(int32_t number) {
    MPI_Status status = {0};
    if (number < 0 || number >= orphan_count)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
                   "a freed receive was complete here that the program has not posted");
    struct orphan orphan = orphans[number];
    orphans[number] = orphans[--orphan_count];
    if (!rf_alone() && is_complete(&orphan))
        status = orphan.status;
    if (!rf_alone() && orphan.owned)
        rf_library.Request_free(&orphan.request);
    rf_checks_pause(true);
    rf_through_status(&status);
    rf_through_output(&orphan.output, &status);
    rf_checks_pause(false);
    rf_output_release(&orphan.output);
}

void rf_requests_close(void) {
    for (int32_t i = 0; i < orphan_count; i++) {
        if (!rf_alone() && orphans[i].owned)
            rf_library.Request_free(&orphans[i].request);
        rf_output_release(&orphans[i].output);
    }
    orphan_count = 0;
    for (uint32_t i = 0; request_map.slots && i <= request_map.mask; i++)
        if (request_map.slots[i].key)
            rf_output_release(&requests[request_map.slots[i].value].output);
}
