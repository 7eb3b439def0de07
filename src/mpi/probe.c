/* Probes: those that wait, those that ask, and those that take the message out of the queue. */
#include <sched.h>

#include "mpi/receive.h"

/* Waits until a blocking probe has something to find. */
static void await_message(const struct rf_blocking *call) {
    struct rf_patience patience = {
        .wait = {rf_bell_owner(call->comm, call->source, false), RF_BELL_SENT}};
    int flag = 0;
    if (rf_recording() || call->source == MPI_PROC_NULL)
        return;
    while (rf_reals.Iprobe(call->source, call->tag, call->comm, &flag, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS &&
           !flag)
        rf_wait_a_little(&patience);
    rf_waited(&patience);
}

/* Threads look in turn, again and again: what a probe saw has its place between the receives of all
   threads. `call` asks the library, and sets `flag`. */
#define RF_PROBE_IN_ORDER(ask)                                                                     \
    struct rf_patience patience = {.wait = RF_BELL_ANYBODY};                                       \
    int code;                                                                                      \
    int flag = 0;                                                                                  \
    begin_probe(here, call);                                                                       \
    do {                                                                                           \
        if (rf_recording())                                                                        \
            rf_turn_try_ordered();                                                                 \
        code = ask;                                                                                \
        if (!rf_recording() && code == MPI_SUCCESS && !flag)                                       \
            rf_wait_a_little(&patience);                                                           \
    } while (!end_probe(here, call, code, flag));                                                  \
    rf_waited(&patience);                                                                          \
    return code

/* Replay: has its turn once, and waits in it for a message that was there when it was recorded. */
static void begin_probe(const struct rf_here *here, struct rf_blocking *call) {
    if (rf_recording())
        return;
    if (call->wild && !rf_recorded_error(here))
        rf_replay_need(&rf_the_session); /* not in its turn: it may be cut off here */
    if (rf_recorded_error(here))
        return;
    rf_turn_begin_ordered(here);
    rf_blocking_replay(here, call);
}

/* True if the probe is over. */
static bool end_probe(const struct rf_here *here, struct rf_blocking *call, int code, int flag) {
    bool over = code != MPI_SUCCESS || flag;
    if (!rf_recording() && over)
        rf_turn_end_ordered(here);
    if (!rf_recording())
        return over;
    if (code == MPI_SUCCESS && flag) {
        rf_blocking_end(call);
        rf_turn_end_ordered(here);
    } else {
        rf_turn_drop_ordered();
        if (over && call->wild)
            rf_blocking_over(call);
        if (!over)
            sched_yield();
    }
    return over;
}

static int probe_in_order(const struct rf_here *here, struct rf_blocking *call) {
    RF_PROBE_IN_ORDER(rf_reals.Iprobe(call->source, call->tag, call->comm, &flag, call->status));
}

static int mprobe_in_order(const struct rf_here *here, struct rf_blocking *call,
                           MPI_Message *message) {
    RF_PROBE_IN_ORDER(
        rf_reals.Improbe(call->source, call->tag, call->comm, &flag, message, call->status));
}

RF_WRAPPER(int, Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status)) {
    RF_ENTER(Probe, (source, tag, comm, status));
    rf_sign(&rf_the_session, &here, source, tag, 0);
    struct rf_blocking call;
    rf_blocking_set(&call, RF_FOUND, comm, source, tag, status);
    rf_blocking_begin(&here, &call);
    if (__builtin_expect(rf_order.on, 0) && source != MPI_PROC_NULL) {
        const struct rf_here copy = here;
        return rf_leave(&copy, probe_in_order(&copy, &call));
    }
    await_message(&call);
    int code = rf_reals.Probe(call.source, call.tag, comm, call.status);
    rf_blocking_end(&call);
    return rf_leave(&here, code);
}

RF_WRAPPER(int, Mprobe,
           (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)) {
    RF_ENTER(Mprobe, (source, tag, comm, message, status));
    rf_sign(&rf_the_session, &here, source, tag, 0);
    struct rf_blocking call;
    rf_blocking_set(&call, RF_RECV, comm, source, tag, status);
    rf_blocking_begin(&here, &call);
    if (__builtin_expect(rf_order.on, 0) && source != MPI_PROC_NULL) {
        const struct rf_here copy = here;
        return rf_leave(&copy, mprobe_in_order(&copy, &call, message));
    }
    await_message(&call);
    int code = rf_reals.Mprobe(call.source, call.tag, comm, message, call.status);
    rf_blocking_end(&call);
    return rf_leave(&here, code);
}

/* Whether a message is there is decided outside even if its source and tag are named, so every
   answer is an event. Recording looks at a status of its own if the caller has none. */
RF_STEP void record_answer(const struct rf_here *here, MPI_Comm comm, int code, int flag,
                           const MPI_Status *status) {
    if (code != MPI_SUCCESS)
        return;
    if (!flag) {
        rf_record_failure(here, comm, 0);
        return;
    }
    if (__builtin_expect(rf_pending_unknown(&rf_mpi.pending), 0))
        rf_pending_ask_fitting(comm, status->MPI_SOURCE, status->MPI_TAG);
    rf_record(here, RF_FOUND, rf_channel_of(&rf_mpi.channels, comm), status->MPI_SOURCE,
              status->MPI_TAG);
}

/* Only what was found has a place in the order. */
RF_STEP void end_answer(const struct rf_here *here, bool found) {
    if (found)
        rf_turn_end(here);
    else if (__builtin_expect(rf_order.on, 0))
        rf_turn_drop_ordered();
}

enum answer { ANSWER_FREE, ANSWER_NO, ANSWER_YES };

/* Replay: the recorded answer; for a yes, source and tag become those of the message. */
static enum answer recorded_answer(const struct rf_here *here, MPI_Comm comm, int *source,
                                   int *tag) {
    const struct rf_event *event =
        rf_recorded_error(here) ? NULL : rf_expect(here, RF_IS(NONE) | RF_IS(FOUND), comm, NULL);
    if (!event)
        return ANSWER_FREE;
    if (event->kind == RF_NONE) {
        rf_take();
        rf_answer_failure();
        return ANSWER_NO;
    }
    if ((*source != MPI_ANY_SOURCE && *source != event->first) ||
        (*tag != MPI_ANY_TAG && *tag != event->second))
        rf_diverge(&rf_the_session, here, event, NULL,
                   "the program looks for source %d, tag %d: not the recorded message", *source,
                   *tag);
    if (rf_end_of_trust(comm, event->first, event->second))
        return ANSWER_FREE;
    *source = event->first;
    *tag = event->second;
    rf_take();
    rf_progress_wait(&rf_the_session.replayer, here, *source, *tag);
    return ANSWER_YES;
}

/* Asks until the recorded answer is there, by an expression that calls the library. */
#define RF_ANSWER(call)                                                                            \
    enum answer answer = recorded_answer(here, comm, &source, &tag);                               \
    struct rf_patience patience = {.wait = {rf_bell_owner(comm, source, false), RF_BELL_SENT}};    \
    int code = MPI_SUCCESS;                                                                        \
    *flag = 0;                                                                                     \
    if (answer == ANSWER_YES)                                                                      \
        rf_turn_begin(here);                                                                       \
    while (answer != ANSWER_NO) {                                                                  \
        code = call;                                                                               \
        if (answer == ANSWER_FREE || code != MPI_SUCCESS || *flag)                                 \
            break;                                                                                 \
        rf_wait_a_little(&patience);                                                               \
    }                                                                                              \
    rf_waited(&patience);                                                                          \
    if (answer == ANSWER_YES)                                                                      \
        rf_turn_end(here);                                                                         \
    return code

static int replay_iprobe(const struct rf_here *here, int source, int tag, MPI_Comm comm, int *flag,
                         MPI_Status *status) {
    RF_ANSWER(rf_reals.Iprobe(source, tag, comm, flag, status));
}

static int replay_improbe(const struct rf_here *here, int source, int tag, MPI_Comm comm, int *flag,
                          MPI_Message *message, MPI_Status *status) {
    RF_ANSWER(rf_reals.Improbe(source, tag, comm, flag, message, status));
}

static __attribute__((noinline)) int iprobe_otherwise(uintptr_t address, int source, int tag,
                                                      MPI_Comm comm, int *flag,
                                                      MPI_Status *status) {
    RF_ENTER_FROM(address, Iprobe, (source, tag, comm, flag, status));
    if (source == MPI_PROC_NULL)
        return rf_leave_uncounted(&here, rf_reals.Iprobe(source, tag, comm, flag, status));
    RF_REPLAY(replay_iprobe(at, source, tag, comm, flag, status));
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    rf_turn_try();
    int code = rf_reals.Iprobe(source, tag, comm, flag, status);
    record_answer(&here, comm, code, *flag, status);
    end_answer(&here, code == MPI_SUCCESS && *flag);
    return rf_leave(&here, code);
}

RF_WRAPPER(int, Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)) {
    RF_HERE(Iprobe);
    if (__builtin_expect(!rf_enter_fast(), 0))
        return iprobe_otherwise(here.address, source, tag, comm, flag, status);
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    int code = rf_reals.Iprobe(source, tag, comm, flag, status);
    if (source != MPI_PROC_NULL)
        record_answer(&here, comm, code, *flag, status);
    return rf_leave_fast(&here, code);
}

RF_WRAPPER(int, Improbe,
           (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
            MPI_Status *status)) {
    RF_ENTER(Improbe, (source, tag, comm, flag, message, status));
    if (source == MPI_PROC_NULL)
        return rf_leave_uncounted(&here,
                                  rf_reals.Improbe(source, tag, comm, flag, message, status));
    RF_REPLAY(replay_improbe(at, source, tag, comm, flag, message, status));
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    rf_turn_try();
    int code = rf_reals.Improbe(source, tag, comm, flag, message, status);
    record_answer(&here, comm, code, *flag, status);
    end_answer(&here, code == MPI_SUCCESS && *flag);
    return rf_leave(&here, code);
}
