/* Persistent receives: every start is a post of its own. */
#include "mpi/receive.h"

static void record_persistent(MPI_Request request, const struct rf_receive *receive) {
    rf_session_lock(&rf_the_session);
    struct rf_pending_receive *added =
        rf_pending_add(&rf_mpi.pending, request, receive->source, receive->tag, true);
    if (added) {
        added->post.what = rf_pack(RF_POST, rf_channel_of(&rf_mpi.channels, receive->comm), 0);
        added->state = RF_INACTIVE;
    }
    rf_session_unlock(&rf_the_session);
}

/* A new post, if the request is a wildcard receive. */
static void record_start(const struct rf_here *here, MPI_Request request) {
    struct rf_session *session = &rf_the_session;
    rf_session_append(session);
    struct rf_pending_receive *receive = rf_pending_find(&rf_mpi.pending, request);
    if (receive && session->recorder.on)
        rf_pending_post(
            &rf_mpi.pending, &session->recorder, receive,
            rf_here_pack(session, here, RF_POST, rf_packed_channel(receive->post.what)));
    rf_session_unlock(session);
}

#define RF_DEFINE_RECV_INIT(suffix, count_type)                                                    \
    RF_WRAPPER(int, Recv_init##suffix,                                                             \
               (void *buf, count_type count, MPI_Datatype datatype, int source, int tag,           \
                MPI_Comm comm, MPI_Request *request)) {                                            \
        RF_ENTER(Recv_init##suffix, (buf, count, datatype, source, tag, comm, request));           \
        rf_sign(&rf_the_session, &here, source, tag, count);                                       \
        int code = rf_reals.Recv_init##suffix(buf, count, datatype, source, tag, comm, request);   \
        struct rf_receive receive = {buf, count, datatype, source, tag, comm};                     \
        if (code == MPI_SUCCESS && !rf_recording())                                                \
            code = rf_stand_in_persistent(&receive, request);                                      \
        else if (code == MPI_SUCCESS && rf_is_wild(source, tag))                                   \
            record_persistent(*request, &receive);                                                 \
        return rf_leave(&here, code);                                                              \
    }

RF_DEFINE_RECV_INIT(, int)
#ifdef RF_ABI_LARGE_COUNTS
RF_DEFINE_RECV_INIT(_c, MPI_Count)
#endif

static int start(const struct rf_here *here, MPI_Request *request) {
    if (rf_recording()) {
        int code = rf_reals.Start(request);
        if (code == MPI_SUCCESS && rf_pending_any(&rf_mpi.pending))
            record_start(here, *request);
        return code;
    }
    struct rf_stand_in *stand_in =
        rf_stand_ins_any(&rf_mpi.stand_ins) ? rf_stand_in_find(*request) : NULL;
    if (!stand_in) {
        rf_ask_never(*request);
        return rf_reals.Start(request);
    }
    int source = stand_in->receive.source;
    int tag = stand_in->receive.tag;
    enum rf_match match = RF_MATCH_KNOWN;
    if (rf_is_wild(source, tag))
        match = rf_name_post(here, stand_in->receive.comm, &source, &tag);
    else
        rf_end_of_trust(stand_in->receive.comm, source, tag);
    /* What stands behind is a plain receive, and may be asked about. */
    if (!rf_is_wild(stand_in->receive.source, stand_in->receive.tag) && !rf_asking_completes())
        return rf_reals.Start(request);
    return rf_stand_in_start(stand_in, match, source, tag);
}

RF_WRAPPER(int, Start, (MPI_Request * request)) {
    RF_ENTER(Start, (request));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 1);
    rf_turn_begin(&here);
    int code = start(&here, request);
    rf_turn_end(&here);
    return rf_leave(&here, code);
}

/* Starting several is starting each, in the order of the array. */
RF_WRAPPER(int, Startall, (int count, MPI_Request array_of_requests[])) {
    RF_ENTER(Startall, (count, array_of_requests));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, count);
    int code = MPI_SUCCESS;
    rf_turn_begin(&here);
    if (rf_recording()) {
        code = rf_reals.Startall(count, array_of_requests);
        for (int i = 0; code == MPI_SUCCESS && rf_pending_any(&rf_mpi.pending) && i < count; i++)
            record_start(&here, array_of_requests[i]);
    } else if (!rf_stand_ins_any(&rf_mpi.stand_ins)) {
        for (int i = 0; i < count; i++)
            rf_ask_never(array_of_requests[i]);
        code = rf_reals.Startall(count, array_of_requests);
    } else {
        for (int i = 0; code == MPI_SUCCESS && i < count; i++)
            code = start(&here, &array_of_requests[i]);
    }
    rf_turn_end(&here);
    return rf_leave(&here, code);
}
