/* Completion in a replay.

   A recorded failure is answered at once. For a success the rank waits until exactly the recorded
   requests are complete and then lets the library's own function complete these alone, so that
   statuses, handles and error handlers are treated as that function treats them. */
#include "mpi/complete_replay.h"

#include "mpi/kept.h"

/* Mostly once, after rf_await(). A generalized request is complete when the program says so, maybe
   in another thread, and nobody rings for that. */
#define AGAIN(call, condition)                                                                     \
    do {                                                                                           \
        struct rf_patience patience = {.wait = RF_BELL_ANYBODY};                                   \
        while (call, condition)                                                                    \
            rf_wait_a_little(&patience);                                                           \
    } while (0)

/* The requests behind those of the program. */
static MPI_Request *behind(int count, const MPI_Request *requests) {
    struct rf_scratch *scratch = rf_scratch(count);
    for (int i = 0; i < count; i++) {
        scratch->stand_ins[i] = rf_stand_in_find(requests[i]);
        scratch->requests[i] = rf_stand_in_inner_of(scratch->stand_ins[i], requests[i]);
    }
    return scratch->requests;
}

/* The recorded outcome; NULL if the program is free, or if the call was refused and will be again.
 */
static const struct rf_event *expect(const struct rf_here *here, uint32_t kinds, int count) {
    const struct rf_event *event =
        rf_recorded_error(here) ? NULL : rf_expect(here, kinds, RF_NO_COMM, NULL);
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

/* All of these are complete, and the library is about to let go of them. */
static void claim(const struct rf_scratch *scratch, int count) {
    for (int i = 0; i < count; i++)
        rf_stand_in_claim(scratch->stand_ins[i]);
}

static void show_wait(const struct rf_here *here) {
    rf_progress_wait(&rf_the_session.replayer, here, RF_NO_PEER, RF_NO_PEER);
}

/* A wait for a receive that took nothing, or for a request of which nobody saw whether its cancel
   won, did not return in the recorded run: so the recording ends here. */
static void must_end_here(const struct rf_here *here, MPI_Request request) {
    const struct rf_stand_in *stand_in = rf_stand_in_find(request);
    if (!(stand_in && stand_in->held) && !rf_undecided_has(request))
        return;
    const struct rf_event *event = rf_free() ? NULL : rf_replay_need(&rf_the_session);
    if (rf_free())
        rf_kept_settle();
    else
        rf_diverge(&rf_the_session, here, event, NULL,
                   "the program waits for a request that was not completed in the recording");
}

/* True if some request may not be what it seems. */
static bool any_special(void) {
    return rf_stand_ins_any(&rf_mpi.stand_ins) || rf_mpi.undecided.count;
}

/* MPICH tells the communicator of a persistent request of its error, and the world of that of any
   other, such as the one that stands behind it here (version 4.2 mostly does not). But only where
   there is one request. */
static bool tells_its_own(const struct rf_here *here, const struct rf_stand_in *stand_in) {
    return RF_ABI_LOOK_RAISES && stand_in && stand_in->persistent &&
           stand_in->inner != MPI_REQUEST_NULL && rf_recorded_error(here);
}

static int complete_telling(const struct rf_stand_in *stand_in, MPI_Request *inner, int *flag,
                            MPI_Status *status) {
    MPI_Comm comm = stand_in->receive.comm;
    MPI_Errhandler handler = rf_errors_aside(), own;
    rf_reals.Comm_get_errhandler(comm, &own);
    /* One that has none gives this, and follows the world. */
    bool has_own = own != MPI_ERRORS_ARE_FATAL;
    if (has_own)
        rf_reals.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int code = flag ? rf_reals.Test(inner, flag, status) : rf_reals.Wait(inner, status);
    if (has_own)
        rf_reals.Comm_set_errhandler(comm, own);
    if (has_own && own != MPI_ERRORS_RETURN)
        rf_reals.Errhandler_free(&own);
    rf_errors_back(handler);
    if (code != MPI_SUCCESS)
        rf_reals.Comm_call_errhandler(comm, code);
    return code;
}

int rf_replay_wait(const struct rf_here *here, MPI_Request *request, MPI_Status *status) {
    show_wait(here);
    if (!any_special()) {
        rf_await(here, *request);
        return rf_reals.Wait(request, status);
    }
    must_end_here(here, *request);
    struct rf_stand_in *stand_in = rf_stand_in_find(*request);
    MPI_Request inner = rf_stand_in_inner_of(stand_in, *request);
    rf_await(here, inner);
    rf_stand_in_claim(stand_in);
    int code = tells_its_own(here, stand_in) ? complete_telling(stand_in, &inner, NULL, status)
                                             : rf_reals.Wait(&inner, status);
    rf_stand_in_update(stand_in, request, inner);
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
        scratch->stand_ins[i] = rf_stand_in_find(requests[indices[i]]);
        scratch->requests[i] = rf_stand_in_inner_of(scratch->stand_ins[i], requests[indices[i]]);
    }
    rf_progress_requests(&rf_the_session.replayer, chosen, count);
    for (int i = 0; i < chosen; i++)
        rf_await(here, scratch->requests[i]);
    claim(scratch, chosen);
    return scratch->requests;
}

int rf_replay_test(const struct rf_here *here, MPI_Request *request, int *flag,
                   MPI_Status *status) {
    const struct rf_event *event = expect(here, RF_IS(NONE) | RF_IS(DONE), 1);
    *flag = 0;
    if (failed(event))
        return MPI_SUCCESS;
    struct rf_stand_in *stand_in = rf_stand_in_find(*request);
    MPI_Request inner = rf_stand_in_inner_of(stand_in, *request);
    if (event) {
        rf_take();
        show_wait(here);
        rf_await(here, inner);
        rf_stand_in_claim(stand_in);
    }
    int code;
    if (event && tells_its_own(here, stand_in))
        code = complete_telling(stand_in, &inner, flag, status);
    else
        AGAIN(code = rf_reals.Test(&inner, flag, status), event && code == MPI_SUCCESS && !*flag);
    rf_stand_in_update(stand_in, request, inner);
    return code;
}

/* The program has only asked, `stay`, and was told yes. Where the library takes that for the
   completion of a persistent request, so it is with the plain receive that stands behind one. */
static void update(struct rf_stand_in *stand_in, MPI_Request *request, MPI_Request inner,
                   bool stay) {
    if (stay && stand_in && stand_in->persistent && stand_in->inner != MPI_REQUEST_NULL &&
        rf_asking_completes())
        rf_reals.Request_free(&inner);
    rf_stand_in_update(stand_in, request, inner);
}

int rf_replay_get_status(const struct rf_here *here, MPI_Request request, int *flag,
                         MPI_Status *status) {
    const struct rf_event *event = expect(here, RF_IS(NONE) | RF_IS(DONE), 1);
    *flag = 0;
    if (failed(event))
        return MPI_SUCCESS;
    struct rf_stand_in *stand_in = rf_stand_in_find(request);
    MPI_Request inner = rf_stand_in_inner_of(stand_in, request);
    if (event) {
        rf_take();
        show_wait(here);
        rf_await(here, inner);
    }
    int code;
    rf_program_asks = true;
    AGAIN(code = rf_reals.Request_get_status(inner, flag, status),
          event && code == MPI_SUCCESS && !*flag);
    rf_program_asks = false;
    if (*flag)
        update(stand_in, &request, inner, true);
    return code;
}

/* Wait-some or test-some if there is `some`, test-all if there is `all`, else wait-all: of requests
   that are complete. */
static int call_several(const struct rf_here *here, rf_some_function *some, rf_all_function *all,
                        int *flag, int count, MPI_Request *inner, MPI_Status *statuses) {
    int code;
    int done = count;
    if (some)
        AGAIN(code = some(count, inner, &done, rf_scratch(count)->numbers, statuses),
              code == MPI_SUCCESS && done == 0);
    else if (all)
        AGAIN(code = all(count, inner, flag, statuses), code == MPI_SUCCESS && !*flag);
    else
        code = rf_reals.Waitall(count, inner, statuses);
    if (code == MPI_SUCCESS && done != count)
        rf_diverge(&rf_the_session, here, NULL, NULL,
                   "%d of %d requests that were complete are not any more", count - done, count);
    return code;
}

_Thread_local bool rf_part_of_failed __attribute__((tls_model("initial-exec")));

/* Nobody has waited for requests that are not asked about: they become complete one by one, and the
   program was told of all at once. */
static int complete_several(const struct rf_here *here, rf_some_function *some,
                            rf_all_function *all, int *flag, int count, MPI_Request *inner,
                            MPI_Status *statuses) {
    if (!rf_unasked_any() || count == 0)
        return call_several(here, some, all, flag, count, inner, statuses);
    bool wanted = statuses != MPI_STATUSES_IGNORE;
    int result = MPI_SUCCESS;
    rf_part_of_failed = rf_recorded_error(here);
    bool all_tell = !some || rf_part_of_failed; /* that nothing is wrong with them, too */
    for (int i = 0; i < count; i++) {
        int code =
            call_several(here, some, all, flag, 1, &inner[i], wanted ? &statuses[i] : statuses);
        result = result == MPI_SUCCESS ? code : result;
        if (wanted && code == MPI_SUCCESS && all_tell)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    rf_part_of_failed = false;
    return result;
}

/* Which requests a failed wait-all or test-all completed is up to the library and to time. The
   recorded classes tell: the others are left alone, marked as the library marked them. In a
   test-all a request that is never complete stands for them, as it may make a difference to those
   that are: in MPICH 4.2 they stay. */
static int replay_failed_all(const struct rf_here *here, rf_all_function *real, bool stay,
                             const struct rf_event *error, int count, MPI_Request *requests,
                             int *flag, MPI_Status *statuses) {
    struct rf_scratch *scratch = rf_scratch(count);
    int chosen = 0;
    for (int i = 0; i < count; i++)
        if (error->list[i] != MPI_ERR_PENDING)
            scratch->numbers[chosen++] = i;
    /* The library leaves some fields alone. */
    for (int i = 0; i < chosen && statuses != MPI_STATUSES_IGNORE; i++)
        scratch->statuses[i] = statuses[scratch->numbers[i]];
    MPI_Request *inner = await_chosen(here, chosen, scratch->numbers, count, requests);
    bool asked = stay || (real && chosen < count);
    int code;
    if (real && chosen < count) {
        inner[chosen] = rf_stand_ins_never();
        AGAIN(code = real(chosen + 1, inner, flag, scratch->statuses), code == MPI_SUCCESS);
    } else {
        code = complete_several(here, NULL, real, flag, chosen, inner, scratch->statuses);
    }
    for (int i = 0; i < chosen; i++) {
        int place = scratch->numbers[i];
        update(scratch->stand_ins[i], &requests[place], inner[i], asked);
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[place] = scratch->statuses[i];
    }
    for (int i = 0; i < count; i++)
        if (error->list[i] == MPI_ERR_PENDING && statuses != MPI_STATUSES_IGNORE)
            statuses[i].MPI_ERROR = MPI_ERR_PENDING;
    return code;
}

int rf_replay_waitall(const struct rf_here *here, int count, MPI_Request *requests,
                      MPI_Status *statuses) {
    const struct rf_event *error = rf_recorded_error(here);
    if (error && error->list_length == (uint32_t)count && count > 0)
        return replay_failed_all(here, NULL, false, error, count, requests, NULL, statuses);
    show_wait(here);
    bool special = any_special();
    for (int i = 0; special && i < count; i++)
        must_end_here(here, requests[i]);
    MPI_Request *inner = special ? behind(count, requests) : requests;
    for (int i = 0; i < count; i++)
        rf_await(here, inner[i]);
    if (special)
        claim(rf_scratch(count), count);
    int code = rf_reals.Waitall(count, inner, statuses);
    for (int i = 0; special && i < count; i++)
        rf_stand_in_update(rf_scratch(count)->stand_ins[i], &requests[i], inner[i]);
    return code;
}

int rf_replay_all(const struct rf_here *here, rf_all_function *real, bool stay, int count,
                  MPI_Request *requests, int *flag, MPI_Status *statuses) {
    const struct rf_event *event = expect(here, RF_IS(NONE) | RF_IS(DONE), count);
    *flag = 0;
    if (failed(event))
        return MPI_SUCCESS;
    if (event)
        rf_take();
    const struct rf_event *error = event ? rf_recorded_error(here) : NULL;
    if (error && error->list_length == (uint32_t)count)
        return replay_failed_all(here, real, stay, error, count, requests, flag, statuses);
    MPI_Request *inner = behind(count, requests);
    show_wait(here);
    for (int i = 0; event && i < count; i++)
        rf_await(here, inner[i]);
    if (event)
        claim(rf_scratch(count), count);
    int code;
    AGAIN(code = real(count, inner, flag, statuses), event && code == MPI_SUCCESS && !*flag);
    for (int i = 0; i < count; i++)
        update(rf_scratch(count)->stand_ins[i], &requests[i], inner[i], stay && *flag);
    return code;
}

static int call_any(rf_any_function *real, int count, MPI_Request *requests, int *index, int *flag,
                    MPI_Status *status) {
    return real ? real(count, requests, index, flag, status)
                : rf_reals.Waitany(count, requests, index, status);
}

int rf_replay_any(const struct rf_here *here, rf_any_function *real, bool stay, int count,
                  MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    const struct rf_event *event = expect(here, RF_IS(INDEX) | (flag ? RF_IS(NONE) : 0), count);
    if (flag && failed(event)) {
        *flag = 0;
        *index = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    int32_t chosen = event ? event->first : RF_UNDEFINED;
    if (event)
        rf_take();
    int code;
    if (chosen != RF_UNDEFINED) {
        MPI_Request *inner = await_chosen(here, 1, &chosen, count, requests);
        struct rf_stand_in *stand_in = rf_scratch(count)->stand_ins[0];
        AGAIN(code = call_any(real, 1, inner, index, flag, status),
              code == MPI_SUCCESS && flag && !*flag);
        update(stand_in, &requests[chosen], inner[0], stay);
        *index = chosen;
    } else {
        MPI_Request *inner = behind(count, requests);
        show_wait(here);
        code = call_any(real, count, inner, index, flag, status);
        for (int i = 0; i < count; i++)
            rf_stand_in_update(rf_scratch(count)->stand_ins[i], &requests[i], inner[i]);
    }
    return code;
}

int rf_replay_some(const struct rf_here *here, rf_some_function *real, bool stay, int count,
                   MPI_Request *requests, int *done, int *indices, MPI_Status *statuses) {
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
            rf_stand_in_update(rf_scratch(count)->stand_ins[i], &requests[i], inner[i]);
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
    int code = complete_several(here, real, NULL, NULL, chosen, inner, statuses);
    for (int i = 0; i < chosen; i++)
        update(scratch->stand_ins[i], &requests[indices[i]], inner[i], stay);
    *done = chosen;
    return code;
}
