/* Blocking receives of programs whose threads call at the same time.

   No lock and no turn may be held while a call blocks. So a blocking receive is a nonblocking one,
   whose post takes its turn among the posts and sends of all threads, and a wait. */
#include <limits.h>
#include <stdlib.h>

#include "mpi/complete_replay.h"
#include "mpi/receive.h"

/* What goes wrong with a blocking receive its communicator is told of. MPICH tells the world of
   what goes wrong with a request, except if that is persistent; version 4.2 does not, and is not to
   be asked about persistent ones. */
static int post(const struct rf_receive *receive, int source, int tag, MPI_Request *request) {
    bool as_it_is = !RF_ABI_LOOK_RAISES || rf_asking_completes();
    if (as_it_is || receive->comm == MPI_COMM_WORLD || receive->count > INT_MAX)
        return rf_receive_post(receive, source, tag, request);
    int code = rf_reals.Recv_init(receive->buffer, (int)receive->count, receive->type, source, tag,
                                  receive->comm, request);
    if (code == MPI_SUCCESS)
        code = rf_reals.Start(request);
    if (code == MPI_SUCCESS && !rf_recording())
        rf_bell_expect(*request, receive->comm, source, RF_BELL_SENT);
    return code;
}

/* Replay: a thread whose recording was cut off in this very call has posted its receive. */
static int post_again(const struct rf_here *here, struct rf_blocking *call,
                      const struct rf_receive *receive, MPI_Request *request) {
    if (call->wild && !rf_recorded_error(here) && rf_is_to_be_parked())
        return rf_stand_in_park(receive, RF_MATCH_UNKNOWN, request);
    rf_blocking_replay(here, call);
    return post(receive, call->source, call->tag, request);
}

/* A call that is refused because of what it sends must not receive either. */
static int start_both(const struct rf_here *here, struct rf_blocking *call,
                      const struct rf_receive *receive, const struct rf_sending *sending,
                      MPI_Request *received, MPI_Request *sent) {
    rf_turn_begin_ordered(here);
    int code = rf_recording() ? post(receive, call->source, call->tag, received)
                              : post_again(here, call, receive, received);
    if (code == MPI_SUCCESS && sending) {
        code = rf_sending_post(sending, call->comm, sent);
        if (code != MPI_SUCCESS) {
            rf_reals.Cancel(received);
            rf_reals.Request_free(received);
        }
    }
    rf_turn_end_ordered(here);
    return code;
}

static int wait_for(const struct rf_here *here, MPI_Request *request, MPI_Status *status) {
    if (!rf_recording() && rf_stand_in_find(*request))
        return rf_replay_wait(here, request, status);
    if (!rf_recording())
        rf_await(here, *request);
    int code = rf_reals.Wait(request, status);
    if (*request != MPI_REQUEST_NULL)
        rf_reals.Request_free(request);
    return code;
}

int rf_receive_in_order(const struct rf_here *here, struct rf_blocking *call,
                        const struct rf_receive *receive, const struct rf_sending *sending) {
    MPI_Request received = MPI_REQUEST_NULL;
    MPI_Request sent = MPI_REQUEST_NULL;
    int code = start_both(here, call, receive, sending, &received, &sent);
    if (code != MPI_SUCCESS)
        return code;
    if (sending && !rf_recording())
        rf_bell_ring(rf_bell_owner(call->comm, sending->dest, true), RF_BELL_SENT);
    code = wait_for(here, &received, call->status);
    if (!sending)
        return code;
    int other = wait_for(here, &sent, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? other : code;
}

int rf_replace_in_order(const struct rf_here *here, struct rf_blocking *call,
                        const struct rf_receive *receive, int dest, int tag) {
    struct rf_sending sending;
    void *copy;
    int code = rf_sending_copy(receive, dest, tag, &sending, &copy);
    if (code == MPI_SUCCESS)
        code = rf_receive_in_order(here, call, receive, &sending);
    free(copy);
    return code;
}
