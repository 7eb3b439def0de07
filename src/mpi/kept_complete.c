/* Extraction: completion, and questions about requests. */
#include "mpi/complete_replay.h"
#include "mpi/kept.h"

/* A program that has outrun its recording is free, as is one that is being recorded. */
static bool every_answer_counts(void) {
    return rf_recording() || rf_the_session.replayer.free;
}

bool rf_kept_answer(int code, int yes) {
    return rf_alone() || code != MPI_SUCCESS || yes || every_answer_counts();
}

/* The wrappers above use their own. */
static struct rf_scratch *room(int count) {
    static _Thread_local __attribute__((tls_model("initial-exec"))) struct rf_scratch scratches[2];
    struct rf_scratch *scratch = &scratches[rf_depth > 1];
    if (count > scratch->size)
        rf_scratch_grow(scratch, count);
    return scratch;
}

/* The handles as they are before the call, claimed, and statuses for those who have none. */
static struct rf_scratch *copies(int count, const MPI_Request *requests) {
    struct rf_scratch *scratch = room(count);
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
   the only one of the call and persistent, or from version 4.2 on any. */
static MPI_Comm hearer(struct rf_claim claim, bool only) {
    bool own = only && (rf_asking_completes() || rf_kept_is_persistent(claim));
    bool world = RF_ABI_LOOK_RAISES && !own;
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
    if (!rf_kept_answer(code, *flag)) {
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
    if (rf_asking_completes() && !rf_alone() && *flag && seen != MPI_STATUS_IGNORE)
        rf_kept_orphan_told(request, seen);
    if (look)
        rf_fatal_unheard();
    if (look && !(rf_alone() ? rf_kept_next_is(RF_LOOK) : every_answer_counts()))
        return code;
    if (!rf_kept_answer(code, *flag))
        return code;
    code = rf_kept_call(look ? RF_LOOK : RF_FN_Request_get_status, code);
    rf_through(flag, sizeof *flag);
    if (*flag && wanted)
        rf_through_status(status);
    if (*flag && asked)
        rf_kept_show(request, seen);
    return look ? rf_kept_done(code) : rf_kept_end(RF_NO_COMM, code);
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

/* The request stays. */
static void show(MPI_Request request, MPI_Status *status, bool wanted) {
    if (wanted)
        rf_through_status(status);
    rf_kept_show(request, status);
}

/* What a call that failed made of a request. MPICH 4.2 keeps all of a failed test-all. */
enum { PENDING, COMPLETED, TOLD };

static int32_t outcome(struct rf_claim claim, MPI_Request now, const MPI_Status *status) {
    if (status->MPI_ERROR == MPI_ERR_PENDING)
        return PENDING;
    return now != MPI_REQUEST_NULL && !rf_kept_is_persistent(claim) ? TOLD : COMPLETED;
}

/* All of them, or, if some failed, those of which the statuses tell. */
static struct blame complete_all(int code, int count, MPI_Request *requests,
                                 struct rf_scratch *before, MPI_Status *statuses, bool wanted) {
    struct blame failed = {RF_NO_COMM, MPI_SUCCESS};
    for (int i = 0; i < count; i++) {
        int32_t what = COMPLETED;
        MPI_Comm own = rf_kept_comm(claim_of(before, i));
        if (code != MPI_SUCCESS) {
            what = outcome(claim_of(before, i), requests[i], &statuses[i]);
            rf_through(&what, sizeof what);
        }
        if (what == COMPLETED)
            complete(before, i, &requests[i], &statuses[i], wanted);
        else if (what == TOLD)
            show(requests[i], &statuses[i], wanted);
        else if (wanted)
            rf_through_status(&statuses[i]);
        if (what != PENDING && code != MPI_SUCCESS)
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
    if (!rf_kept_answer(code, *flag))
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
    if (!rf_kept_answer(code, *flag))
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
    if (!rf_kept_answer(code, *done))
        return give_back(before, count, code);
    return complete_some(RF_FN_Testsome, code, count, requests, before, done, indices, seen,
                         wanted);
}

#ifdef RF_DECLARES_Request_get_status_all
/* ---- questions about several requests ---- */

static int kept_Request_get_status_all(int count, MPI_Request *requests, int *flag,
                                       MPI_Status *statuses) {
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Status *seen = wanted ? statuses : room(count)->statuses;
    int code =
        rf_alone() ? MPI_SUCCESS : rf_library.Request_get_status_all(count, requests, flag, seen);
    if (!rf_kept_answer(code, *flag))
        return code;
    code = rf_kept_call(RF_FN_Request_get_status_all, code);
    rf_through(flag, sizeof *flag);
    for (int i = 0; (*flag || code != MPI_SUCCESS) && i < count; i++) {
        int32_t complete = code == MPI_SUCCESS || seen[i].MPI_ERROR != MPI_ERR_PENDING;
        if (code != MPI_SUCCESS)
            rf_through(&complete, sizeof complete);
        if (complete)
            show(requests[i], &seen[i], wanted);
        else if (wanted)
            rf_through_status(&seen[i]);
    }
    return rf_kept_end(RF_NO_COMM, code);
}

static int kept_Request_get_status_any(int count, MPI_Request *requests, int *index, int *flag,
                                       MPI_Status *status) {
    MPI_Status own = {0};
    bool wanted = status != MPI_STATUS_IGNORE;
    MPI_Status *seen = wanted ? status : &own;
    int code = rf_alone() ? MPI_SUCCESS
                          : rf_library.Request_get_status_any(count, requests, index, flag, seen);
    if (!rf_kept_answer(code, *flag))
        return code;
    code = rf_kept_call(RF_FN_Request_get_status_any, code);
    rf_through(flag, sizeof *flag);
    rf_through(index, sizeof *index);
    if (*flag && *index != MPI_UNDEFINED)
        show(requests[*index], seen, wanted);
    else if (*flag && wanted)
        rf_through_status(status);
    return rf_kept_end(RF_NO_COMM, code);
}

static int kept_Request_get_status_some(int count, MPI_Request *requests, int *done, int *indices,
                                        MPI_Status *statuses) {
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Status *seen = wanted ? statuses : room(count)->statuses;
    int code = rf_alone()
                   ? MPI_SUCCESS
                   : rf_library.Request_get_status_some(count, requests, done, indices, seen);
    if (!rf_kept_answer(code, *done))
        return code;
    code = rf_kept_call(RF_FN_Request_get_status_some, code);
    rf_through(done, sizeof *done);
    for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++) {
        rf_through(&indices[i], sizeof indices[i]);
        show(requests[indices[i]], &seen[i], wanted);
    }
    return rf_kept_end(RF_NO_COMM, code);
}
#endif

void rf_layer_completion(struct rf_real *reals) {
#define RF_SET(name) reals->name = kept_##name;
    RF_SET(Wait)
    RF_SET(Waitall)
    RF_SET(Waitany)
    RF_SET(Waitsome)
    RF_SET(Test)
    RF_SET(Testall)
    RF_SET(Testany)
    RF_SET(Testsome)
    RF_SET(Request_get_status)
#ifdef RF_DECLARES_Request_get_status_all
    RF_SET(Request_get_status_all)
    RF_SET(Request_get_status_any)
    RF_SET(Request_get_status_some)
#endif
#undef RF_SET
}
