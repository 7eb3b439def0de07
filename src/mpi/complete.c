/* Completion: the wait and test families, and what recording keeps of them.

   Kept is what the outside decides: whether a test succeeded, which requests a wait-any or
   wait-some completed. A wait for one or for all requests leaves nothing to decide; only the
   matches of its wildcard receives become known. */
#include "mpi/complete_replay.h"
#include "mpi/kept.h"

/* What the program passed, before the library overwrites it. Copies are made only while there are
   wildcard receives whose match may show up. */
struct watch {
    bool on;
    bool stay;                            /* the program only asks: the requests stay */
    const MPI_Request *requests;          /* as they were */
    MPI_Status *statuses;                 /* where the library writes */
    struct rf_pending_receive **receives; /* if threads may call at the same time */
};

/* What is pending of a request that the call has completed. */
static inline struct rf_pending_receive *receive_of(const struct watch *watch, int i) {
    return watch->receives ? watch->receives[i] : NULL;
}

/* The program sees the match now, even if the request stays; a crash before it is completed must
   not lose it. */
static inline void settle(const struct watch *watch, int i, const MPI_Status *status) {
    if (watch->stay) {
        rf_record_match(watch->requests[i], receive_of(watch, i), status);
        return;
    }
    rf_record_completion(watch->requests[i], receive_of(watch, i), status);
    if (watch->receives)
        watch->receives[i] = NULL;
}

static void claim_all(struct watch *watch, int count) {
    struct rf_scratch *scratch = rf_scratch(count);
    rf_session_lock(&rf_the_session);
    for (int i = 0; i < count; i++) {
        struct rf_pending_receive *receive = rf_pending_find(&rf_mpi.pending, watch->requests[i]);
        if (receive)
            receive->claimed = true;
        scratch->receives[i] = receive;
    }
    rf_session_unlock(&rf_the_session);
    watch->receives = scratch->receives;
}

/* After the call: those that it has not completed. */
static __attribute__((noinline)) void give_back(struct rf_pending_receive **receives, int count) {
    rf_session_lock(&rf_the_session);
    for (int i = 0; i < count; i++)
        if (receives[i])
            receives[i]->claimed = false;
    rf_session_unlock(&rf_the_session);
}

/* `found`: there was something to settle. */
RF_STEP void watched(const struct watch *watch, int count, bool found) {
    if (__builtin_expect(watch->receives != NULL, 0))
        give_back(watch->receives, count);
    if (watch->stay && watch->on && found)
        rf_pending_sweep();
}

/* Is it to be looked at what the requests of a call took? Where contents are kept it must not
   depend on what other threads have pending in this moment whether a status is among them: a rank
   alone that records again asks for the same. */
RF_STEP bool watches(void) {
    return rf_pending_any(&rf_mpi.pending) ||
           __builtin_expect(rf_the_session.shared && rf_layer != RF_LAYER_NONE, 0);
}

/* Mostly these are few, and a call of memcpy would take longer than the copy. */
static inline void copy_requests(MPI_Request *to, const MPI_Request *from, int count) {
    enum { BLOCK = 8 };
    for (; count >= BLOCK; count -= BLOCK, to += BLOCK, from += BLOCK)
        memcpy(to, from, BLOCK * sizeof *to);
    for (; count > 0; count--)
        *to++ = *from++;
}

/* `deep` in a callback inside a call. */
RF_STEP struct watch watch_copied(bool deep, int count, const MPI_Request *requests,
                                  MPI_Status *statuses) {
    struct watch watch = {watches() && count > 0, false, requests, statuses, NULL};
    if (watch.on) {
        const struct rf_scratch *scratch = rf_scratch_at(deep, count);
        copy_requests(scratch->requests, requests, count);
        watch.requests = scratch->requests;
        if (statuses == MPI_STATUSES_IGNORE)
            watch.statuses = scratch->statuses;
    }
    return watch;
}

RF_STEP struct watch watch_all(int count, const MPI_Request *requests, MPI_Status *statuses) {
    struct watch watch = watch_copied(rf_depth > 1, count, requests, statuses);
    if (__builtin_expect(watch.on && rf_the_session.concurrent, 0)) {
        struct watch copy = watch; /* else it would be kept in memory */
        claim_all(&copy, count);
        watch = copy;
    }
    return watch;
}

/* After a call that completes all or, when it fails, some: a request that is still there was left
   alone. One that stays because it is persistent says so in its status. */
static bool left_alone(const struct watch *watch, int code, int i, const MPI_Request *requests) {
    return code != MPI_SUCCESS && requests[i] != MPI_REQUEST_NULL &&
           watch->statuses[i].MPI_ERROR == MPI_ERR_PENDING;
}

static void complete_all(const struct watch *watch, int code, int count,
                         const MPI_Request *requests) {
    for (int i = 0; watch->on && i < count; i++)
        if (!left_alone(watch, code, i, requests))
            rf_record_match(watch->requests[i], receive_of(watch, i), &watch->statuses[i]);
    for (int i = 0; watch->on && i < count; i++)
        if (!left_alone(watch, code, i, requests))
            settle(watch, i, &watch->statuses[i]);
}

static inline bool watch_one(bool watching, MPI_Status *own, MPI_Status **status) {
    if (watching && *status == MPI_STATUS_IGNORE)
        *status = own;
    return watching;
}

static inline void record_flag(const struct rf_here *here, int code, int flag, int count) {
    if (flag)
        rf_record(here, RF_DONE, 0, count, 0);
    else if (code == MPI_SUCCESS)
        rf_record_failure(here, RF_NO_COMM, count);
}

/* ---- one request ---- */

static __attribute__((noinline)) int wait_otherwise(uintptr_t address, MPI_Request *request,
                                                    MPI_Status *status) {
    RF_ENTER_FROM(address, Wait, (request, status));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 1);
    RF_REPLAY(rf_replay_wait(at, request, status));
    MPI_Status own;
    MPI_Request before = *request;
    bool watching = watch_one(watches(), &own, &status);
    struct rf_pending_receive *receive = watching ? rf_record_claim(before) : NULL;
    int code = rf_reals.Wait(request, status);
    if (watching)
        rf_record_completion(before, receive, status);
    return rf_leave(&here, code);
}

RF_WRAPPER(int, Wait, (MPI_Request * request, MPI_Status *status)) {
    RF_HERE(Wait);
    if (__builtin_expect(!rf_enter_fast(), 0))
        return wait_otherwise(here.address, request, status);
    rf_sign_alone(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 1);
    MPI_Status own;
    MPI_Request before = *request;
    bool watching = watch_one(rf_pending_any(&rf_mpi.pending), &own, &status);
    int code = rf_reals.Wait(request, status);
    if (watching)
        rf_record_completion_alone(before, status);
    return rf_leave_fast(&here, code);
}

/* Kept apart from the failed test, which programs make by the million. */
static __attribute__((noinline)) void test_done(const struct rf_here *here, int flag,
                                                MPI_Request before,
                                                struct rf_pending_receive *receive,
                                                const MPI_Status *status) {
    if (!flag && receive)
        rf_record_give_back(receive);
    if (!flag)
        return; /* an error */
    rf_record(here, RF_DONE, 0, 1, 0);
    if (rf_pending_any(&rf_mpi.pending))
        rf_record_completion(before, receive, status);
}

static __attribute__((noinline)) int test_otherwise(uintptr_t address, MPI_Request *request,
                                                    int *flag, MPI_Status *status) {
    RF_ENTER_FROM(address, Test, (request, flag, status));
    RF_REPLAY(rf_replay_test(at, request, flag, status));
    MPI_Status own;
    MPI_Request before = *request;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    struct rf_pending_receive *receive = rf_record_claim(before);
    *flag = 0;
    int code = rf_reals.Test(request, flag, status);
    if (code != MPI_SUCCESS || *flag) {
        test_done(&here, *flag, before, receive, status);
        return rf_leave(&here, code);
    }
    rf_record_failure(&here, RF_NO_COMM, 1);
    if (receive)
        rf_record_give_back(receive);
    rf_leave_quietly();
    return MPI_SUCCESS;
}

RF_WRAPPER(int, Test, (MPI_Request * request, int *flag, MPI_Status *status)) {
    RF_HERE(Test);
    if (__builtin_expect(!rf_enter_fast(), 0))
        return test_otherwise(here.address, request, flag, status);
    MPI_Status own;
    MPI_Request before = *request;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    *flag = 0;
    int code = rf_reals.Test(request, flag, status);
    if (__builtin_expect(code == MPI_SUCCESS && !*flag, 1)) {
        rf_record_failure(&here, RF_NO_COMM, 1);
        rf_depth--;
        return MPI_SUCCESS;
    }
    const struct rf_here copy = here;
    test_done(&copy, *flag, before, NULL, status);
    return rf_leave_fast(&here, code);
}

RF_WRAPPER(int, Request_get_status, (MPI_Request request, int *flag, MPI_Status *status)) {
    RF_ENTER(Request_get_status, (request, flag, status));
    RF_REPLAY(rf_replay_get_status(at, request, flag, status));
    MPI_Status own;
    bool watching = watch_one(watches(), &own, &status);
    struct rf_pending_receive *receive = watching ? rf_record_claim(request) : NULL;
    *flag = 0;
    rf_program_asks = true;
    int code = rf_reals.Request_get_status(request, flag, status);
    rf_program_asks = false;
    record_flag(&here, code, *flag, 1);
    /* The program sees the match now; a crash before the request is completed must not lose it. */
    if (*flag && watching)
        rf_record_match(request, receive, status);
    if (__builtin_expect(receive != NULL, 0))
        rf_record_give_back(receive);
    if (*flag && watching)
        rf_pending_sweep();
    return rf_leave(&here, code);
}

/* ---- all requests ---- */

RF_WRAPPER(int, Waitall,
           (int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)) {
    RF_ENTER(Waitall, (count, array_of_requests, array_of_statuses));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, count);
    RF_REPLAY(rf_replay_waitall(at, count, array_of_requests, array_of_statuses));
    struct watch watch = watch_all(count, array_of_requests, array_of_statuses);
    int code = rf_reals.Waitall(count, array_of_requests, watch.statuses);
    complete_all(&watch, code, count, array_of_requests);
    watched(&watch, count, true);
    return rf_leave_all(&here, code, count, array_of_requests, watch.statuses);
}

RF_STEP int test_all(const struct rf_here *here, rf_all_function *real, bool stay, int count,
                     MPI_Request *requests, int *flag, MPI_Status *statuses) {
    struct watch watch = watch_all(count, requests, statuses);
    watch.stay = stay;
    *flag = 0;
    int code = real(count, requests, flag, watch.statuses);
    record_flag(here, code, code != MPI_SUCCESS || *flag, count);
    if (code != MPI_SUCCESS || *flag)
        complete_all(&watch, code, count, requests);
    watched(&watch, count, code != MPI_SUCCESS || *flag);
    return rf_leave_all(here, code, count, requests, watch.statuses);
}

RF_WRAPPER(int, Testall,
           (int count, MPI_Request array_of_requests[], int *flag,
            MPI_Status array_of_statuses[])) {
    RF_ENTER(Testall, (count, array_of_requests, flag, array_of_statuses));
    RF_REPLAY(rf_replay_all(at, rf_reals.Testall, false, count, array_of_requests, flag,
                            array_of_statuses));
    return test_all(&here, rf_reals.Testall, false, count, array_of_requests, flag,
                    array_of_statuses);
}

/* ---- any request ---- */

/* Nothing active: both libraries say so at once. */
static int32_t recorded_index(int index) {
    return index == MPI_UNDEFINED ? RF_UNDEFINED : index;
}

/* A call that was refused leaves whatever the program had there. */
static bool is_index(int index, int count) {
    return index >= 0 && index < count;
}

RF_WRAPPER(int, Waitany,
           (int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)) {
    RF_ENTER(Waitany, (count, array_of_requests, index, status));
    RF_REPLAY(rf_replay_any(at, NULL, false, count, array_of_requests, index, NULL, status));
    MPI_Status own;
    struct watch watch = watch_all(count, array_of_requests, NULL);
    if (watch.on && status == MPI_STATUS_IGNORE)
        status = &own;
    int code = rf_reals.Waitany(count, array_of_requests, index, status);
    if (code == MPI_SUCCESS || is_index(*index, count))
        rf_record(&here, RF_INDEX, 0, recorded_index(*index), count);
    if (watch.on && is_index(*index, count))
        settle(&watch, *index, status);
    watched(&watch, count, true);
    return rf_leave(&here, code);
}

RF_STEP int test_any(const struct rf_here *here, rf_any_function *real, bool stay, int count,
                     MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    MPI_Status own;
    struct watch watch = watch_all(count, requests, NULL);
    watch.stay = stay;
    if (watch.on && status == MPI_STATUS_IGNORE)
        status = &own;
    *flag = 0;
    int code = real(count, requests, index, flag, status);
    if (*flag)
        rf_record(here, RF_INDEX, 0, recorded_index(*index), count);
    else if (code == MPI_SUCCESS)
        rf_record_failure(here, RF_NO_COMM, count);
    if (watch.on && *flag && is_index(*index, count))
        settle(&watch, *index, status);
    watched(&watch, count, *flag);
    return rf_leave(here, code);
}

RF_WRAPPER(int, Testany,
           (int count, MPI_Request array_of_requests[], int *index, int *flag,
            MPI_Status *status)) {
    RF_ENTER(Testany, (count, array_of_requests, index, flag, status));
    RF_REPLAY(
        rf_replay_any(at, rf_reals.Testany, false, count, array_of_requests, index, flag, status));
    return test_any(&here, rf_reals.Testany, false, count, array_of_requests, index, flag, status);
}

/* ---- some requests ---- */

/* Kept apart from the call that finds nothing done. */
static __attribute__((noinline)) void some_done(const struct rf_here *here, int code,
                                                const struct watch *watch, int count, int done,
                                                const int *indices) {
    struct rf_session *session = &rf_the_session;
    if (done == MPI_UNDEFINED && code == MPI_SUCCESS)
        rf_record(here, RF_INDEX, 0, RF_UNDEFINED, count);
    if (done <= 0 || done > count)
        return;
    rf_self.answered = true;
    rf_session_append(session);
    if (session->recorder.on)
        rf_recorder_list(&session->recorder, rf_here_pack(session, here, RF_SET, 0), count, 0,
                         indices, (uint32_t)done);
    rf_session_unlock(session);
    for (int i = 0; watch->on && i < done; i++)
        rf_record_match(watch->requests[indices[i]], receive_of(watch, indices[i]),
                        &watch->statuses[i]);
    for (int i = 0; watch->on && i < done; i++)
        settle(watch, indices[i], &watch->statuses[i]);
}

static int record_some(const struct rf_here *here, rf_some_function *real, bool stay, int count,
                       MPI_Request *requests, int *done, int *indices, MPI_Status *statuses) {
    struct watch watch = watch_all(count, requests, statuses);
    watch.stay = stay;
    int code = real(count, requests, done, indices, watch.statuses);
    if (code == MPI_SUCCESS && *done == 0)
        rf_record_failure(here, RF_NO_COMM, count);
    else
        some_done(here, code, &watch, count, *done, indices);
    watched(&watch, count, *done != 0);
    return code;
}

RF_WRAPPER(int, Waitsome,
           (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
            MPI_Status array_of_statuses[])) {
    RF_ENTER(Waitsome, (incount, array_of_requests, outcount, array_of_indices, array_of_statuses));
    RF_REPLAY(rf_replay_some(at, rf_reals.Waitsome, false, incount, array_of_requests, outcount,
                             array_of_indices, array_of_statuses));
    int code = record_some(&here, rf_reals.Waitsome, false, incount, array_of_requests, outcount,
                           array_of_indices, array_of_statuses);
    return rf_leave(&here, code);
}

static __attribute__((noinline)) int testsome_otherwise(uintptr_t address, int count,
                                                        MPI_Request *requests, int *done,
                                                        int *indices, MPI_Status *statuses) {
    RF_ENTER_FROM(address, Testsome, (count, requests, done, indices, statuses));
    RF_REPLAY(
        rf_replay_some(at, rf_reals.Testsome, false, count, requests, done, indices, statuses));
    int code =
        record_some(&here, rf_reals.Testsome, false, count, requests, done, indices, statuses);
    return rf_leave(&here, code);
}

RF_WRAPPER(int, Testsome,
           (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
            MPI_Status array_of_statuses[])) {
    RF_HERE(Testsome);
    if (__builtin_expect(!rf_enter_fast(), 0))
        return testsome_otherwise(here.address, incount, array_of_requests, outcount,
                                  array_of_indices, array_of_statuses);
    struct watch watch = watch_copied(false, incount, array_of_requests, array_of_statuses);
    int code =
        rf_reals.Testsome(incount, array_of_requests, outcount, array_of_indices, watch.statuses);
    if (__builtin_expect(code == MPI_SUCCESS && *outcount == 0, 1)) {
        rf_record_failure(&here, RF_NO_COMM, incount);
        rf_depth--;
        return MPI_SUCCESS;
    }
    const struct rf_here copy = here;
    const struct watch seen = watch;
    some_done(&copy, code, &seen, incount, *outcount, array_of_indices);
    return rf_leave_fast(&here, code);
}

/* ---- questions about several requests ---- */

#ifdef RF_DECLARES_Request_get_status_all
RF_WRAPPER(int, Request_get_status_all,
           (int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses)) {
    RF_ENTER(Request_get_status_all, (count, array_of_requests, flag, array_of_statuses));
    RF_REPLAY(rf_replay_all(at, rf_reals.Request_get_status_all, true, count, array_of_requests,
                            flag, array_of_statuses));
    return test_all(&here, rf_reals.Request_get_status_all, true, count, array_of_requests, flag,
                    array_of_statuses);
}

RF_WRAPPER(int, Request_get_status_any,
           (int count, MPI_Request array_of_requests[], int *index, int *flag,
            MPI_Status *status)) {
    RF_ENTER(Request_get_status_any, (count, array_of_requests, index, flag, status));
    RF_REPLAY(rf_replay_any(at, rf_reals.Request_get_status_any, true, count, array_of_requests,
                            index, flag, status));
    return test_any(&here, rf_reals.Request_get_status_any, true, count, array_of_requests, index,
                    flag, status);
}

RF_WRAPPER(int, Request_get_status_some,
           (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
            MPI_Status *array_of_statuses)) {
    RF_ENTER(Request_get_status_some,
             (incount, array_of_requests, outcount, array_of_indices, array_of_statuses));
    RF_REPLAY(rf_replay_some(at, rf_reals.Request_get_status_some, true, incount, array_of_requests,
                             outcount, array_of_indices, array_of_statuses));
    int code = record_some(&here, rf_reals.Request_get_status_some, true, incount,
                           array_of_requests, outcount, array_of_indices, array_of_statuses);
    return rf_leave(&here, code);
}
#endif
