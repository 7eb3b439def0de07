#include "mpi/order.h"

#include <dlfcn.h>
#include <stdio.h>

#include "mpi/kept.h"
#include "threads/adapter.h"

struct rf_order rf_order;
_Thread_local struct rf_self rf_self
    __attribute__((tls_model("initial-exec"))) = {.both = RF_STRANGER};

RF_EXPORT rf_adapter_differs refrain_adapter_differs;

/* The library for threads says that a replay differs where threads meet. */
void refrain_adapter_differs(const char *function, uintptr_t address,
                             const struct rf_call *expected, int rank, const char *text) {
    const struct rf_here here = {function, 0, address}, *where = address ? &here : NULL;
    char early[256];
    if (rf_the_session.replayer.progress)
        rf_diverge_from(&rf_the_session, where, expected, text);
    snprintf(early, sizeof early, "before MPI_Init: %s", text);
    rf_diverge_early(rank, where, expected, early);
}

/* What the command line sees of a thread that may block in MPI. */
static void show(const struct rf_here *here) {
    if (here)
        rf_order.link->blocks(here->name, here->address);
    else
        rf_order.link->goes_on();
}

void rf_order_find(void) {
    const struct rf_threads_link *link = dlsym(RTLD_DEFAULT, RF_THREADS_LINK);
    if (link && link->version == RF_THREADS_LINK_VERSION)
        rf_order.found = rf_order.link = link;
}

/* Where threads take turns by themselves, or all at once, they are told apart from the beginning:
   nobody tells when the second one comes. */
void rf_order_open(struct rf_session *session, int level, bool record) {
    const struct rf_threads_link *link = rf_order.link;
    session->concurrent = level >= 3;
    /* A replay begins with what was recorded. */
    if (link && level >= 2 && (record || link->wanted()))
        link->begin();
    if (link && !link->wanted())
        link = rf_order.link = NULL;
    if (!link || level < 2)
        return;
    session->concurrent = true;
    rf_strands_open(session, link->number());
    rf_order.on = session->shared;
}

void rf_order_let_go(void) {
    if (!rf_order.on || rf_order.gone)
        return;
    rf_order.gone = true;
    rf_order.link->let_go();
}

void rf_order_replay(struct rf_session *session) {
    if (rf_order.link)
        session->replayer.show = show;
    if (session->shared)
        session->replayer.shared = session;
}

/* Only the thread that has initialised MPI may call it then, though all may ask for the time.
   Libraries often bear with more, but in which order threads come is kept only as far as that of
   their locks is. */
static void note_call_of_another(struct rf_session *session) {
    rf_lock(&session->lock);
    rf_recorder_unsupported(&session->recorder,
                            rf_mpi.level ? "calls of other threads with MPI_THREAD_FUNNELED"
                                         : "calls of several threads with MPI_THREAD_SINGLE");
    rf_unlock(&session->lock);
}

bool rf_order_meet(uint32_t function) {
    struct rf_session *session = &rf_the_session;
    rf_self.depth &= ~RF_STRANGER;
    if (rf_mpi.level < 2 && function != RF_FN_Wtime)
        note_call_of_another(session);
    rf_pending_meet();
    if (!rf_order.on)
        return true;
    rf_self.foreign = !rf_strand_meet(session, rf_order.link->number());
    return !rf_self.foreign;
}

/* A rank alone that records again has the recorded turns; there is no library to enter anything
   into. Where a recording takes a turn it plays one: whoever comes after it did not wait for more.
 */
static bool again(void) {
    return rf_the_session.mode == RF_RECORDING_AGAIN;
}

/* A callback of the program, made from inside such a call, is part of its turn. */
static bool begin(void) {
    if (rf_self.in_turn)
        return false;
    rf_self.in_turn = true;
    rf_self.turn_depth = rf_depth;
    if (rf_recording() && !again())
        rf_lock(&rf_order.lock);
    return true;
}

static void take(const struct rf_here *here) {
    if (!again()) {
        rf_order.link->take(here->name, here->address, &rf_order.object);
    } else {
        rf_order.link->await(here->name, here->address);
        rf_order.link->played();
    }
}

void rf_turn_begin_ordered(const struct rf_here *here) {
    if (!begin())
        return;
    rf_self.taken = rf_recording();
    /* Where the messages of a recording end, turns may go on: sends are no events. */
    rf_self.awaited = !rf_recording() && !rf_order.gone;
    if (rf_self.taken)
        take(here);
    if (rf_self.awaited)
        rf_order.link->await(here->name, here->address);
}

void rf_turn_try_ordered(void) {
    if (begin())
        rf_self.taken = false;
}

void rf_turn_end_ordered(const struct rf_here *here) {
    if (!rf_self.in_turn || rf_depth > rf_self.turn_depth)
        return;
    rf_self.in_turn = false;
    if (rf_recording()) {
        if (!rf_self.taken)
            take(here);
        if (!again())
            rf_unlock(&rf_order.lock);
    } else if (rf_self.awaited) {
        rf_order.link->played();
    }
}

void rf_turn_drop_ordered(void) {
    if (!rf_self.in_turn || rf_depth > rf_self.turn_depth)
        return;
    rf_self.in_turn = false;
    if (!again())
        rf_unlock(&rf_order.lock);
}
