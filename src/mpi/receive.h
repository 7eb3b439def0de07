/* Receives and probes that may name no source: what they have in common. */
#ifndef RF_MPI_RECEIVE_H
#define RF_MPI_RECEIVE_H

#include "mpi/adapter.h"

/* True if the library has a choice. A receive from MPI_PROC_NULL involves no message at all. */
RF_STEP bool rf_is_wild(int source, int tag) {
    return source == MPI_ANY_SOURCE || (tag == MPI_ANY_TAG && source != MPI_PROC_NULL);
}

/* A blocking call that takes or shows one message. */
struct rf_blocking {
    enum rf_kind kind;
    MPI_Comm comm;
    int source, tag;           /* what to ask the library for; replay puts in what was recorded */
    MPI_Status *caller;        /* the caller's status, may be MPI_STATUS_IGNORE */
    MPI_Status *status;        /* the status to pass to the library */
    bool wild;                 /* it enters the stream */
    uint32_t what;             /* as what */
    MPI_Status own;            /* used when threads cannot share the room in the log */
    struct rf_blocking *outer; /* where threads call: the call in whose callback this one is made */
};

/* Record: the call that this thread is in, where several threads may call at the same time. */
extern _Thread_local struct rf_blocking *rf_blocking_here RF_OURS
    __attribute__((tls_model("initial-exec")));

RF_STEP void rf_blocking_set(struct rf_blocking *call, enum rf_kind kind, MPI_Comm comm, int source,
                             int tag, MPI_Status *status) {
    call->kind = kind;
    call->comm = comm;
    call->source = source;
    call->tag = tag;
    call->caller = status;
}

/* Replay: true if a blocking call may be made in two steps, start and wait. Not so if it failed in
   the recording: an error must come from the same function, for the sake of the error handler. */
static inline bool rf_may_be_patient(const struct rf_here *here, int peer, int tag) {
    return rf_the_session.mode == RF_REPLAYING && peer != MPI_PROC_NULL && tag >= 0 &&
           !rf_recorded_error(here) && !rf_free();
}

/* Replay: a receive that was posted earlier, whose match nobody saw before the recording was cut
   off, could take the message of this call too. It was posted first, so it must have taken one that
   came before, and that one is still there: asking for this message might deliver that one. Nothing
   that follows could be trusted, so this is where the recording ends; true if so. */
bool rf_end_of_trust(MPI_Comm comm, int source, int tag);

/* Replay: names the message, and shows that the rank waits for it. */
void rf_blocking_replay(const struct rf_here *here, struct rf_blocking *call);

/* What this call is in has its frame above. That of a call which an error handler has left by
   longjmp mostly lies lower, or in the same place. */
RF_STEP struct rf_blocking *rf_blocking_outer(const struct rf_blocking *call) {
    bool above = (uintptr_t)rf_blocking_here > (uintptr_t)call;
    return above ? rf_blocking_here : NULL;
}

/* Record: the call is in flight no more. */
RF_STEP void rf_blocking_over(const struct rf_blocking *call) {
    if (rf_the_session.concurrent)
        rf_blocking_here = call->outer;
    else
        __atomic_store_n(rf_mpi.flight, 0, __ATOMIC_RELEASE);
}

/* Before the library's call: replay names the message, recording provides a status.

   The library writes its answer into the log itself: it is there even if this call ends the
   program, as a truncated message does with the default error handler. */
RF_STEP void rf_blocking_begin(const struct rf_here *here, struct rf_blocking *call) {
    call->wild = rf_is_wild(call->source, call->tag);
    call->status = call->caller;
    call->what = 0;
    call->outer = NULL;
    if (__builtin_expect(!rf_recording(), 0)) {
        const struct rf_here copy = *here;
        if (!rf_order.on) /* else in its turn */
            rf_blocking_replay(&copy, call);
    } else if (call->wild) {
        call->status = rf_the_session.concurrent ? &call->own : rf_mpi.room;
        if (call->caller != MPI_STATUS_IGNORE)
            *call->status = *call->caller;
        call->status->MPI_SOURCE = RF_UNKNOWN;
        call->status->MPI_TAG = RF_UNKNOWN;
        call->what = rf_here_pack(&rf_the_session, here, call->kind,
                                  rf_channel_of(&rf_mpi.channels, call->comm));
        if (rf_the_session.concurrent) {
            call->outer = rf_blocking_outer(call);
            rf_blocking_here = call;
        } else {
            __atomic_store_n(rf_mpi.flight, call->what, __ATOMIC_RELEASE);
        }
    }
}

/* After it: recording writes the match down. */
RF_STEP void rf_blocking_end(struct rf_blocking *call) {
    struct rf_session *session = &rf_the_session;
    if (!rf_recording())
        return;
    if (__builtin_expect(rf_pending_unknown(&rf_mpi.pending), 0))
        rf_pending_ask_fitting(call->comm, call->wild ? call->status->MPI_SOURCE : call->source,
                               call->wild ? call->status->MPI_TAG : call->tag);
    if (!call->wild)
        return;
    rf_session_append(session);
    if (call->status->MPI_SOURCE >= 0 && session->recorder.on) {
        rf_recorder_fold(&session->recorder, call->what, call->status->MPI_SOURCE,
                         call->status->MPI_TAG);
        rf_self.answered = true;
    }
    rf_session_unlock(session);
    rf_blocking_over(call);
    if (call->caller != MPI_STATUS_IGNORE)
        *call->caller = *call->status;
}

/* Record: the process ends in a callback of this thread's call, which does not return. If it is a
   wildcard receive or probe that has got its message, the match is written now. */
void rf_blocking_cut(void);

/* What a combined call sends. */
struct rf_sending {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int dest, tag;
};

int rf_sending_post(const struct rf_sending *sending, MPI_Comm comm, MPI_Request *request);
/* What is sent is what the receive overwrites: then it is sent from a copy, as the libraries do.
   The caller frees it. */
int rf_sending_copy(const struct rf_receive *receive, int dest, int tag, struct rf_sending *sending,
                    void **copy);

/* A blocking receive, or send and receive, of one of several threads: posted in turn, and waited
   for outside of it. Called between rf_blocking_begin() and rf_blocking_end(); `sending` may be
   NULL. */
int rf_receive_in_order(const struct rf_here *here, struct rf_blocking *call,
                        const struct rf_receive *receive, const struct rf_sending *sending);
/* The same with one buffer for both. */
int rf_replace_in_order(const struct rf_here *here, struct rf_blocking *call,
                        const struct rf_receive *receive, int dest, int tag);

/* Replay: this thread was cut off and others are not yet, so what this receive took nobody knows. A
   rank alone parks what was parked when its contents were kept. */
bool rf_is_to_be_parked(void);

/* What a wildcard receive that is posted now is going to take, according to the recording: then
   source and tag are those of the message. A rank that is free posts what it asks for. */
enum rf_match rf_name_post(const struct rf_here *here, MPI_Comm comm, int *source, int *tag);

/* Posts a wildcard receive: recording notes the post, replay names or parks it. */
int rf_receive_wild(const struct rf_here *here, const struct rf_receive *receive,
                    MPI_Request *request);

#endif
