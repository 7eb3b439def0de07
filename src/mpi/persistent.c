/* Persistent receives: every start is a post of its own. */
#include "mpi/receive.h"

#define RF_DEFINE_RECV_INIT(suffix, count_type)                                                    \
    RF_WRAPPER(int, Recv_init##suffix,                                                             \
               (void *buf, count_type count, MPI_Datatype datatype, int source, int tag,           \
                MPI_Comm comm, MPI_Request *request)) {                                            \
        RF_ENTER(Recv_init##suffix, (buf, count, datatype, source, tag, comm, request));           \
        rf_sign(&rf_the_session, &here, source, tag, count);                                       \
        int code = rf_reals.Recv_init##suffix(buf, count, datatype, source, tag, comm, request);   \
        if (code == MPI_SUCCESS && rf_is_wild(source, tag)) {                                      \
            if (rf_recording())                                                                    \
                rf_pending_persistent(*request, comm);                                             \
            else                                                                                   \
                code = rf_stand_in_persistent(                                                     \
                    &(struct rf_receive){buf, count, datatype, source, tag, comm}, request);       \
        }                                                                                          \
        return rf_leave(&here, outer, code);                                                       \
    }

RF_DEFINE_RECV_INIT(, int)
#ifdef RF_ABI_LARGE_COUNTS
RF_DEFINE_RECV_INIT(_c, MPI_Count)
#endif

static int start(const struct rf_here *here, MPI_Request *request) {
    if (rf_recording()) {
        int code = rf_reals.Start(request);
        if (code == MPI_SUCCESS && rf_pending_any(&rf_mpi.pending))
            rf_pending_start(here, *request);
        return code;
    }
    struct rf_stand_in *stand_in =
        rf_stand_ins_any(&rf_mpi.stand_ins) ? rf_stand_in_find(*request) : NULL;
    if (!stand_in)
        return rf_reals.Start(request);
    int source = stand_in->receive.source;
    int tag = stand_in->receive.tag;
    enum rf_naming naming = rf_name_post(here, stand_in->receive.comm, &source, &tag);
    return rf_stand_in_start(stand_in, naming != RF_NAME_HELD, source, tag);
}

RF_WRAPPER(int, Start, (MPI_Request * request)) {
    RF_ENTER(Start, (request));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 1);
    return rf_leave(&here, outer, start(&here, request));
}

/* Starting several is starting each, in the order of the array. */
RF_WRAPPER(int, Startall, (int count, MPI_Request array_of_requests[])) {
    RF_ENTER(Startall, (count, array_of_requests));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, count);
    int code = MPI_SUCCESS;
    if (rf_recording()) {
        code = rf_reals.Startall(count, array_of_requests);
        for (int i = 0; code == MPI_SUCCESS && rf_pending_any(&rf_mpi.pending) && i < count; i++)
            rf_pending_start(&here, array_of_requests[i]);
    } else if (!rf_stand_ins_any(&rf_mpi.stand_ins)) {
        code = rf_reals.Startall(count, array_of_requests);
    } else {
        for (int i = 0; code == MPI_SUCCESS && i < count; i++)
            code = start(&here, &array_of_requests[i]);
    }
    return rf_leave(&here, outer, code);
}
