/* Extraction: the functions whose outputs depend on one another: receives with a status, probes,
   and a few that make or end objects. */
#include "mpi/kept.h"

static const struct rf_output nothing = {.shape = RF_NOTHING};

/* ---- receives ---- */

static void finish_receive(void *buffer, MPI_Count count, MPI_Datatype type, int source,
                           MPI_Status *status) {
    struct rf_output output = {.shape = source == MPI_PROC_NULL ? RF_NOTHING : RF_RECEIVED,
                               .buffer = buffer,
                               .count = count,
                               .type = type};
    rf_through_status(status);
    rf_through_output(&output, status);
}

#define RF_KEEP_RECEIVES(suffix, count_type)                                                       \
    static int kept_Recv##suffix(void *buf, count_type count, MPI_Datatype datatype, int source,   \
                                 int tag, MPI_Comm comm, MPI_Status *status) {                     \
        MPI_Status own = {0};                                                                      \
        MPI_Status *seen = status == MPI_STATUS_IGNORE ? &own : status;                            \
        int code = rf_alone()                                                                      \
                       ? MPI_SUCCESS                                                               \
                       : rf_library.Recv##suffix(buf, count, datatype, source, tag, comm, seen);   \
        code = rf_kept_call(RF_FN_Recv##suffix, code);                                             \
        finish_receive(buf, count, datatype, source, seen);                                        \
        return rf_kept_end(comm, code);                                                            \
    }                                                                                              \
                                                                                                   \
    static int kept_Sendrecv##suffix(const void *sendbuf, count_type sendcount,                    \
                                     MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,  \
                                     count_type recvcount, MPI_Datatype recvtype, int source,      \
                                     int recvtag, MPI_Comm comm, MPI_Status *status) {             \
        MPI_Status own = {0};                                                                      \
        MPI_Status *seen = status == MPI_STATUS_IGNORE ? &own : status;                            \
        int code = rf_alone() ? MPI_SUCCESS                                                        \
                              : rf_library.Sendrecv##suffix(sendbuf, sendcount, sendtype, dest,    \
                                                            sendtag, recvbuf, recvcount, recvtype, \
                                                            source, recvtag, comm, seen);          \
        code = rf_kept_call(RF_FN_Sendrecv##suffix, code);                                         \
        finish_receive(recvbuf, recvcount, recvtype, source, seen);                                \
        return rf_kept_end(comm, code);                                                            \
    }                                                                                              \
                                                                                                   \
    static int kept_Sendrecv_replace##suffix(void *buf, count_type count, MPI_Datatype datatype,   \
                                             int dest, int sendtag, int source, int recvtag,       \
                                             MPI_Comm comm, MPI_Status *status) {                  \
        MPI_Status own = {0};                                                                      \
        MPI_Status *seen = status == MPI_STATUS_IGNORE ? &own : status;                            \
        int code = rf_alone()                                                                      \
                       ? MPI_SUCCESS                                                               \
                       : rf_library.Sendrecv_replace##suffix(buf, count, datatype, dest, sendtag,  \
                                                             source, recvtag, comm, seen);         \
        code = rf_kept_call(RF_FN_Sendrecv_replace##suffix, code);                                 \
        finish_receive(buf, count, datatype, source, seen);                                        \
        return rf_kept_end(comm, code);                                                            \
    }                                                                                              \
                                                                                                   \
    static int kept_Mrecv##suffix(void *buf, count_type count, MPI_Datatype type,                  \
                                  MPI_Message *message, MPI_Status *status) {                      \
        MPI_Status own = {0};                                                                      \
        MPI_Status *seen = status == MPI_STATUS_IGNORE ? &own : status;                            \
        int source = *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0;                          \
        int code = MPI_SUCCESS;                                                                    \
        if (rf_alone())                                                                            \
            rf_message_end(message);                                                               \
        else                                                                                       \
            code = rf_library.Mrecv##suffix(buf, count, type, message, seen);                      \
        code = rf_kept_call(RF_FN_Mrecv##suffix, code);                                            \
        finish_receive(buf, count, type, source, seen);                                            \
        return rf_kept_end(RF_NO_COMM, code);                                                      \
    }                                                                                              \
                                                                                                   \
    static int kept_Imrecv##suffix(void *buf, count_type count, MPI_Datatype type,                 \
                                   MPI_Message *message, MPI_Request *request) {                   \
        struct rf_output output = {.shape =                                                        \
                                       *message == MPI_MESSAGE_NO_PROC ? RF_NOTHING : RF_RECEIVED, \
                                   .buffer = buf,                                                  \
                                   .count = count,                                                 \
                                   .type = type};                                                  \
        int code = MPI_SUCCESS;                                                                    \
        if (rf_alone())                                                                            \
            rf_message_end(message);                                                               \
        else                                                                                       \
            code = rf_library.Imrecv##suffix(buf, count, type, message, request);                  \
        code = rf_kept_call(RF_FN_Imrecv##suffix, code);                                           \
        if (code == MPI_SUCCESS)                                                                   \
            rf_kept_post(request, &output, RF_NO_COMM, NULL, false);                               \
        return rf_kept_done(code);                                                                 \
    }

RF_KEEP_RECEIVES(, int)
#ifdef RF_ABI_LARGE_COUNTS
RF_KEEP_RECEIVES(_c, MPI_Count)
#endif

/* ---- probes ---- */

static int kept_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Probe(source, tag, comm, status);
    code = rf_kept_call(RF_FN_Probe, code);
    if (status != MPI_STATUS_IGNORE)
        rf_through_status(status);
    return rf_kept_end(comm, code);
}

static int kept_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Iprobe(source, tag, comm, flag, status);
    if (!rf_kept_answer(code, *flag))
        return code;
    code = rf_kept_call(RF_FN_Iprobe, code);
    rf_through(flag, sizeof *flag);
    if (*flag && status != MPI_STATUS_IGNORE)
        rf_through_status(status);
    return rf_kept_end(comm, code);
}

static int kept_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                       MPI_Status *status) {
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Mprobe(source, tag, comm, message, status);
    code = rf_kept_call(RF_FN_Mprobe, code);
    if (code == MPI_SUCCESS)
        rf_through_message(message);
    if (status != MPI_STATUS_IGNORE)
        rf_through_status(status);
    return rf_kept_end(comm, code);
}

static int kept_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status) {
    int code =
        rf_alone() ? MPI_SUCCESS : rf_library.Improbe(source, tag, comm, flag, message, status);
    if (!rf_kept_answer(code, *flag))
        return code;
    code = rf_kept_call(RF_FN_Improbe, code);
    rf_through(flag, sizeof *flag);
    if (*flag) {
        rf_through_message(message);
        if (status != MPI_STATUS_IGNORE)
            rf_through_status(status);
    }
    return rf_kept_end(comm, code);
}

/* ---- persistent requests ---- */

static void start(MPI_Request request) {
    struct rf_kept_request *kept = rf_kept_find(request);
    if (kept)
        kept->active = true;
}

static int kept_Start(MPI_Request *request) {
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Start(request);
    code = rf_kept_call(RF_FN_Start, code);
    if (code == MPI_SUCCESS)
        start(*request);
    return rf_kept_done(code);
}

static int kept_Startall(int count, MPI_Request *requests) {
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Startall(count, requests);
    code = rf_kept_call(RF_FN_Startall, code);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        start(requests[i]);
    return rf_kept_done(code);
}

static int kept_Request_free(MPI_Request *request) {
    return rf_kept_free(request);
}

/* ---- communicators ---- */

/* The handle may be given away again before the library is back. */
static MPI_Comm forget_comm(MPI_Comm comm) {
    rf_kept_hold();
    rf_facts_forget(comm);
    MPI_Comm inner = rf_inheritance_end(comm);
    rf_kept_release();
    return inner;
}

static int end_comm(MPI_Comm inner, int code) {
    if (inner != MPI_COMM_NULL)
        rf_library.Comm_free(&inner);
    rf_kept_hold();
    rf_kept_callbacks(true);
    return rf_kept_done(code);
}

static int kept_Comm_free(MPI_Comm *comm) {
    MPI_Comm inner = forget_comm(*comm);
    return end_comm(inner, rf_library.Comm_free(comm));
}

static int kept_Comm_disconnect(MPI_Comm *comm) {
    MPI_Comm inner = forget_comm(*comm);
    return end_comm(inner, rf_library.Comm_disconnect(comm));
}

/* Attributes are copied at once; what there is to know of the new one is known when it is complete.
 */
static int post_idup(enum rf_function function, int code, MPI_Comm comm, MPI_Comm *newcomm,
                     MPI_Request *request) {
    code = rf_kept_call(function, code);
    if (code != MPI_SUCCESS)
        return rf_kept_end(comm, code);
    rf_through_attributes(newcomm, comm, false);
    rf_kept_post(request, &nothing, comm, newcomm, false);
    return rf_kept_done(code);
}

static int kept_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request) {
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Comm_idup(comm, newcomm, request);
    return post_idup(RF_FN_Comm_idup, code, comm, newcomm, request);
}

#ifdef RF_DECLARES_Comm_idup_with_info
static int kept_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm,
                                    MPI_Request *request) {
    int code =
        rf_alone() ? MPI_SUCCESS : rf_library.Comm_idup_with_info(comm, info, newcomm, request);
    return post_idup(RF_FN_Comm_idup_with_info, code, comm, newcomm, request);
}
#endif

/* ---- attributes ---- */

/* Those that tell of the job: alone the library would answer for a job of one, and MPICH looks for
   a launcher to ask. The program gets the address of a number. */
static int *job_attribute(int keyval) {
    static const int keys[] = {MPI_TAG_UB,          MPI_HOST,          MPI_IO,
                               MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM};
    static int values[sizeof keys / sizeof *keys];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i] == keyval)
            return &values[i];
    return NULL;
}

bool rf_is_of_job(int keyval) {
    return job_attribute(keyval);
}

#define RF_KEEP_ATTRIBUTE(name)                                                                    \
    static int kept_##name(MPI_Comm comm, int keyval, void *attribute, int *flag) {                \
        int *value = job_attribute(keyval);                                                        \
        if (!value)                                                                                \
            return rf_library.name(comm, keyval, attribute, flag);                                 \
        int code = rf_alone() ? MPI_SUCCESS : rf_library.name(comm, keyval, attribute, flag);      \
        code = rf_kept_call(RF_FN_##name, code);                                                   \
        if (code == MPI_SUCCESS)                                                                   \
            through_attribute(value, attribute, flag);                                             \
        return rf_kept_end(comm, code);                                                            \
    }

static void through_attribute(int *value, int **attribute, int *flag) {
    rf_through(flag, sizeof *flag);
    if (!*flag)
        return;
    if (!rf_alone())
        *value = **attribute;
    rf_through(value, sizeof *value);
    *attribute = value;
}

RF_KEEP_ATTRIBUTE(Comm_get_attr)
RF_KEEP_ATTRIBUTE(Attr_get)

static double kept_Wtime(void) {
    double now = rf_alone() ? 0 : rf_library.Wtime();
    rf_kept_call(RF_FN_Wtime, MPI_SUCCESS);
    rf_through(&now, sizeof now);
    rf_kept_done(MPI_SUCCESS);
    return now;
}

void rf_layer_by_hand(struct rf_real *reals) {
#define RF_SET(name) reals->name = kept_##name;
    RF_SET(Recv)
    RF_SET(Sendrecv)
    RF_SET(Sendrecv_replace)
    RF_SET(Mrecv)
    RF_SET(Imrecv)
#ifdef RF_ABI_LARGE_COUNTS
    RF_SET(Recv_c)
    RF_SET(Sendrecv_c)
    RF_SET(Sendrecv_replace_c)
    RF_SET(Mrecv_c)
    RF_SET(Imrecv_c)
#endif
#ifdef RF_DECLARES_Comm_idup_with_info
    RF_SET(Comm_idup_with_info)
#endif
    RF_SET(Probe)
    RF_SET(Iprobe)
    RF_SET(Mprobe)
    RF_SET(Improbe)
    RF_SET(Request_free)
    RF_SET(Start)
    RF_SET(Startall)
    RF_SET(Comm_free)
    RF_SET(Comm_disconnect)
    RF_SET(Comm_idup)
    RF_SET(Comm_get_attr)
    RF_SET(Attr_get)
    RF_SET(Wtime)
#undef RF_SET
}
