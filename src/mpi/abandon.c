/* Requests that the program gives up before they are complete: MPI_Cancel and MPI_Request_free.

   Whether a cancel wins is up to the library, and what a freed receive takes is told to nobody.
   Recording keeps such requests in `pending` until it knows. */
#include "mpi/abandon.h"

#include <stdlib.h>

#include "mpi/kept.h"

static struct rf_undecided_cancel *find(MPI_Request request) {
    struct rf_undecided *undecided = &rf_mpi.undecided;
    for (int i = 0; i < undecided->count; i++)
        if (undecided->entries[i].request == request)
            return &undecided->entries[i];
    return NULL;
}

static void lock(void) {
    if (rf_the_session.concurrent)
        rf_lock(&rf_mpi.undecided.lock);
}

static void unlock(void) {
    if (rf_the_session.concurrent)
        rf_unlock(&rf_mpi.undecided.lock);
}

bool rf_undecided_has(MPI_Request request) {
    lock();
    bool found = find(request);
    unlock();
    return found;
}

/* Under the lock. */
static int enter(MPI_Request request) {
    struct rf_undecided *undecided = &rf_mpi.undecided;
    if (undecided->count == undecided->size) {
        int size = undecided->size ? undecided->size * 2 : 16;
        struct rf_undecided_cancel *entries =
            realloc(undecided->entries, (size_t)size * sizeof *undecided->entries);
        if (!entries)
            return MPI_ERR_NO_MEM;
        undecided->entries = entries;
        undecided->size = size;
    }
    undecided->entries[undecided->count++] = (struct rf_undecided_cancel){request, false};
    return MPI_SUCCESS;
}

static int add(MPI_Request request) {
    lock();
    int code = enter(request);
    unlock();
    return code;
}

static int replay_free(MPI_Request *request) {
    struct rf_stand_in *stand_in = rf_stand_in_find(*request);
    return stand_in ? rf_stand_in_free(stand_in, request) : rf_reals.Request_free(request);
}

void rf_undecided_release(void) {
    struct rf_undecided *undecided = &rf_mpi.undecided;
    lock();
    while (undecided->count) {
        struct rf_undecided_cancel *cancel = &undecided->entries[--undecided->count];
        MPI_Request inner = rf_stand_in_inner(cancel->request);
        rf_reals.Cancel(&inner);
        if (cancel->freed)
            replay_free(&cancel->request);
    }
    unlock();
}

/* The cancel won in the recording. A wildcard receive that was cancelled is parked, and this
   succeeds; any other has been posted, and its message may have come this time. */
static void must_be_cancelled(const struct rf_here *here, MPI_Request request) {
    MPI_Status status;
    struct rf_patience patience = {.wait = RF_BELL_ANYBODY};
    bool complete;
    rf_progress_wait(&rf_the_session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    /* A generalized request is complete when the program says so, maybe after this call. */
    while (!(complete = rf_look(request, &status)) && !rf_unasked_any())
        rf_wait_a_little(&patience);
    rf_waited(&patience);
    if (complete && !rf_status_cancelled(&status))
        rf_diverge(&rf_the_session, here, rf_replay_peek(&rf_the_session), NULL,
                   "the request was cancelled in the recording, but is complete here: its message "
                   "was faster");
}

static int replay_cancel(const struct rf_here *here, MPI_Request *request) {
    const struct rf_event *event =
        rf_recorded_error(here) ? NULL : rf_expect(here, RF_IS(CANCEL), RF_NO_COMM, NULL);
    MPI_Request inner = rf_stand_in_inner(*request);
    if (!event)
        return rf_reals.Cancel(&inner);
    int code = MPI_SUCCESS;
    if (event->first == RF_UNKNOWN) {
        code = add(*request);
    } else if (event->first) {
        code = rf_reals.Cancel(&inner);
        must_be_cancelled(here, inner);
        rf_stand_in_cancelled(*request);
    }
    rf_take();
    return code;
}

RF_WRAPPER(int, Cancel, (MPI_Request * request)) {
    RF_ENTER(Cancel, (request));
    RF_REPLAY(replay_cancel(at, request));
    int code = rf_reals.Cancel(request);
    if (code == MPI_SUCCESS)
        rf_pending_cancel(&here, *request);
    return rf_leave(&here, code);
}

RF_WRAPPER(int, Request_free, (MPI_Request * request)) {
    RF_ENTER(Request_free, (request));
    lock();
    struct rf_undecided_cancel *undecided = find(*request);
    int code = MPI_SUCCESS;
    if (undecided)
        undecided->freed = true;
    unlock();
    bool orphan = rf_recording() && rf_pending_orphan(*request);
    if (orphan && rf_layer != RF_LAYER_NONE)
        rf_kept_adopt(*request);
    if (undecided || orphan)
        *request = MPI_REQUEST_NULL;
    else
        code = rf_recording() ? rf_reals.Request_free(request) : replay_free(request);
    return rf_leave_uncounted(&here, code);
}
