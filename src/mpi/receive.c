/* Receives: blocking, nonblocking, and combined with a send. */
#include "mpi/receive.h"

#include <limits.h>
#include <stdio.h>

#include "mpi/kept.h"

/* ---- naming the message ---- */

static struct rf_asked asked_for(int source, int tag) {
    return (struct rf_asked){source == MPI_ANY_SOURCE ? RF_ANY : source,
                             tag == MPI_ANY_TAG ? RF_ANY : tag};
}

/* The recorded message must be one that the program asks for. */
static void name(const struct rf_here *here, const struct rf_event *event, int *source, int *tag) {
    struct rf_asked asked = asked_for(*source, *tag);
    if ((*source != MPI_ANY_SOURCE && *source != event->first) ||
        (*tag != MPI_ANY_TAG && *tag != event->second))
        rf_diverge(&rf_the_session, here, event, &asked,
                   "the program asks for another message than it got in the recording");
    *source = event->first;
    *tag = event->second;
}

bool rf_end_of_trust(MPI_Comm comm, int source, int tag) {
    if (source < 0 ||
        !rf_stand_ins_in_the_way(comm, source, tag)) /* MPI_PROC_NULL has no message */
        return false;
    struct rf_replayer *replayer = &rf_the_session.replayer;
    snprintf(replayer->progress->reason, sizeof replayer->progress->reason,
             "the recording was cut off while an earlier receive was taking a message; "
             "which one is not known");
    replayer->cursor.ready = false;
    replayer->free = true;
    replayer->progress->free = 1;
    rf_order_let_go();
    return rf_free();
}

bool rf_is_to_be_parked(void) {
    struct rf_session *session = &rf_the_session;
    if (rf_alone() && session->shared && !rf_replay_peek(session))
        return rf_kept_next_is(RF_PARK);
    return rf_replay_at_cut(session);
}

/* A call that failed without a message was refused for its arguments, and will be again. */
enum rf_match rf_name_post(const struct rf_here *here, MPI_Comm comm, int *source, int *tag) {
    if (rf_recorded_error(here))
        return RF_MATCH_KNOWN;
    if (rf_is_to_be_parked())
        return RF_MATCH_UNKNOWN;
    struct rf_asked asked = asked_for(*source, *tag);
    const struct rf_event *event = rf_expect(here, RF_IS(POST), comm, &asked);
    if (!event)
        return RF_MATCH_KNOWN;
    enum rf_match match = event->first == RF_UNKNOWN     ? RF_MATCH_UNSEEN
                          : event->first == RF_UNDEFINED ? RF_MATCH_NOTHING
                                                         : RF_MATCH_KNOWN;
    if (match == RF_MATCH_KNOWN) {
        if (rf_end_of_trust(comm, event->first, event->second))
            return RF_MATCH_KNOWN;
        name(here, event, source, tag);
    }
    rf_take();
    return match;
}

/* ---- blocking calls ---- */

/* The call in which the recorded process died may have got its message already. */
static void name_last(const struct rf_here *here, struct rf_blocking *call) {
    const struct rf_reader *reader = rf_the_session.replayer.reader;
    const struct rf_in_flight *last = &rf_reader_ending(reader)->in_flight;
    if (rf_mpi.flight_used || !last->active || !last->matched)
        return;
    rf_mpi.flight_used = true;
    const struct rf_site *site = rf_reader_site(reader, rf_packed_site(last->what));
    if (!site || strcmp(site->function, here->name) != 0)
        return;
    call->source = last->source;
    call->tag = last->tag;
}

_Thread_local struct rf_blocking *rf_blocking_here __attribute__((tls_model("initial-exec")));

void rf_blocking_cut(void) {
    struct rf_session *session = &rf_the_session;
    const struct rf_blocking *own = rf_blocking_here;
    uint32_t what = !session->concurrent ? *rf_mpi.flight : own ? own->what : 0;
    const MPI_Status *status = session->concurrent && own ? own->status : rf_mpi.room;
    if (!what || status->MPI_SOURCE < 0 || !session->recorder.on)
        return;
    rf_session_append(session);
    rf_recorder_fold(&session->recorder, what, status->MPI_SOURCE, status->MPI_TAG);
    rf_session_unlock(session);
}

void rf_blocking_replay(const struct rf_here *here, struct rf_blocking *call) {
    if (call->wild && !rf_recorded_error(here)) {
        struct rf_asked asked = asked_for(call->source, call->tag);
        const struct rf_event *event = rf_expect(here, 1u << call->kind, call->comm, &asked);
        if (!event) {
            name_last(here, call);
        } else if (!rf_end_of_trust(call->comm, event->first, event->second)) {
            name(here, event, &call->source, &call->tag);
            rf_take();
        }
    } else if (!call->wild) {
        rf_end_of_trust(call->comm, call->source, call->tag);
    }
    rf_progress_wait(&rf_the_session.replayer, here, call->source, call->tag);
}

/* The libraries wait by looking again and again, MPICH without ever giving up the core: that would
   keep it from the very rank that has to send. A receive that is posted and then waited for
   patiently is the same to the program; both libraries fill in its status alike. */
static int receive_patiently(const struct rf_here *here, const struct rf_blocking *call,
                             const struct rf_receive *receive) {
    MPI_Request request;
    int code = rf_receive_post(receive, call->source, call->tag, &request);
    if (code != MPI_SUCCESS)
        return code;
    rf_await(here, request);
    return rf_reals.Wait(&request, call->status);
}

int rf_receive_wild(const struct rf_here *here, const struct rf_receive *receive,
                    MPI_Request *request) {
    int source = receive->source;
    int tag = receive->tag;
    enum rf_match match =
        rf_recording() ? RF_MATCH_KNOWN : rf_name_post(here, receive->comm, &source, &tag);
    if (match != RF_MATCH_KNOWN)
        return rf_stand_in_park(receive, match, request);
    int code = rf_receive_post(receive, source, tag, request);
    if (rf_recording() && code == MPI_SUCCESS)
        rf_record_post(here, *request, source, tag, receive->comm);
    return code;
}

static int replay_irecv(const struct rf_here *here, const struct rf_receive *receive, bool wild,
                        MPI_Request *request) {
    rf_turn_begin(here);
    if (!wild)
        rf_end_of_trust(receive->comm, receive->source, receive->tag);
    int code = wild ? rf_receive_wild(here, receive, request)
                    : rf_receive_post(receive, receive->source, receive->tag, request);
    rf_turn_end(here);
    return code;
}

/* A combined call sends first, and does not return before it has received. */
static inline void ring(MPI_Comm comm, int dest) {
    if (__builtin_expect(!rf_recording(), 0))
        rf_bell_ring(rf_bell_owner(comm, dest, false), RF_BELL_SENT);
}

#define RF_DEFINE_RECEIVES(suffix, count_type)                                                     \
    RF_WRAPPER(int, Recv##suffix,                                                                  \
               (void *buf, count_type count, MPI_Datatype datatype, int source, int tag,           \
                MPI_Comm comm, MPI_Status *status)) {                                              \
        RF_ENTER(Recv##suffix, (buf, count, datatype, source, tag, comm, status));                 \
        rf_sign(&rf_the_session, &here, source, tag, count);                                       \
        struct rf_blocking call;                                                                   \
        rf_blocking_set(&call, RF_RECV, comm, source, tag, status);                                \
        rf_blocking_begin(&here, &call);                                                           \
        int code;                                                                                  \
        if (__builtin_expect(rf_order.on, 0))                                                      \
            code = rf_receive_in_order(                                                            \
                &(struct rf_here){here.name, here.function, here.address}, &call,                  \
                &(struct rf_receive){buf, count, datatype, source, tag, comm}, NULL);              \
        else if (!rf_recording() &&                                                                \
                 rf_may_be_patient(&(struct rf_here){here.name, here.function, here.address},      \
                                   call.source, 0))                                                \
            code = receive_patiently(                                                              \
                &(struct rf_here){here.name, here.function, here.address}, &call,                  \
                &(struct rf_receive){buf, count, datatype, source, tag, comm});                    \
        else                                                                                       \
            code = rf_reals.Recv##suffix(buf, count, datatype, call.source, call.tag, comm,        \
                                         call.status);                                             \
        rf_blocking_end(&call);                                                                    \
        return rf_leave(&here, code);                                                              \
    }                                                                                              \
                                                                                                   \
    RF_WRAPPER(int, Sendrecv##suffix,                                                              \
               (const void *sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest,        \
                int sendtag, void *recvbuf, count_type recvcount, MPI_Datatype recvtype,           \
                int source, int recvtag, MPI_Comm comm, MPI_Status *status)) {                     \
        RF_ENTER(Sendrecv##suffix, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,          \
                                    recvcount, recvtype, source, recvtag, comm, status));          \
        rf_sign(&rf_the_session, &here, dest, sendtag, sendcount);                                 \
        struct rf_blocking call;                                                                   \
        rf_blocking_set(&call, RF_RECV, comm, source, recvtag, status);                            \
        rf_blocking_begin(&here, &call);                                                           \
        ring(comm, dest);                                                                          \
        int code;                                                                                  \
        if (__builtin_expect(rf_order.on, 0))                                                      \
            code = rf_receive_in_order(                                                            \
                &(struct rf_here){here.name, here.function, here.address}, &call,                  \
                &(struct rf_receive){recvbuf, recvcount, recvtype, source, recvtag, comm},         \
                &(struct rf_sending){sendbuf, sendcount, sendtype, dest, sendtag});                \
        else                                                                                       \
            code = rf_reals.Sendrecv##suffix(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, \
                                             recvcount, recvtype, call.source, call.tag, comm,     \
                                             call.status);                                         \
        rf_blocking_end(&call);                                                                    \
        return rf_leave(&here, code);                                                              \
    }                                                                                              \
                                                                                                   \
    RF_WRAPPER(int, Sendrecv_replace##suffix,                                                      \
               (void *buf, count_type count, MPI_Datatype datatype, int dest, int sendtag,         \
                int source, int recvtag, MPI_Comm comm, MPI_Status *status)) {                     \
        RF_ENTER(Sendrecv_replace##suffix,                                                         \
                 (buf, count, datatype, dest, sendtag, source, recvtag, comm, status));            \
        rf_sign(&rf_the_session, &here, dest, sendtag, count);                                     \
        struct rf_blocking call;                                                                   \
        rf_blocking_set(&call, RF_RECV, comm, source, recvtag, status);                            \
        rf_blocking_begin(&here, &call);                                                           \
        ring(comm, dest);                                                                          \
        int code;                                                                                  \
        if (__builtin_expect(rf_order.on, 0))                                                      \
            code = rf_replace_in_order(                                                            \
                &(struct rf_here){here.name, here.function, here.address}, &call,                  \
                &(struct rf_receive){buf, count, datatype, source, recvtag, comm}, dest, sendtag); \
        else                                                                                       \
            code = rf_reals.Sendrecv_replace##suffix(buf, count, datatype, dest, sendtag,          \
                                                     call.source, call.tag, comm, call.status);    \
        rf_blocking_end(&call);                                                                    \
        return rf_leave(&here, code);                                                              \
    }                                                                                              \
                                                                                                   \
    static __attribute__((noinline)) int irecv_otherwise##suffix(                                  \
        uintptr_t address, void *buf, count_type count, MPI_Datatype datatype, int source,         \
        int tag, MPI_Comm comm, MPI_Request *request) {                                            \
        RF_ENTER_FROM(address, Irecv##suffix, (buf, count, datatype, source, tag, comm, request)); \
        rf_sign(&rf_the_session, &here, source, tag, count);                                       \
        bool wild = rf_is_wild(source, tag);                                                       \
        RF_REPLAY(replay_irecv(at, &(struct rf_receive){buf, count, datatype, source, tag, comm},  \
                               wild, request));                                                    \
        rf_turn_begin(&here);                                                                      \
        int code = rf_reals.Irecv##suffix(buf, count, datatype, source, tag, comm, request);       \
        if (wild && code == MPI_SUCCESS)                                                           \
            rf_record_post(&here, *request, source, tag, comm);                                    \
        rf_turn_end(&here);                                                                        \
        return rf_leave(&here, code);                                                              \
    }                                                                                              \
                                                                                                   \
    RF_WRAPPER(int, Irecv##suffix,                                                                 \
               (void *buf, count_type count, MPI_Datatype datatype, int source, int tag,           \
                MPI_Comm comm, MPI_Request *request)) {                                            \
        RF_HERE(Irecv##suffix);                                                                    \
        if (__builtin_expect(!rf_enter_fast(), 0))                                                 \
            return irecv_otherwise##suffix(here.address, buf, count, datatype, source, tag, comm,  \
                                           request);                                               \
        rf_sign_alone(&rf_the_session, &here, source, tag, count);                                 \
        int code = rf_reals.Irecv##suffix(buf, count, datatype, source, tag, comm, request);       \
        if (rf_is_wild(source, tag) && code == MPI_SUCCESS)                                        \
            rf_record_post_alone(&here, *request, source, tag, comm);                              \
        return rf_leave_fast(&here, code);                                                         \
    }

RF_DEFINE_RECEIVES(, int)

#ifdef RF_ABI_LARGE_COUNTS
RF_DEFINE_RECEIVES(_c, MPI_Count)
#endif
