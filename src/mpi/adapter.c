#include "mpi/adapter.h"

#include <stdio.h>
#include <stdlib.h>

_Thread_local unsigned rf_depth __attribute__((tls_model("initial-exec")));
_Thread_local uintptr_t rf_fortran_caller __attribute__((tls_model("initial-exec")));
struct rf_here rf_current;
struct rf_adapter rf_mpi;

_Thread_local struct rf_scratch rf_scratches[2] __attribute__((tls_model("initial-exec")));

uintptr_t rf_nested_caller(uintptr_t address) {
    if (rf_depth & RF_BY_FORTRAN) {
        rf_depth &= ~RF_BY_FORTRAN;
        address = rf_fortran_caller;
    }
    return rf_depth != 0 && rf_address_of(address)->internal ? 0 : address;
}

void rf_scratch_grow(struct rf_scratch *scratch, int count) {
    int size = count < 256 ? 256 : count + count / 2;
    free(scratch->requests);
    free(scratch->statuses);
    free(scratch->numbers);
    scratch->requests = malloc((size_t)size * sizeof *scratch->requests);
    scratch->statuses = malloc((size_t)size * sizeof *scratch->statuses);
    scratch->numbers = malloc((size_t)size * sizeof *scratch->numbers);
    if (!scratch->requests || !scratch->statuses || !scratch->numbers) {
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
    rf_session_lock(&rf_the_session);
    rf_record_post_alone(here, request, source, tag, comm);
    rf_session_unlock(&rf_the_session);
}

void rf_record_completion_shared(MPI_Request request, const MPI_Status *status) {
    rf_session_lock(&rf_the_session);
    rf_record_completion_alone(request, status);
    rf_session_unlock(&rf_the_session);
}

void rf_note_unsupported(enum rf_function function, const char *name) {
    if (rf_mpi.noted[function] || !rf_recording())
        return;
    rf_mpi.noted[function] = true;
    rf_session_lock(&rf_the_session);
    rf_recorder_unsupported(&rf_the_session.recorder, name);
    rf_session_unlock(&rf_the_session);
}

bool rf_free(void) {
    if (!rf_the_session.replayer.free)
        return false;
    rf_stand_ins_release();
    rf_undecided_release();
    return true;
}

const struct rf_event *rf_expect(const struct rf_here *here, uint32_t kinds, uint32_t channel,
                                 const struct rf_asked *asked) {
    const struct rf_event *event =
        rf_free() ? NULL : rf_replay_expect(&rf_the_session, here, kinds, channel, asked);
    if (!event)
        rf_free();
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
        event->channel != rf_mpi.answered)
        return NULL;
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    return site && strcmp(site->function, here->name) == 0 ? event : NULL;
}

static void compare_outcome(const struct rf_here *here, int code) {
    struct rf_session *session = &rf_the_session;
    const struct rf_event *event = rf_recorded_error(here);
    if (rf_free() || (!event && code == MPI_SUCCESS))
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

void rf_outcome(const struct rf_here *here, int code, int count, const MPI_Status *statuses) {
    struct rf_session *session = &rf_the_session;
    if (session->mode == RF_OFF)
        return;
    if (!rf_recording()) {
        compare_outcome(here, code);
        rf_progress_go(&session->replayer);
        return;
    }
    int32_t class = class_of(code);
    /* Where the call says so, the classes of the single requests belong to it. */
    int length = class == MPI_ERR_IN_STATUS && statuses ? count : 0;
    struct rf_scratch *scratch = rf_scratch(length);
    for (int i = 0; i < length; i++)
        scratch->numbers[i] = class_of(statuses[i].MPI_ERROR);
    rf_session_lock(session);
    if (session->recorder.on)
        rf_recorder_list(&session->recorder, rf_here_pack(session, here, RF_ERROR, rf_mpi.answered),
                         class, (int32_t)rf_session_calls(session), scratch->numbers,
                         (uint32_t)length);
    rf_session_unlock(session);
}
