/* Extraction: the functions whose outputs depend on one another: receives with a status, probes,
   completion, and a few that make or end objects. */
#include "mpi/kept.h"

static const struct rf_output nothing = {.shape = RF_NOTHING};

/* A question that may be answered with no. While the replay follows the recording it asks only for
   what happened, again and again until it does: then only the yes is kept, and alone it comes at
   once. A program that has outrun its recording is free, as is one that is being recorded, and
   there every answer counts. */
static bool every_answer_counts(void) {
    return rf_recording() || rf_the_session.replayer.free;
}

static bool is_kept(int code, int yes) {
    return rf_alone() || code != MPI_SUCCESS || yes || every_answer_counts();
}

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
    if (!is_kept(code, *flag))
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
    if (!is_kept(code, *flag))
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

/* ---- completion ---- */

/* The handles as they are before the call, claimed, and statuses for those who have none. The
   wrappers above use their own scratch. */
static struct rf_scratch *copies(int count, const MPI_Request *requests) {
    static _Thread_local __attribute__((tls_model("initial-exec"))) struct rf_scratch scratches[2];
    struct rf_scratch *scratch = &scratches[rf_depth > 1];
    if (count > scratch->size)
        rf_scratch_grow(scratch, count);
    for (int i = 0; i < count; i++) {
        scratch->requests[i] = requests[i];
        scratch->numbers[i] = (int32_t)rf_kept_claim(requests[i]).place;
    }
    return scratch;
}

static struct rf_claim claim_of(const struct rf_scratch *before, int i) {
    return (struct rf_claim){before->requests[i], (uint32_t)before->numbers[i]};
}

static void complete(struct rf_scratch *before, int i, MPI_Request *request, MPI_Status *status,
                     bool wanted) {
    struct rf_claim claim = claim_of(before, i);
    before->numbers[i] = (int32_t)RF_NOWHERE;
    rf_kept_complete(claim, request, status, wanted);
}

/* What was claimed and has not been completed. */
static int give_back(const struct rf_scratch *before, int count, int code) {
    for (int i = 0; i < count; i++)
        rf_kept_give_back(claim_of(before, i));
    return code;
}

/* Whose error handler hears of a request. With MPICH it is the world's, except if the request is
   persistent and the only one of the call. */
static MPI_Comm hearer(struct rf_claim claim, bool only) {
    bool world = RF_ABI_LOOK_RAISES && !(only && rf_kept_is_persistent(claim));
    return world ? RF_NO_COMM : rf_kept_comm(claim);
}

static int kept_Wait(MPI_Request *request, MPI_Status *status) {
    MPI_Status own = {0};
    MPI_Status *seen = status == MPI_STATUS_IGNORE ? &own : status;
    struct rf_claim before = rf_kept_claim(*request);
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Wait(request, seen);
    code = rf_kept_call(RF_FN_Wait, code);
    MPI_Comm comm = hearer(before, true);
    rf_kept_complete(before, request, seen, status != MPI_STATUS_IGNORE);
    return rf_kept_end(comm, code);
}

static int kept_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    MPI_Status own = {0};
    MPI_Status *seen = status == MPI_STATUS_IGNORE ? &own : status;
    struct rf_claim before = rf_kept_claim(*request);
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Test(request, flag, seen);
    if (!is_kept(code, *flag)) {
        rf_kept_give_back(before);
        return code;
    }
    code = rf_kept_call(RF_FN_Test, code);
    rf_through(flag, sizeof *flag);
    MPI_Comm comm = hearer(before, true);
    if (*flag)
        rf_kept_complete(before, request, seen, status != MPI_STATUS_IGNORE);
    else
        rf_kept_give_back(before);
    return rf_kept_end(comm, code);
}

_Thread_local bool rf_program_asks __attribute__((tls_model("initial-exec")));

/* Mostly it is only a look of our own, and answered with yes when alone. A rank that has outrun its
   recording makes each; where there are threads, another one may have done so. */
static int kept_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    MPI_Status own = {0};
    bool asked = rf_program_asks, wanted = status != MPI_STATUS_IGNORE;
    bool look = !asked && !wanted && !rf_recording();
    MPI_Status *seen = asked && !wanted ? &own : status;
    int code = MPI_SUCCESS;
    if (rf_alone())
        *flag = 1;
    else
        code = rf_library.Request_get_status(request, flag, seen);
    if (look)
        rf_fatal_unheard();
    if (look && !(rf_alone() ? rf_kept_next_is(RF_LOOK) : every_answer_counts()))
        return code;
    if (!is_kept(code, *flag))
        return code;
    code = rf_kept_call(look ? RF_LOOK : RF_FN_Request_get_status, code);
    rf_through(flag, sizeof *flag);
    if (*flag && wanted)
        rf_through_status(status);
    if (*flag && asked)
        rf_kept_show(request, seen);
    return rf_kept_done(code);
}

/* Whose error handler hears of a call for several requests, and what: Open MPI takes the first that
   failed and its error, MPICH always the world and what the call returns. */
struct blame {
    MPI_Comm comm;
    int heard;
};

static void blame(struct blame *blame, MPI_Comm candidate, const MPI_Status *status) {
    if (RF_ABI_LOOK_RAISES || blame->comm != RF_NO_COMM || status->MPI_ERROR == MPI_SUCCESS)
        return;
    blame->comm = candidate == RF_NO_COMM ? MPI_COMM_WORLD : candidate;
    blame->heard = status->MPI_ERROR;
}

static int end_blaming(const struct blame *blame, const struct rf_scratch *before, int count,
                       int code) {
    bool heard = code != MPI_SUCCESS && blame->comm != RF_NO_COMM;
    give_back(before, count, code);
    rf_kept_end(blame->comm, heard ? blame->heard : code);
    return code;
}

/* All of them, or, if some failed, those of which the statuses tell. */
static struct blame complete_all(int code, int count, MPI_Request *requests,
                                 struct rf_scratch *before, MPI_Status *statuses, bool wanted) {
    struct blame failed = {RF_NO_COMM, MPI_SUCCESS};
    for (int i = 0; i < count; i++) {
        int32_t completed = code == MPI_SUCCESS || statuses[i].MPI_ERROR != MPI_ERR_PENDING;
        MPI_Comm own = rf_kept_comm(claim_of(before, i));
        if (code != MPI_SUCCESS)
            rf_through(&completed, sizeof completed);
        if (completed)
            complete(before, i, &requests[i], &statuses[i], wanted);
        else if (wanted)
            rf_through_status(&statuses[i]);
        if (completed && code != MPI_SUCCESS)
            blame(&failed, own, &statuses[i]);
    }
    return failed;
}

static int kept_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    struct rf_scratch *before = copies(count, requests);
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Status *seen = wanted ? statuses : before->statuses;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Waitall(count, requests, seen);
    code = rf_kept_call(RF_FN_Waitall, code);
    struct blame failed = complete_all(code, count, requests, before, seen, wanted);
    return end_blaming(&failed, before, count, code);
}

static int kept_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    struct rf_scratch *before = copies(count, requests);
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Status *seen = wanted ? statuses : before->statuses;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Testall(count, requests, flag, seen);
    if (!is_kept(code, *flag))
        return give_back(before, count, code);
    code = rf_kept_call(RF_FN_Testall, code);
    rf_through(flag, sizeof *flag);
    struct blame failed = {RF_NO_COMM, MPI_SUCCESS};
    if (*flag || code != MPI_SUCCESS)
        failed = complete_all(code, count, requests, before, seen, wanted);
    return end_blaming(&failed, before, count, code);
}

/* The one that was chosen; none if there was nothing to choose from. */
static MPI_Comm complete_one(int index, int count, MPI_Request *requests, struct rf_scratch *before,
                             MPI_Status *status, bool wanted) {
    MPI_Comm comm = index == MPI_UNDEFINED ? RF_NO_COMM : hearer(claim_of(before, index), false);
    if (index != MPI_UNDEFINED)
        complete(before, index, &requests[index], status, wanted);
    else if (wanted)
        rf_through_status(status);
    give_back(before, count, MPI_SUCCESS);
    return comm;
}

static int kept_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
    struct rf_scratch *before = copies(count, requests);
    MPI_Status own = {0};
    bool wanted = status != MPI_STATUS_IGNORE;
    MPI_Status *seen = wanted ? status : &own;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Waitany(count, requests, index, seen);
    code = rf_kept_call(RF_FN_Waitany, code);
    rf_through(index, sizeof *index);
    return rf_kept_end(complete_one(*index, count, requests, before, seen, wanted), code);
}

static int kept_Testany(int count, MPI_Request *requests, int *index, int *flag,
                        MPI_Status *status) {
    struct rf_scratch *before = copies(count, requests);
    MPI_Status own = {0};
    bool wanted = status != MPI_STATUS_IGNORE;
    MPI_Status *seen = wanted ? status : &own;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Testany(count, requests, index, flag, seen);
    if (!is_kept(code, *flag))
        return give_back(before, count, code);
    code = rf_kept_call(RF_FN_Testany, code);
    rf_through(flag, sizeof *flag);
    rf_through(index, sizeof *index);
    MPI_Comm comm = RF_NO_COMM;
    if (*flag)
        comm = complete_one(*index, count, requests, before, seen, wanted);
    else
        give_back(before, count, code);
    return rf_kept_end(comm, code);
}

static int complete_some(enum rf_function function, int code, int count, MPI_Request *requests,
                         struct rf_scratch *before, int *done, int *indices, MPI_Status *statuses,
                         bool wanted) {
    struct blame failed = {RF_NO_COMM, MPI_SUCCESS};
    code = rf_kept_call(function, code);
    rf_through(done, sizeof *done);
    for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++) {
        rf_through(&indices[i], sizeof indices[i]);
        MPI_Comm own = rf_kept_comm(claim_of(before, indices[i]));
        complete(before, indices[i], &requests[indices[i]], &statuses[i], wanted);
        if (code != MPI_SUCCESS)
            blame(&failed, own, &statuses[i]);
    }
    return end_blaming(&failed, before, count, code);
}

static int kept_Waitsome(int count, MPI_Request *requests, int *done, int *indices,
                         MPI_Status *statuses) {
    struct rf_scratch *before = copies(count, requests);
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Status *seen = wanted ? statuses : before->statuses;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Waitsome(count, requests, done, indices, seen);
    return complete_some(RF_FN_Waitsome, code, count, requests, before, done, indices, seen,
                         wanted);
}

static int kept_Testsome(int count, MPI_Request *requests, int *done, int *indices,
                         MPI_Status *statuses) {
    struct rf_scratch *before = copies(count, requests);
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Status *seen = wanted ? statuses : before->statuses;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.Testsome(count, requests, done, indices, seen);
    if (!is_kept(code, *done))
        return give_back(before, count, code);
    return complete_some(RF_FN_Testsome, code, count, requests, before, done, indices, seen,
                         wanted);
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
    RF_SET(Wait)
    RF_SET(Waitall)
    RF_SET(Waitany)
    RF_SET(Waitsome)
    RF_SET(Test)
    RF_SET(Testall)
    RF_SET(Testany)
    RF_SET(Testsome)
    RF_SET(Request_get_status)
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
