#include "mcapi/order.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcapi/adapter.h"
#include "threads/adapter.h"

_Thread_local struct rf_mcapi_thread *rf_this_thread __attribute__((tls_model("initial-exec")));

const struct rf_threads_link *rf_link;
/* Replay: this thread waited for its turn. */
static _Thread_local bool awaited __attribute__((tls_model("initial-exec")));

/* ---- the library for threads ---- */

#ifdef RF_LINKED
/* Nothing stands before the functions of a program that has the adapter linked into it. */
static void find(void) {}
#else
static void find(void) {
    static bool asked;
    static int lock;
    rf_lock(&lock);
    const struct rf_threads_link *link = asked ? NULL : dlsym(RTLD_DEFAULT, RF_THREADS_LINK);
    if (link && link->version == RF_THREADS_LINK_VERSION && link->wanted())
        rf_link = link;
    asked = true;
    rf_unlock(&lock);
}

RF_EXPORT rf_adapter_differs refrain_adapter_differs;
RF_EXPORT rf_adapter_rank refrain_adapter_rank;

/* The threads of a process are compared for all of its nodes; the one that this thread is can tell
   best where it was. */
void refrain_adapter_differs(const char *function, uintptr_t address,
                             const struct rf_call *expected, int rank, const char *text) {
    const struct rf_here here = {function, 0, address}, *where = address ? &here : NULL;
    char early[256];
    struct rf_mcapi_node *node = rf_this_node;
    for (struct rf_mcapi_node *other = rf_nodes; other && !node; other = other->next)
        if (other->session.mode == RF_REPLAYING)
            node = other;
    if (node && node->session.replayer.progress)
        rf_diverge_from(&node->session, where, expected, text);
    snprintf(early, sizeof early, "before there is a node: %s", text);
    rf_diverge_early(rank, where, expected, early);
}

int refrain_adapter_rank(void) {
    const struct rf_mcapi_node *first = NULL;
    for (const struct rf_mcapi_node *node = rf_nodes; node; node = node->next)
        first = node; /* they are listed from the last one */
    return first ? first->number : -1;
}
#endif

void rf_order_begin(void) {
    find();
    rf_order_enter();
}

void rf_order_enter(void) {
    if (rf_link)
        rf_link->enter();
}

void rf_order_leave(void) {
    if (rf_link)
        rf_link->leave();
}

void rf_order_let_go(void) {
    if (rf_link)
        rf_link->let_go();
}

/* What the command line sees of a thread that may block. */
static void show(const struct rf_here *here) {
    if (here)
        rf_link->blocks(here->name, here->address);
    else
        rf_link->goes_on();
}

static void remember_thread(struct rf_mcapi_node *node) {
    struct rf_mcapi_thread *thread = rf_room(NULL, sizeof *thread);
    *thread = (struct rf_mcapi_thread){.next = node->threads};
    while (!__atomic_compare_exchange_n(&node->threads, &thread->next, thread, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    rf_this_thread = thread;
}

void rf_order_open(struct rf_mcapi_node *node, bool shares) {
    struct rf_session *session = &node->session;
    if (!rf_link && session->mode == RF_RECORDING && getenv("REFRAIN_THREADS"))
        rf_recorder_unsupported(&session->recorder, "the order of threads");
    if (!rf_link || session->mode == RF_OFF)
        return;
    rf_link->begin();
    rf_link->named(node->number);
    if (rf_link->number() < 0)
        return; /* another process has the log, or there is no order to follow */
    node->careful = node->ordered = true;
    if (session->mode == RF_REPLAYING)
        session->replayer.show = show;
    if (!shares)
        return;
    session->concurrent = true;
    rf_lines_open(node);
    rf_strands_open(session, rf_link->number());
    if (session->shared && session->mode == RF_REPLAYING)
        session->replayer.shared = session;
    remember_thread(node);
}

bool rf_order_meet(struct rf_mcapi_node *node) {
    if (!rf_strand_meet(&node->session, rf_link->number()))
        return false;
    remember_thread(node);
    rf_this_node = node;
    return true;
}

/* ---- turns ---- */

/* Other nodes see an endpoint as soon as it is made. Were the turn taken after that, a thread that
   one of them has answered in between could be one that the turn waits for. */
void rf_making_begin(struct rf_mcapi_node *node, const struct rf_here *here) {
    if (!node->session.shared)
        return;
    awaited = !rf_recording(node) && !rf_free(node);
    if (rf_recording(node)) {
        rf_lock(&node->making);
        rf_link->take(here->name, here->address, &node->making);
    } else if (awaited) {
        rf_link->await(here->name, here->address);
    }
}

void rf_making_end(struct rf_mcapi_node *node) {
    if (!node->session.shared)
        return;
    if (rf_recording(node))
        rf_unlock(&node->making);
    else if (awaited)
        rf_link->played();
}
