#include "mpi/kept.h"

#include <stdio.h>
#include <stdlib.h>

_Thread_local uintptr_t rf_fortran_caller __attribute__((tls_model("initial-exec")));
struct rf_adapter rf_mpi;

_Thread_local struct rf_scratch rf_scratches[2] __attribute__((tls_model("initial-exec")));

/* For depths other than 0: where the program made this call, 0 if the library did. */
static uintptr_t nested_caller(uintptr_t address) {
    if (rf_depth & RF_BY_FORTRAN) {
        rf_depth &= ~RF_BY_FORTRAN;
        address = rf_fortran_caller;
    }
    return rf_depth != 0 && rf_address_of(address)->internal ? 0 : address;
}

/* Replay: nothing more was recorded. Receives of which it is not known what they took were there
   all the time, and others may wait until they take something: they are posted now. */
static void notice_cut(void) {
    if (rf_the_session.mode != RF_REPLAYING || !rf_mpi.stand_ins.held)
        return;
    rf_replay_peek(&rf_the_session);
    rf_free();
}

uintptr_t rf_enter_otherwise(const char *name, uint32_t function, uintptr_t address) {
    if (rf_the_session.mode == RF_OFF)
        rf_kept_stay();
    if (rf_the_session.mode == RF_OFF || rf_self.foreign)
        return 0;
    if ((rf_depth & RF_STRANGER) && !rf_order_meet(function))
        return 0;
    if (rf_depth != 0)
        address = nested_caller(address);
    if (!address)
        return 0;
    if (rf_depth == 0) {
        if (rf_the_session.mode != RF_RECORDING_SHARED)
            rf_current = (struct rf_here){name, function, address};
        if (rf_order.link) {
            rf_order.link->enter();
            rf_self.entered = true;
        }
    }
    rf_depth++;
    rf_self.answered = false;
    if (rf_depth == 1)
        notice_cut();
    return address;
}

void rf_leave_entered(void) {
    if (rf_inside())
        return;
    rf_self.entered = false;
    rf_order.link->leave();
}

void rf_scratch_grow(struct rf_scratch *scratch, int count) {
    int size = count < 256 ? 256 : count + count / 2;
    free(scratch->requests);
    free(scratch->statuses);
    free(scratch->numbers);
    free(scratch->receives);
    free(scratch->stand_ins);
    scratch->requests = malloc((size_t)size * sizeof *scratch->requests);
    scratch->statuses = malloc((size_t)size * sizeof *scratch->statuses);
    scratch->numbers = malloc((size_t)size * sizeof *scratch->numbers);
    scratch->receives = malloc((size_t)size * sizeof(struct rf_pending_receive *));
    scratch->stand_ins = malloc((size_t)size * sizeof(struct rf_stand_in *));
    if (!scratch->requests || !scratch->statuses || !scratch->numbers || !scratch->receives ||
        !scratch->stand_ins) {
        fprintf(stderr, "refrain: out of memory for %d requests\n", count);
        abort();
    }
    scratch->size = size;
}

void rf_record_first_failure(const struct rf_here *here, MPI_Comm comm, int32_t count) {
    rf_record(here, RF_NONE, comm == RF_NO_COMM ? 0 : rf_channel_of(&rf_mpi.channels, comm), count,
              0);
    /* Threads that call at the same time must not count without the lock. */
    struct rf_recorder *recorder = &rf_the_session.recorder;
    bool countable = recorder->on && recorder->last && !rf_the_session.concurrent;
    rf_mpi.failure.place = countable ? rf_failure_place(here) : 0;
    rf_mpi.failure.entry = recorder->last;
    rf_mpi.failure.comm = comm;
}

void rf_record_post_shared(const struct rf_here *here, MPI_Request request, int source, int tag,
                           MPI_Comm comm) {
    rf_session_append(&rf_the_session);
    rf_record_post_alone(here, request, source, tag, comm);
    rf_session_unlock(&rf_the_session);
}

struct rf_pending_receive *rf_record_claim_shared(MPI_Request request) {
    rf_session_lock(&rf_the_session);
    struct rf_pending_receive *receive = rf_pending_find(&rf_mpi.pending, request);
    if (receive)
        receive->claimed = true;
    rf_session_unlock(&rf_the_session);
    return receive;
}

void rf_record_give_back(struct rf_pending_receive *receive) {
    rf_session_lock(&rf_the_session);
    receive->claimed = false;
    rf_session_unlock(&rf_the_session);
}

void rf_record_completion_shared(struct rf_pending_receive *receive, const MPI_Status *status) {
    if (!receive)
        return;
    rf_session_lock(&rf_the_session);
    rf_pending_learn(&rf_the_session, receive, status);
    receive->claimed = false; /* a persistent one stays */
    uint32_t channel = rf_packed_channel(receive->post.what);
    uint64_t ordinal = receive->state == RF_INACTIVE ? 0 : receive->post.ordinal;
    rf_pending_settle(&rf_mpi.pending, &rf_the_session, receive,
                      rf_pending_place_of(&rf_mpi.pending, receive), status);
    rf_session_unlock(&rf_the_session);
    if (ordinal)
        rf_pending_ask_before(channel, ordinal, status);
}

void rf_note_unsupported(enum rf_function function, const char *name) {
    if (rf_mpi.noted[function] || !rf_recording())
        return;
    rf_mpi.noted[function] = true;
    rf_lock(&rf_the_session.lock);
    rf_recorder_unsupported(&rf_the_session.recorder, name);
    rf_unlock(&rf_the_session.lock);
}

bool rf_free(void) {
    if (!rf_the_session.replayer.free)
        return false;
    rf_stand_ins_release();
    rf_undecided_release();
    return true;
}

/* The numbers of communicators are learnt from the events. Counting again would not do: threads do
   not come to their communicators in the recorded order, and a recording also gives a number where
   a persistent receive is made, or a call fails. */
static void compare_channel(const struct rf_here *here, const struct rf_event *event,
                            const struct rf_asked *asked, MPI_Comm comm) {
    uint32_t channel = 0;
    if (comm != RF_NO_COMM)
        channel = rf_channel_bind(&rf_mpi.channels, comm, event->channel);
    if (channel != event->channel)
        rf_diverge(&rf_the_session, here, event, asked,
                   "the call uses another communicator (number %u, recorded %u)", channel,
                   event->channel);
}

const struct rf_event *rf_expect(const struct rf_here *here, uint32_t kinds, MPI_Comm comm,
                                 const struct rf_asked *asked) {
    struct rf_session *session = &rf_the_session;
    const struct rf_event *event =
        rf_free() ? NULL : rf_replay_expect(session, here, kinds, RF_CHANNEL_ANY, asked);
    if (!event && rf_free())
        rf_kept_settle();
    if (event)
        compare_channel(here, event, asked, comm);
    return event;
}

static int32_t class_of(int code) {
    int class = code;
    rf_reals.Error_class(code, &class);
    return class;
}

/* An error follows the event of its call, if the call has one. The channel of an error tells which,
   so that it is not taken for that of another call of the same function. */
const struct rf_event *rf_recorded_error(const struct rf_here *here) {
    struct rf_session *session = &rf_the_session;
    const struct rf_event *event = rf_free() ? NULL : rf_replay_peek(session);
    if (!event || event->kind != RF_ERROR || event->second != (int32_t)rf_session_calls(session) ||
        event->channel != rf_self.answered)
        return NULL;
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    return site && strcmp(site->function, here->name) == 0 ? event : NULL;
}

static void compare_outcome(const struct rf_here *here, int code) {
    struct rf_session *session = &rf_the_session;
    const struct rf_event *event = rf_recorded_error(here);
    if (rf_free() || (!event && (code == MPI_SUCCESS || rf_replay_at_cut(session))))
        return;
    int32_t class = code == MPI_SUCCESS ? MPI_SUCCESS : class_of(code);
    if (!event) {
        rf_diverge(session, here, rf_replay_peek(session), NULL,
                   "the call failed with error class %d, but not in the recording", class);
    } else if (event->first != class) {
        rf_diverge(session, here, event, NULL, "the call returned error class %d, recorded %d",
                   class, event->first);
    } else {
        rf_take();
    }
}

/* A persistent request that is inactive has an empty status. */
static bool is_inactive(MPI_Request request) {
    MPI_Status status;
    int flag = 0;
    if (rf_alone() || rf_unasked_any() || rf_asking_completes())
        return false;
    MPI_Errhandler handler = rf_errors_aside();
    rf_library.Request_get_status(request, &flag, &status);
    rf_errors_back(handler);
    return flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG;
}

/* Whether the call failed before it looked at its requests. */
static bool is_refused(int32_t class) {
    return class == MPI_ERR_REQUEST || class == MPI_ERR_ARG || class == MPI_ERR_COUNT;
}

/* The classes of the single requests belong to the error of a call for all of them: statuses have
   them where the call says so. Else it returned the error of one, or the program wants no statuses,
   and what is still there was left alone. Returns how many there are. */
static int classes_of_all(int32_t class, int count, const MPI_Request *requests,
                          const MPI_Status *statuses, int32_t *classes) {
    bool told = class == MPI_ERR_IN_STATUS && statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; i < count; i++)
        if (told)
            classes[i] = class_of(statuses[i].MPI_ERROR);
        else
            classes[i] = requests[i] == MPI_REQUEST_NULL || is_inactive(requests[i])
                             ? MPI_SUCCESS
                             : MPI_ERR_PENDING;
    return told || !is_refused(class) ? count : 0;
}

void rf_outcome(const struct rf_here *here, int code, int count, const MPI_Request *requests,
                const MPI_Status *statuses) {
    struct rf_session *session = &rf_the_session;
    if (session->mode == RF_OFF || (rf_recording() && code == MPI_SUCCESS))
        return;
    if (code != MPI_SUCCESS && rf_layer == RF_LAYER_KEEPING && rf_fatal_last())
        rf_fatal_end();
    if (!rf_recording()) {
        compare_outcome(here, code);
        rf_progress_go(&session->replayer);
        return;
    }
    int32_t class = class_of(code);
    struct rf_scratch *scratch = rf_scratch(count);
    int length = classes_of_all(class, count, requests, statuses, scratch->numbers);
    rf_session_append(session);
    if (session->recorder.on)
        rf_recorder_list(&session->recorder,
                         rf_here_pack(session, here, RF_ERROR, rf_self.answered), class,
                         (int32_t)rf_session_calls(session), scratch->numbers, (uint32_t)length);
    rf_session_unlock(session);
}
