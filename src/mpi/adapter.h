/* What the wrappers share: how a call enters and leaves Refrain, and the state of the adapter.

   Every wrapper has the same shape:

       RF_WRAPPER(int, Name, (parameters)) {
           RF_ENTER(Name, (arguments));       passes through when off, or when MPI calls itself
           ... rf_reals.Name(...) ...
           return rf_leave(&here, code);
       }

   MPI_Name and PMPI_Name are both defined: Fortran layers, C++ and Python reach the library by
   either. While recording, nothing here takes a lock, calls the system or allocates. */
#ifndef RF_MPI_ADAPTER_H
#define RF_MPI_ADAPTER_H

#include "engine/session.h"
#include "mpi/abandon.h"
#include "mpi/bells.h"
#include "mpi/channels.h"
#include "mpi/order.h"
#include "mpi/partners.h"
#include "mpi/pending.h"
#include "mpi/real.h"
#include "mpi/stand_ins.h"

#define RF_EXPORT __attribute__((visibility("default")))

#define RF_WRAPPER(result, name, parameters)                                                       \
    RF_EXPORT result MPI_##name parameters;                                                        \
    RF_EXPORT extern result PMPI_##name parameters __attribute__((alias("MPI_" #name)));           \
    RF_EXPORT result MPI_##name parameters

#define RF_HERE_FROM(address, name) struct rf_here here = {"MPI_" #name, RF_FN_##name, address}
#define RF_HERE(name) RF_HERE_FROM((uintptr_t)__builtin_return_address(0), name)

#define RF_ENTER_FROM(address, name, arguments)                                                    \
    RF_HERE_FROM(address, name);                                                                   \
    if (!rf_enter(&here))                                                                          \
    return rf_real()->name arguments
#define RF_ENTER(name, arguments)                                                                  \
    RF_ENTER_FROM((uintptr_t)__builtin_return_address(0), name, arguments)

/* In a replay the call is answered by `expression`, which finds the call in `at`. The copy keeps
   the compiler from storing what only a replay needs while it records. */
#define RF_REPLAY(expression)                                                                      \
    if (__builtin_expect(!rf_recording(), 0)) {                                                    \
        const struct rf_here copy = here;                                                          \
        const struct rf_here *at = &copy;                                                          \
        return rf_leave(at, expression);                                                           \
    }

/* How deep this thread is inside the library. A call at depth > 0 is either the library calling
   itself or a callback of the program; the return address tells which. On its way through a Fortran
   layer a call has RF_BY_FORTRAN set, and where the program made it is in `rf_fortran_caller`. A
   thread that has not called yet has RF_STRANGER set: so it is noticed where depths are. */
#define RF_BY_FORTRAN 0x80000000u
#define RF_STRANGER 0x40000000u
#define rf_depth (rf_self.depth)
extern _Thread_local uintptr_t rf_fortran_caller RF_OURS __attribute__((tls_model("initial-exec")));

/* How many calls of MPI this thread is in, one inside the other. */
static inline unsigned rf_inside(void) {
    return rf_depth & ~(RF_BY_FORTRAN | RF_STRANGER);
}

/* The last failed test or probe, to be counted up when it is repeated. */
struct rf_failure {
    struct rf_entry *entry;
    uint64_t place; /* return address and function */
    MPI_Comm comm;  /* of a probe */
};

static inline uint64_t rf_failure_place(const struct rf_here *here) {
    return rf_callsite_key(here->address, here->function);
}

struct rf_adapter {
    int rank, size;
    int level; /* of thread support: 0 single to 3 multiple */
    struct rf_channels channels;
    struct rf_pending pending;     /* record: wildcard receives without a known match */
    struct rf_stand_ins stand_ins; /* replay: handles of the program behind which is another */
    MPI_Status *room;              /* record: the status of a blocking call, in the mapped log */
    uint32_t *flight;              /* record: the packed word of the blocking call */
    bool flight_used;              /* replay: the call that was cut off has been made */
    struct rf_undecided undecided; /* replay: cancels whose outcome nobody saw */
    bool generalized;              /* generalized requests exist: do not query them needlessly */
    struct rf_failure failure;     /* record */
    bool noted[RF_FUNCTIONS];      /* record: functions already noted as not recorded */
};
extern struct rf_adapter rf_mpi RF_OURS;

/* Room for copies of the program's arrays; grown when a call brings more requests than any before.
   Each thread has its own, and one more for calls made from a callback inside a call. */
struct rf_scratch {
    int size;
    MPI_Request *requests;
    MPI_Status *statuses;
    int32_t *numbers;
    struct rf_pending_receive **receives; /* record: what is pending of these requests */
    struct rf_stand_in **stand_ins;       /* replay: what stands before them */
};
extern _Thread_local struct rf_scratch rf_scratches[2] __attribute__((tls_model("initial-exec")));
void rf_scratch_grow(struct rf_scratch *scratch, int count);

static inline struct rf_scratch *rf_scratch_at(bool deep, int count) {
    struct rf_scratch *scratch = &rf_scratches[deep];
    if (__builtin_expect(count > scratch->size, 0))
        rf_scratch_grow(scratch, count);
    return scratch;
}
static inline struct rf_scratch *rf_scratch(int count) {
    return rf_scratch_at(rf_depth > 1, count);
}

RF_STEP bool rf_recording(void) {
    return rf_mode_records(rf_the_session.mode);
}

#define rf_current (rf_self.current)

/* Where the program made the call, 0 if it is to be passed through: when nothing is recorded or
   replayed, or the library calls itself. */
uintptr_t rf_enter_otherwise(const char *name, uint32_t function, uintptr_t address);

RF_STEP bool rf_enter(struct rf_here *here) {
    if (__builtin_expect(rf_the_session.mode != RF_RECORDING || rf_depth != 0, 0)) {
        here->address = rf_enter_otherwise(here->name, here->function, here->address);
        return here->address;
    }
    rf_self.both = 1; /* depth 1, not answered */
    return true;
}

/* The shortest way through the calls that are made most: recording, one thread at a time, and not
   from inside the library. What it leaves out is done by a second form of the same wrapper. */
RF_STEP bool rf_enter_fast(void) {
    if (__builtin_expect(rf_the_session.mode != RF_RECORDING || rf_depth != 0, 0))
        return false;
    rf_self.both = 1; /* depth 1, not answered */
    return true;
}

/* It is the program that asks about a request, and not we ourselves: the contents are its own then.
 */
extern _Thread_local bool rf_program_asks RF_OURS __attribute__((tls_model("initial-exec")));
/* Replay: the call of the program failed, and this is one of several that are made of it. */
extern _Thread_local bool rf_part_of_failed RF_OURS __attribute__((tls_model("initial-exec")));

/* Compares an error, or its absence, with the recording; or records it. A call for all of several
   requests has these and their statuses, or MPI_STATUSES_IGNORE. */
void rf_outcome(const struct rf_here *here, int code, int count, const MPI_Request *requests,
                const MPI_Status *statuses);

/* The library for threads is told that the call is over. */
void rf_leave_entered(void);

/* Leaves without an outcome. */
RF_STEP void rf_leave_quietly(void) {
    rf_depth--;
    if (__builtin_expect(rf_self.entered, 0))
        rf_leave_entered();
}

RF_STEP int rf_leave(const struct rf_here *here, int code) {
    if (__builtin_expect(code != MPI_SUCCESS || rf_the_session.mode != RF_RECORDING, 0)) {
        const struct rf_here copy = *here;
        rf_outcome(&copy, code, 0, NULL, NULL);
        rf_leave_quietly();
        return code;
    }
    rf_depth--;
    return code;
}

RF_STEP int rf_leave_fast(const struct rf_here *here, int code) {
    if (__builtin_expect(code != MPI_SUCCESS, 0)) {
        const struct rf_here copy = *here;
        rf_outcome(&copy, code, 0, NULL, NULL);
    }
    rf_depth--;
    return code;
}

/* The same for a call that is not in the signature and has no event when it succeeds: an error that
   comes next in the recording may be that of the next such call. */
static inline int rf_leave_uncounted(const struct rf_here *here, int code) {
    if (code != MPI_SUCCESS)
        return rf_leave(here, code);
    rf_leave_quietly();
    return code;
}

/* The same for calls that report on several requests. */
static inline int rf_leave_all(const struct rf_here *here, int code, int count,
                               const MPI_Request *requests, const MPI_Status *statuses) {
    if (__builtin_expect(code != MPI_SUCCESS || !rf_recording(), 0)) {
        const struct rf_here copy = *here;
        rf_outcome(&copy, code, count, requests, statuses);
    }
    rf_leave_quietly();
    return code;
}

/* Record: the outcome of this function is not kept; tell the user at the end. */
void rf_note_unsupported(enum rf_function function, const char *name);

/* Replay: true when the recording was cut off before this point. The first time, everything that
   was held back is handed to the library. */
bool rf_free(void);
/* Replay: the event of this call, or NULL when the rank is free. `comm` is RF_NO_COMM for calls
   that have none. */
const struct rf_event *rf_expect(const struct rf_here *here, uint32_t kinds, MPI_Comm comm,
                                 const struct rf_asked *asked);

/* Replay: plays the event. */
static inline void rf_take(void) {
    rf_self.answered = true;
    rf_replay_take(&rf_the_session.replayer);
}
/* Replay: the error that this call returned in the recording, if it is the next event. */
const struct rf_event *rf_recorded_error(const struct rf_here *here);

/* Record: appends an event that may repeat. */
RF_STEP void rf_record(const struct rf_here *here, enum rf_kind kind, uint32_t channel,
                       int32_t first, int32_t second) {
    struct rf_session *session = &rf_the_session;
    rf_self.answered = true;
    rf_session_append(session);
    if (__builtin_expect(session->recorder.on, 1))
        rf_recorder_fold(&session->recorder, rf_here_pack(session, here, kind, channel), first,
                         second);
    rf_session_unlock(session);
}

/* Record: a test or probe failed. Programs ask again and again from one place, and this should cost
   as little as counting. */
void rf_record_first_failure(const struct rf_here *here, MPI_Comm comm, int32_t count);

/* `comm` matters for probes only; a test passes RF_NO_COMM, and nothing is compared. */
RF_STEP void rf_record_failure(const struct rf_here *here, MPI_Comm comm, int32_t count) {
    struct rf_failure *last = &rf_mpi.failure;
    struct rf_entry *entry = rf_the_session.recorder.last;
    if (__builtin_expect(last->entry == entry && last->place == rf_failure_place(here) &&
                             (comm == RF_NO_COMM || last->comm == comm) &&
                             /* a function that always asks for as many needs no comparison */
                             (__builtin_constant_p(count) || entry->first == count),
                         1)) {
        if (__builtin_expect((int32_t)++entry->run < 0, 0))
            rf_the_session.recorder.last = NULL; /* count in a new entry */
        return;
    }
    const struct rf_here copy = *here;
    rf_record_first_failure(&copy, comm, count);
}

/* Record: a wildcard receive was posted. The form for programs whose threads call one at a time,
   and the one for the others. */
RF_STEP void rf_record_post_alone(const struct rf_here *here, MPI_Request request, int source,
                                  int tag, MPI_Comm comm) {
    struct rf_session *session = &rf_the_session;
    if (__builtin_expect(!session->recorder.on, 0))
        return;
    struct rf_pending_receive *receive =
        rf_pending_add(&rf_mpi.pending, request, source, tag, false);
    if (receive)
        rf_pending_post(
            &rf_mpi.pending, &session->recorder, receive,
            rf_here_pack(session, here, RF_POST, rf_channel_of(&rf_mpi.channels, comm)));
}
void rf_record_post_shared(const struct rf_here *here, MPI_Request request, int source, int tag,
                           MPI_Comm comm);

RF_STEP void rf_record_post(const struct rf_here *here, MPI_Request request, int source, int tag,
                            MPI_Comm comm) {
    if (__builtin_expect(!rf_the_session.concurrent, 1)) {
        rf_record_post_alone(here, request, source, tag, comm);
    } else {
        const struct rf_here copy = *here;
        rf_record_post_shared(&copy, request, source, tag, comm);
    }
}

/* Record: the library reported this request complete. */
RF_STEP void rf_record_completion_alone(MPI_Request request, const MPI_Status *status) {
    struct rf_pending_receive **place = rf_pending_place(&rf_mpi.pending, request);
    struct rf_pending_receive *receive = *place;
    if (!receive)
        return;
    rf_pending_learn(&rf_the_session, receive, status);
    rf_pending_settle(&rf_mpi.pending, &rf_the_session, receive, place, status);
}

/* Where threads call at the same time, another one may have got the same handle by now, for a new
   request. So what is pending is claimed before the library is called, and given back if it was
   not completed. */
struct rf_pending_receive *rf_record_claim_shared(MPI_Request request);
RF_STEP struct rf_pending_receive *rf_record_claim(MPI_Request request) {
    return __builtin_expect(rf_the_session.concurrent, 0) ? rf_record_claim_shared(request) : NULL;
}
void rf_record_give_back(struct rf_pending_receive *receive);
void rf_record_completion_shared(struct rf_pending_receive *receive, const MPI_Status *status);

RF_STEP void rf_record_completion(MPI_Request request, struct rf_pending_receive *receive,
                                  const MPI_Status *status) {
    if (__builtin_expect(!rf_the_session.concurrent, 1))
        rf_record_completion_alone(request, status);
    else
        rf_record_completion_shared(receive, status);
}

/* Record: the same for the first of two passes over all requests that a call reported. */
static inline void rf_record_match(MPI_Request request, struct rf_pending_receive *receive,
                                   const MPI_Status *status) {
    struct rf_session *session = &rf_the_session;
    rf_session_lock(session);
    if (!session->concurrent)
        receive = *rf_pending_place(&rf_mpi.pending, request);
    if (receive)
        rf_pending_learn(session, receive, status);
    rf_session_unlock(session);
}

/* ---- waiting.c ---- */

/* Meanwhile the program's error handler does not hear of what goes wrong with a request, if the
   library tells the handler of the world of it. */
MPI_Errhandler rf_errors_aside(void);
void rf_errors_back(MPI_Errhandler handler);
/* Asks about a request without completing it, and without the program's error handler hearing of
   it. True if it is complete. */
bool rf_look(MPI_Request request, MPI_Status *status);
/* MPICH 4.2 takes a persistent request for completed when it was asked about: what it got is told
   only that once. */
bool rf_asking_completes(void);
/* Finds out if it is so. */
void rf_asking_try(void);
/* Replay: this request, which is persistent, is not to be asked about where that is so. */
void rf_ask_never(MPI_Request request);
/* Replay: are there requests that nobody asks about? */
bool rf_unasked_any(void);
/* Replay: blocks until the request is complete, without completing it, and gives up the core. */
void rf_await(const struct rf_here *here, MPI_Request request);
/* Replay: a wait, begun with whom it is for and zeros. */
struct rf_patience {
    struct rf_bell_wait wait;
    unsigned looks, sleeps;
    uint32_t heard;
    long sleep; /* nanoseconds */
    bool rung;  /* what ended the last sleep */
};
/* Called once, before anything is waited for: `size` ranks, if nobody tells how many are here. */
void rf_waiting_begin(int size);
/* Called between two looks, and when it has happened. */
void rf_wait_a_little(struct rf_patience *patience);
void rf_waited(const struct rf_patience *patience);
/* Replay: until the other threads of the process have nothing more to do, at most so long. */
void rf_wait_until_idle(int seconds);
/* Replay: this thread ends the process inside a call; the others come to where they were then. */
void rf_others_first(void);
/* Replay: a failed test or probe is answered without the library; let it get on now and then. */
void rf_answer_failure(void);

/* ---- ends.c ---- */

/* The process ends without what exit() does, or from within a call. Does nothing once the recording
   is closed. */
void rf_note_left(int status);

#endif
