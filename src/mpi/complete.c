/* Completion: the wait and test families.

   Recording keeps what the outside decided: whether a test succeeded, which requests a wait-any or
   wait-some completed. A wait for one or for all requests leaves nothing to decide.

   Replay answers a recorded failure at once. For a success it waits until exactly the recorded
   requests are complete and then lets the library's own function complete these alone, so that
   statuses, handles and error handlers are treated as that function treats them. */
#include "mpi/adapter.h"

#include <stdio.h>

/* ---- recording ---- */

/* What the program passed, before the library overwrites it. Copies are made only while there are
   wildcard receives whose match may show up. */
struct watch {
    bool on;
    const MPI_Request *requests; /* as they were */
    MPI_Status *statuses;        /* where the library writes */
};

static struct watch watch_all(int count, const MPI_Request *requests, MPI_Status *statuses) {
    struct watch watch = {rf_pending_any(&rf_mpi.pending) && count > 0, requests, statuses};
    if (watch.on) {
        struct rf_scratch *scratch = rf_scratch(count);
        memcpy(scratch->requests, requests, (size_t)count * sizeof *requests);
        watch.requests = scratch->requests;
        if (statuses == MPI_STATUSES_IGNORE) {
            watch.statuses = scratch->statuses;
            for (int i = 0; i < count; i++)
                scratch->statuses[i].MPI_SOURCE = RF_UNKNOWN;
        }
    }
    return watch;
}

/* After a call that completes all or, when it fails, some: a request that is still there was left
   alone. One that stays because it is persistent says so in its status. */
static void complete_all(const struct watch *watch, int code, int count,
                         const MPI_Request *requests) {
    for (int i = 0; watch->on && i < count; i++) {
        bool gone = requests[i] == MPI_REQUEST_NULL;
        if (code == MPI_SUCCESS || gone || watch->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            rf_pending_complete(watch->requests[i], &watch->statuses[i]);
    }
}

static inline bool watch_one(MPI_Status *own, MPI_Status **status) {
    if (!rf_pending_any(&rf_mpi.pending))
        return false;
    if (*status == MPI_STATUS_IGNORE)
        *status = own;
    return true;
}

static inline void record_flag(const struct rf_here *here, int code, int flag, int count) {
    if (flag)
        rf_record(here, RF_DONE, 0, count, 0);
    else if (code == MPI_SUCCESS)
        rf_record(here, RF_NONE, 0, count, 0);
}

/* ---- replaying ---- */

/* The requests behind those of the program. */
static MPI_Request *behind(int count, const MPI_Request *requests) {
    struct rf_scratch *scratch = rf_scratch(count);
    for (int i = 0; i < count; i++)
        scratch->requests[i] = rf_stand_in_inner(requests[i]);
    return scratch->requests;
}

/* The recorded outcome; NULL if the program is free, or if the call was refused and will be again.
 */
static const struct rf_event *expect(const struct rf_here *here, uint32_t kinds, int count) {
    const struct rf_event *event = rf_recorded_error(here) ? NULL : rf_expect(here, kinds, 0, NULL);
    if (!event)
        return NULL;
    int32_t recorded = event->kind == RF_INDEX ? event->second : event->first;
    if (recorded != count)
        rf_diverge(&rf_the_session, here, event, NULL,
                   "the program passes %d requests, recorded were %d", count, recorded);
    return event;
}

/* Takes a recorded failure; true if it was one. */
static bool failed(const struct rf_event *event) {
    if (!event || event->kind != RF_NONE)
        return false;
    rf_take();
    rf_answer_failure();
    return true;
}

static void show_wait(const struct rf_here *here) {
    rf_progress_wait(&rf_the_session.replayer, here, RF_NO_PEER, RF_NO_PEER);
}

/* A wait for a receive whose match nobody saw did not return in the recorded run, unless it was
   cancelled: so the recording ends here. */
static void must_end_here(const struct rf_here *here, MPI_Request request) {
    const struct rf_stand_in *stand_in = rf_stand_in_find(request);
    if (!stand_in || !stand_in->held || rf_mpi.cancels || rf_free())
        return;
    const struct rf_event *event = rf_replay_peek(&rf_the_session);
    if (!rf_free())
        rf_diverge(&rf_the_session, here, event, NULL,
                   "the program waits for a receive that took nothing in the recording");
}

static int replay_wait(const struct rf_here *here, MPI_Request *request, MPI_Status *status) {
    show_wait(here);
    if (!rf_stand_ins_any(&rf_mpi.stand_ins)) {
        rf_await(here, *request);
        return rf_reals.Wait(request, status);
    }
    must_end_here(here, *request);
    MPI_Request inner = rf_stand_in_inner(*request);
    rf_await(here, inner);
    int code = rf_reals.Wait(&inner, status);
    rf_stand_in_update(request, inner);
    return code;
}

/* Brings the chosen requests to the front of the scratch array and waits until all are complete. */
static MPI_Request *await_chosen(const struct rf_here *here, int chosen, const int32_t *indices,
                                 int count, const MPI_Request *requests) {
    struct rf_scratch *scratch = rf_scratch(count);
    show_wait(here);
    for (int i = 0; i < chosen; i++) {
        if (indices[i] < 0 || indices[i] >= count)
            rf_diverge(&rf_the_session, here, NULL, NULL,
                       "request %d was completed, but the program passes only %d", indices[i],
                       count);
        scratch->requests[i] = rf_stand_in_inner(requests[indices[i]]);
    }
    for (int i = 0; i < chosen; i++) {
        if (chosen > 1) {
            char detail[64];
            snprintf(detail, sizeof detail, "%d of %d requests", i + 1, chosen);
            if (i == 0)
                rf_progress_detail(&rf_the_session.replayer, detail);
        }
        rf_await(here, scratch->requests[i]);
    }
    return scratch->requests;
}

/* ---- one request ---- */

RF_WRAPPER(int, Wait, (MPI_Request * request, MPI_Status *status)) {
    RF_ENTER(Wait, (request, status));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 1);
    int code;
    if (rf_recording()) {
        MPI_Status own;
        MPI_Request before = *request;
        bool watching = watch_one(&own, &status);
        code = rf_reals.Wait(request, status);
        if (watching)
            rf_pending_complete(before, status);
    } else {
        code = replay_wait(&here, request, status);
    }
    return rf_leave(&here, outer, code);
}

RF_WRAPPER(int, Test, (MPI_Request * request, int *flag, MPI_Status *status)) {
    RF_ENTER(Test, (request, flag, status));
    int code = MPI_SUCCESS;
    if (rf_recording()) {
        MPI_Status own;
        MPI_Request before = *request;
        bool watching = watch_one(&own, &status);
        *flag = 0;
        if (!watching || rf_partner_done(before))
            code = rf_reals.Test(request, flag, status);
        record_flag(&here, code, *flag, 1);
        if (watching && *flag)
            rf_pending_complete(before, status);
        return rf_leave(&here, outer, code);
    }
    const struct rf_event *event = expect(&here, RF_IS(NONE) | RF_IS(DONE), 1);
    *flag = 0;
    if (!failed(event)) {
        MPI_Request inner = rf_stand_in_inner(*request);
        if (event) {
            rf_take();
            show_wait(&here);
            rf_await(&here, inner);
        }
        do
            code = rf_reals.Test(&inner, flag, status);
        while (event && code == MPI_SUCCESS && !*flag);
        rf_stand_in_update(request, inner);
    }
    return rf_leave(&here, outer, code);
}

RF_WRAPPER(int, Request_get_status, (MPI_Request request, int *flag, MPI_Status *status)) {
    RF_ENTER(Request_get_status, (request, flag, status));
    int code = MPI_SUCCESS;
    if (rf_recording()) {
        code = rf_reals.Request_get_status(request, flag, status);
        record_flag(&here, code, *flag, 1);
        /* The program sees the match now; a crash before the request is completed must not lose
           it. */
        if (*flag && rf_pending_any(&rf_mpi.pending) && !rf_the_session.concurrent)
            rf_pending_sweep(RF_NOWHERE);
        return rf_leave(&here, outer, code);
    }
    const struct rf_event *event = expect(&here, RF_IS(NONE) | RF_IS(DONE), 1);
    *flag = 0;
    if (!failed(event)) {
        MPI_Request inner = rf_stand_in_inner(request);
        if (event) {
            rf_take();
            show_wait(&here);
            rf_await(&here, inner);
        }
        do
            code = rf_reals.Request_get_status(inner, flag, status);
        while (event && code == MPI_SUCCESS && !*flag);
    }
    return rf_leave(&here, outer, code);
}

/* ---- all requests ---- */

/* Which requests a failed wait-all or test-all completed is up to the library and to time. The
   recorded classes tell: the others are left alone, marked as the library marked them. */
static int replay_failed_all(const struct rf_here *here, const struct rf_event *error, int count,
                             MPI_Request *requests, int *flag, MPI_Status *statuses) {
    struct rf_scratch *scratch = rf_scratch(count);
    int chosen = 0;
    for (int i = 0; i < count; i++)
        if (error->list[i] != MPI_ERR_PENDING)
            scratch->numbers[chosen++] = i;
    MPI_Request *inner = await_chosen(here, chosen, scratch->numbers, count, requests);
    int code = flag ? rf_reals.Testall(chosen, inner, flag, scratch->statuses)
                    : rf_reals.Waitall(chosen, inner, scratch->statuses);
    for (int i = 0; i < chosen; i++) {
        int place = scratch->numbers[i];
        rf_stand_in_update(&requests[place], inner[i]);
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[place] = scratch->statuses[i];
    }
    for (int i = 0; i < count; i++)
        if (error->list[i] == MPI_ERR_PENDING && statuses != MPI_STATUSES_IGNORE)
            statuses[i].MPI_ERROR = MPI_ERR_PENDING;
    return code;
}

static int replay_waitall(const struct rf_here *here, int count, MPI_Request *requests,
                          MPI_Status *statuses) {
    const struct rf_event *error = rf_recorded_error(here);
    if (error && error->list_length == (uint32_t)count && count > 0)
        return replay_failed_all(here, error, count, requests, NULL, statuses);
    show_wait(here);
    bool stand_ins = rf_stand_ins_any(&rf_mpi.stand_ins);
    for (int i = 0; stand_ins && i < count; i++)
        must_end_here(here, requests[i]);
    MPI_Request *inner = stand_ins ? behind(count, requests) : requests;
    for (int i = 0; i < count; i++)
        rf_await(here, inner[i]);
    int code = rf_reals.Waitall(count, inner, statuses);
    for (int i = 0; stand_ins && i < count; i++)
        rf_stand_in_update(&requests[i], inner[i]);
    return code;
}

RF_WRAPPER(int, Waitall,
           (int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)) {
    RF_ENTER(Waitall, (count, array_of_requests, array_of_statuses));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, count);
    if (!rf_recording()) {
        int code = replay_waitall(&here, count, array_of_requests, array_of_statuses);
        return rf_leave(&here, outer, code);
    }
    struct watch watch = watch_all(count, array_of_requests, array_of_statuses);
    int code = rf_reals.Waitall(count, array_of_requests, watch.statuses);
    complete_all(&watch, code, count, array_of_requests);
    return rf_leave_all(&here, outer, code, count,
                        watch.statuses == MPI_STATUSES_IGNORE ? NULL : watch.statuses);
}

RF_WRAPPER(int, Testall,
           (int count, MPI_Request array_of_requests[], int *flag,
            MPI_Status array_of_statuses[])) {
    RF_ENTER(Testall, (count, array_of_requests, flag, array_of_statuses));
    int code = MPI_SUCCESS;
    if (rf_recording()) {
        struct watch watch = watch_all(count, array_of_requests, array_of_statuses);
        bool halves = true;
        for (int i = 0; watch.on && i < count; i++)
            halves = rf_partner_done(array_of_requests[i]) && halves;
        *flag = 0;
        if (halves)
            code = rf_reals.Testall(count, array_of_requests, flag, watch.statuses);
        record_flag(&here, code, code != MPI_SUCCESS || *flag, count);
        if (code != MPI_SUCCESS || *flag)
            complete_all(&watch, code, count, array_of_requests);
        return rf_leave_all(&here, outer, code, count,
                            watch.statuses == MPI_STATUSES_IGNORE ? NULL : watch.statuses);
    }
    const struct rf_event *event = expect(&here, RF_IS(NONE) | RF_IS(DONE), count);
    *flag = 0;
    if (!failed(event)) {
        if (event)
            rf_take();
        const struct rf_event *error = event ? rf_recorded_error(&here) : NULL;
        if (error && error->list_length == (uint32_t)count) {
            code =
                replay_failed_all(&here, error, count, array_of_requests, flag, array_of_statuses);
            return rf_leave(&here, outer, code);
        }
        MPI_Request *inner = behind(count, array_of_requests);
        show_wait(&here);
        for (int i = 0; event && i < count; i++)
            rf_await(&here, inner[i]);
        do
            code = rf_reals.Testall(count, inner, flag, array_of_statuses);
        while (event && code == MPI_SUCCESS && !*flag);
        for (int i = 0; i < count; i++)
            rf_stand_in_update(&array_of_requests[i], inner[i]);
    }
    return rf_leave(&here, outer, code);
}

/* ---- any request ---- */

/* Nothing active: both libraries say so at once, and it is no decision of the outside. */
static int32_t recorded_index(int index) {
    return index == MPI_UNDEFINED ? RF_UNDEFINED : index;
}

RF_WRAPPER(int, Waitany,
           (int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)) {
    RF_ENTER(Waitany, (count, array_of_requests, index, status));
    int code;
    if (rf_recording()) {
        MPI_Status own;
        struct watch watch = watch_all(count, array_of_requests, NULL);
        if (watch.on && status == MPI_STATUS_IGNORE)
            status = &own;
        code = rf_reals.Waitany(count, array_of_requests, index, status);
        if (code == MPI_SUCCESS || *index != MPI_UNDEFINED)
            rf_record(&here, RF_INDEX, 0, recorded_index(*index), count);
        if (watch.on && *index != MPI_UNDEFINED)
            rf_pending_complete(watch.requests[*index], status);
        return rf_leave(&here, outer, code);
    }
    const struct rf_event *event = expect(&here, RF_IS(INDEX), count);
    if (event && event->first != RF_UNDEFINED) {
        int32_t chosen = event->first;
        rf_take();
        MPI_Request *inner = await_chosen(&here, 1, &chosen, count, array_of_requests);
        code = rf_reals.Waitany(1, inner, index, status);
        rf_stand_in_update(&array_of_requests[chosen], inner[0]);
        *index = chosen;
    } else {
        if (event)
            rf_take();
        MPI_Request *inner = behind(count, array_of_requests);
        show_wait(&here);
        code = rf_reals.Waitany(count, inner, index, status);
        for (int i = 0; i < count; i++)
            rf_stand_in_update(&array_of_requests[i], inner[i]);
    }
    return rf_leave(&here, outer, code);
}

RF_WRAPPER(int, Testany,
           (int count, MPI_Request array_of_requests[], int *index, int *flag,
            MPI_Status *status)) {
    RF_ENTER(Testany, (count, array_of_requests, index, flag, status));
    int code = MPI_SUCCESS;
    if (rf_recording()) {
        MPI_Status own;
        struct watch watch = watch_all(count, array_of_requests, NULL);
        if (watch.on && status == MPI_STATUS_IGNORE)
            status = &own;
        code = rf_reals.Testany(count, array_of_requests, index, flag, status);
        if (*flag)
            rf_record(&here, RF_INDEX, 0, recorded_index(*index), count);
        else if (code == MPI_SUCCESS)
            rf_record(&here, RF_NONE, 0, count, 0);
        if (watch.on && *flag && *index != MPI_UNDEFINED)
            rf_pending_complete(watch.requests[*index], status);
        return rf_leave(&here, outer, code);
    }
    const struct rf_event *event = expect(&here, RF_IS(NONE) | RF_IS(INDEX), count);
    if (failed(event)) {
        *flag = 0;
        *index = MPI_UNDEFINED;
    } else if (event && event->first != RF_UNDEFINED) {
        int32_t chosen = event->first;
        rf_take();
        MPI_Request *inner = await_chosen(&here, 1, &chosen, count, array_of_requests);
        do
            code = rf_reals.Testany(1, inner, index, flag, status);
        while (code == MPI_SUCCESS && !*flag);
        rf_stand_in_update(&array_of_requests[chosen], inner[0]);
        *index = chosen;
    } else {
        if (event)
            rf_take();
        MPI_Request *inner = behind(count, array_of_requests);
        code = rf_reals.Testany(count, inner, index, flag, status);
        for (int i = 0; i < count; i++)
            rf_stand_in_update(&array_of_requests[i], inner[i]);
    }
    return rf_leave(&here, outer, code);
}

/* ---- some requests ---- */

typedef int some_function(int, MPI_Request *, int *, int *, MPI_Status *);

static void record_some(const struct rf_here *here, int count, int done, const int *indices) {
    struct rf_session *session = &rf_the_session;
    if (done == 0) {
        rf_record(here, RF_NONE, 0, count, 0);
    } else if (done == MPI_UNDEFINED) {
        rf_record(here, RF_INDEX, 0, RF_UNDEFINED, count);
    } else {
        rf_mpi.answered = true;
        rf_session_lock(session);
        if (session->recorder.on)
            rf_recorder_list(&session->recorder, rf_here_pack(session, here, RF_SET, 0), count, 0,
                             indices, (uint32_t)done);
        rf_session_unlock(session);
    }
}

/* Waitsome and Testsome differ in whether they may come back with nothing, which the library and
   the recording know by themselves. */
static int some(const struct rf_here *here, some_function *real, int count, MPI_Request *requests,
                int *done, int *indices, MPI_Status *statuses) {
    if (rf_recording()) {
        struct watch watch = watch_all(count, requests, statuses);
        int code = real(count, requests, done, indices, watch.statuses);
        if (code == MPI_SUCCESS || *done > 0)
            record_some(here, count, *done, indices);
        for (int i = 0; watch.on && *done != MPI_UNDEFINED && i < *done; i++)
            rf_pending_complete(watch.requests[indices[i]], &watch.statuses[i]);
        return code;
    }
    const struct rf_event *event = expect(here, RF_IS(NONE) | RF_IS(SET) | RF_IS(INDEX), count);
    if (failed(event)) {
        *done = 0;
        return MPI_SUCCESS;
    }
    if (!event || event->kind == RF_INDEX) {
        if (event)
            rf_take();
        MPI_Request *inner = behind(count, requests);
        show_wait(here);
        int code = real(count, inner, done, indices, statuses);
        for (int i = 0; i < count; i++)
            rf_stand_in_update(&requests[i], inner[i]);
        return code;
    }
    int chosen = (int)event->list_length;
    if (chosen > count)
        rf_diverge(&rf_the_session, here, event, NULL, "the program passes too few requests");
    for (int i = 0; i < chosen; i++)
        indices[i] = event->list[i];
    rf_take();
    struct rf_scratch *scratch = rf_scratch(count);
    MPI_Request *inner = await_chosen(here, chosen, indices, count, requests);
    int code;
    int got;
    do
        code = real(chosen, inner, &got, scratch->numbers, statuses);
    while (code == MPI_SUCCESS && got == 0);
    for (int i = 0; i < chosen; i++)
        rf_stand_in_update(&requests[indices[i]], inner[i]);
    if (code == MPI_SUCCESS && got != chosen)
        rf_diverge(&rf_the_session, here, NULL, NULL,
                   "%d of %d requests that were complete are not any more", chosen - got, chosen);
    *done = chosen;
    return code;
}

RF_WRAPPER(int, Waitsome,
           (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
            MPI_Status array_of_statuses[])) {
    RF_ENTER(Waitsome, (incount, array_of_requests, outcount, array_of_indices, array_of_statuses));
    int code = some(&here, rf_reals.Waitsome, incount, array_of_requests, outcount,
                    array_of_indices, array_of_statuses);
    return rf_leave(&here, outer, code);
}

RF_WRAPPER(int, Testsome,
           (int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
            MPI_Status array_of_statuses[])) {
    RF_ENTER(Testsome, (incount, array_of_requests, outcount, array_of_indices, array_of_statuses));
    int code = some(&here, rf_reals.Testsome, incount, array_of_requests, outcount,
                    array_of_indices, array_of_statuses);
    return rf_leave(&here, outer, code);
}
