/* From mcapi_initialize to the end: opens and closes the session of a node. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/signals.h"
#include "mcapi/adapter.h"

static int lock; /* of the list of nodes */
static pid_t owner;

static void note_signal(int number) {
    for (struct rf_mcapi_node *node = __atomic_load_n(&rf_nodes, __ATOMIC_ACQUIRE); node;
         node = node->next)
        if (rf_recording(node))
            rf_recorder_cut_off(&node->session.recorder, number);
}

static void stop(int code) {
    _exit(code);
}

/* A child made by fork is none of the recorded nodes. */
static void forget_in_child(void) {
    for (struct rf_mcapi_node *node = rf_nodes; node; node = node->next) {
        if (rf_recording(node))
            rf_recorder_abandon(&node->session.recorder);
        node->data = (struct rf_data){0};
        node->session.mode = RF_OFF;
    }
    rf_nodes = NULL;
    rf_this_node = NULL;
    rf_this_thread = NULL;
    rf_depth = 0;
    lock = 0;
    owner = 0;
}

/* Its thread may be in the middle of something. */
static bool lives(const struct rf_mcapi_node *node) {
    return syscall(SYS_tgkill, getpid(), node->thread, 0) == 0;
}

/* Replay: this thread's node has ended, and the library does not know. */
static _Thread_local bool lingers __attribute__((tls_model("initial-exec")));

/* Replay: others may be slower than they were, and look for the node's endpoints or send to them.
   So these stay. Where the library cannot have that, it is not told of the end. */
static void retire(const struct rf_mcapi_node *node) {
    if (rf_reals.retire)
        rf_reals.retire(node->domain, node->node);
    else
        lingers = true;
}

static void end_at_exit(int status, void *unused) {
    (void)unused;
    static const struct rf_here here = {.name = "exit"};
    for (struct rf_mcapi_node *node = rf_nodes; node && getpid() == owner; node = node->next) {
        struct rf_session *session = &node->session;
        /* Whoever ends the program cuts off the others, wherever they are. Their recordings stop as
           if they had been killed. */
        bool cut_off = rf_this_node != node && lives(node);
        if (rf_recording(node) && !cut_off) {
            rf_session_lock(session);
            rf_recorder_close(&session->recorder, RF_END_EXIT, status);
            rf_session_unlock(session);
            rf_data_close(node);
        } else if (session->mode == RF_REPLAYING) {
            if (!cut_off) {
                rf_replay_finish(session, &here, RF_END_EXIT, status);
                retire(node);
            }
            session->replayer.progress->state = RF_STATE_FINISHED;
        }
        session->mode = RF_OFF;
    }
}

/* A file has one number, a node has two, of any size. Most programs have one domain, and the number
   of the node will do; where that is taken, by the same node of another domain, there is a second
   choice. */
static int32_t number_of(mcapi_domain_t domain, mcapi_node_t number, int choice) {
    return choice ? (int32_t)(1 << 24 | (domain & 0xff) << 16 | (number & 0xffff))
                  : (int32_t)(number & 0xffffff);
}
enum { CHOICES = 2 };

static void describe(mcapi_domain_t domain, mcapi_node_t number, struct rf_node *facts) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    facts->pid = (int32_t)getpid();
    facts->started_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    gethostname(facts->host, sizeof facts->host - 1);
    snprintf(facts->adapter, sizeof facts->adapter, "mcapi");
    const char *scheme = getenv("REFRAIN_SCHEME");
    snprintf(facts->scheme, sizeof facts->scheme, "%s", scheme ? scheme : "order");
    snprintf(facts->library, sizeof facts->library, "%s, domain %u, node %u",
             rf_reals.origin ? "Refrain's MCAPI runtime"
                             : "MCAPI 2.015, messages told apart by their contents",
             domain, number);
}

/* Only Refrain's own runtime can tell in which order messages were matched. */
static void begin_stamping(struct rf_mcapi_node *node) {
    node->stamping = rf_reals.stamp_matches != NULL;
    if (node->stamping)
        rf_reals.stamp_matches(1);
    else
        fprintf(stderr,
                "refrain: node %d: this MCAPI library does not tell the order of "
                "deliveries: scheme order is used instead\n",
                node->number);
}

static void open_recording(struct rf_mcapi_node *node, struct rf_node *facts, const char *trace,
                           const int32_t numbers[CHOICES]) {
    struct rf_error error = {0};
    for (int i = 0; i < CHOICES; i++) {
        node->number = facts->rank = numbers[i];
        if (rf_recorder_open(&node->session.recorder, trace, facts, &error)) {
            rf_recorder_sparing(&node->session.recorder);
            node->session.mode = RF_RECORDING;
            rf_signals_watch(note_signal);
            if (strcmp(facts->scheme, "sender") == 0)
                begin_stamping(node);
            if (strcmp(facts->scheme, "data") == 0 && !rf_data_open(node, trace, true, &error))
                fprintf(stderr, "refrain: %s: data is not kept: %s\n", facts->library, error.text);
            return;
        }
    }
    fprintf(stderr, "refrain: %s: is not recorded: %s\n", facts->library, error.text);
    if (error.hint[0])
        fprintf(stderr, "hint: %s\n", error.hint);
}

static bool has_trace(const char *trace, int32_t number) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.trace", trace, number);
    return access(path, F_OK) == 0;
}

/* Which of its numbers the node was recorded under. */
static int32_t recorded_number(const struct rf_node *facts, const char *trace,
                               const int32_t numbers[CHOICES]) {
    if (!has_trace(trace, numbers[1]))
        return numbers[0];
    for (int i = 0; i < CHOICES; i++) {
        struct rf_error error;
        struct rf_reader *reader = rf_reader_open(trace, numbers[i], &error);
        bool same = reader && strcmp(rf_reader_node(reader)->library, facts->library) == 0;
        if (reader)
            rf_reader_close(reader);
        if (same)
            return numbers[i];
    }
    return numbers[0];
}

static int32_t recorded_process(const char *trace, int32_t number) {
    struct rf_error error;
    struct rf_reader *reader = rf_reader_open(trace, number, &error);
    int32_t process = reader ? rf_reader_node(reader)->pid : 0;
    if (reader)
        rf_reader_close(reader);
    return process;
}

/* One node is to run alone. Threads of its process are needed, and get what they received; a
   process without it only has to wait for those that it has started. */
static bool is_watched(const char *trace, int32_t number) {
    const char *alone = getenv("REFRAIN_RANK");
    int32_t chosen = alone ? (int32_t)strtol(alone, NULL, 10) : number;
    if (chosen == number)
        return true;
    if (recorded_process(trace, chosen) == recorded_process(trace, number))
        return false;
    rf_order_let_go();
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    _exit(0);
}

static void open_replay(struct rf_mcapi_node *node, const struct rf_node *facts,
                        const struct rf_here *here, const char *trace,
                        const int32_t numbers[CHOICES]) {
    struct rf_error error = {0};
    struct rf_session *session = &node->session;
    /* A program that was cut off may not have come to its last nodes: they are on their own. */
    if (getenv("REFRAIN_CUT") && !has_trace(trace, numbers[0]) && !has_trace(trace, numbers[1]))
        return;
    node->number = recorded_number(facts, trace, numbers);
    const char *run = is_watched(trace, node->number) ? getenv("REFRAIN_RUN") : NULL;
    bool opened = rf_replay_open(&session->replayer, trace, run, node->number, &error);
    session->mode = RF_REPLAYING;
    if (!opened)
        rf_diverge(session, here, NULL, NULL, "%s", error.text);
    const struct rf_node *recorded = rf_reader_node(session->replayer.reader);
    if (!recorded->adapter[0])
        return; /* it was killed before it could write down anything */
    if (strcmp(recorded->adapter, facts->adapter) != 0)
        rf_diverge(session, here, NULL, NULL, "the trace was recorded with %s, this is MCAPI",
                   recorded->adapter);
    if (strcmp(recorded->library, facts->library) != 0)
        rf_diverge(session, here, NULL, NULL, "this is %s, recorded was %s", facts->library,
                   recorded->library);
    if (strcmp(recorded->scheme, "sender") == 0 && rf_reals.stamp_matches &&
        !rf_turns_open(node, run, &error))
        rf_diverge(session, here, NULL, NULL, "%s", error.text);
    node->careful = node->turns.shared != NULL;
    rf_pairs_open(&node->pairs, run);
    if (strcmp(recorded->scheme, "data") == 0 && !rf_data_open(node, trace, false, &error))
        rf_diverge(session, here, NULL, NULL, "%s", error.text);
}

/* True the first time in this process. */
static bool enlist(struct rf_mcapi_node *node) {
    rf_lock(&lock);
    bool first = !owner;
    owner = getpid();
    node->next = rf_nodes;
    __atomic_store_n(&rf_nodes, node, __ATOMIC_RELEASE);
    rf_unlock(&lock);
    rf_this_node = node;
    return first;
}

static bool is_known(mcapi_domain_t domain, mcapi_node_t number) {
    rf_lock(&lock);
    const struct rf_mcapi_node *node = rf_nodes;
    while (node && !(node->domain == domain && node->node == number))
        node = node->next;
    rf_unlock(&lock);
    return node != NULL;
}

static const char *scheme_of(const struct rf_mcapi_node *node, const struct rf_node *facts) {
    return node->session.mode == RF_REPLAYING
               ? rf_reader_node(node->session.replayer.reader)->scheme
               : facts->scheme;
}

/* Fresh pages instead of malloc: much of a node is never touched. */
static struct rf_mcapi_node *new_node(void) {
    void *memory = mmap(NULL, sizeof(struct rf_mcapi_node), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "refrain: out of memory\n");
        abort();
    }
    return memory;
}

/* A node that is initialized again has no second file; what it does then is not recorded. */
static struct rf_mcapi_node *open_node(const struct rf_here *here, mcapi_domain_t domain,
                                       mcapi_node_t number) {
    const char *mode = getenv("REFRAIN_MODE");
    const char *trace = getenv("REFRAIN_TRACE");
    bool record = mode && strcmp(mode, "record") == 0;
    bool replay = mode && (strcmp(mode, "replay") == 0 || strcmp(mode, "alone") == 0);
    if (!trace || (!record && !replay) || rf_stands_back())
        return NULL;
    if (is_known(domain, number)) {
        fprintf(stderr, "refrain: node %u is initialized again: what it does now is not %s\n",
                number, record ? "recorded" : "replayed");
        rf_this_node = NULL;
        return NULL;
    }
    struct rf_mcapi_node *node = new_node();
    node->thread = (pid_t)syscall(SYS_gettid);
    node->domain = domain;
    node->node = number;
    node->session.stop = stop;
    rf_session_check_at(&node->session, 0, 1);
    if (enlist(node)) {
        pthread_atfork(NULL, NULL, forget_in_child);
        on_exit(end_at_exit, NULL);
    }
    struct rf_node facts = {0};
    describe(domain, number, &facts);
    const int32_t numbers[CHOICES] = {number_of(domain, number, 0), number_of(domain, number, 1)};
    if (record)
        open_recording(node, &facts, trace, numbers);
    else
        open_replay(node, &facts, here, trace, numbers);
    /* The order of deliveries and what was received are kept for a node, not for each thread. */
    rf_order_open(node, strcmp(scheme_of(node, &facts), "order") == 0);
    return node;
}

static void begin(const struct rf_here *here, mcapi_domain_t domain, mcapi_node_t number,
                  mcapi_info_t *info) {
    struct rf_mcapi_node *node = open_node(here, domain, number);
    if (!node || node->session.mode == RF_OFF || !info)
        return;
    /* Who else is there is a matter of time. */
    info->number_of_domains = (mcapi_uint_t)rf_value(node, here, (int32_t)info->number_of_domains);
    info->number_of_nodes = (mcapi_uint_t)rf_value(node, here, (int32_t)info->number_of_nodes);
}

RF_WRAPPER(void, initialize,
           (mcapi_domain_t domain, mcapi_node_t number, const mcapi_node_attributes_t *attributes,
            const mcapi_param_t *parameters, mcapi_info_t *info, mcapi_status_t *status)) {
    RF_HERE(initialize);
    const struct rf_real *real = rf_real();
    rf_signals_look();
    rf_order_begin();
    rf_depth++;
    if (lingers) {
        mcapi_status_t ignored;
        real->finalize(&ignored);
        lingers = false;
    }
    real->initialize(domain, number, attributes, parameters, info, status);
    rf_depth--;
    if (!rf_depth && status && *status == MCAPI_SUCCESS)
        begin(&here, domain, number, info);
    rf_order_leave();
}

static void free_tables(struct rf_mcapi_node *node) {
    for (uint32_t i = 0; i < node->endpoint_count; i++) {
        if (node->endpoints[i]->open)
            rf_hold_close(&node->endpoints[i]->hold);
        free(node->endpoints[i]->next.slots);
        free(node->endpoints[i]);
    }
    free(node->endpoints);
    free(node->endpoint_map.slots);
    free(node->signs.slots);
    free(node->found.slots);
    free(node->packets.next.slots);
    free(node->packets.come.slots);
    free(node->packets.pulling.slots);
    free(node->packets.open.slots);
    free(node->posted_map.slots);
    free(node->posted);
    /* They were allocated in pieces: 64, 64, 128, 256 and so on. */
    for (uint32_t i = 0; i < node->request_room; i = i ? i * 2 : 64)
        free(node->requests[i]);
    free(node->requests);
    rf_data_close(node);
    rf_pairs_close(&node->pairs);
    node->endpoints = NULL;
    node->endpoint_count = 0;
    node->posted = NULL;
    node->requests = NULL;
}

static void close_node(struct rf_mcapi_node *node) {
    node->session.mode = RF_OFF;
    rf_this_node = NULL;
    rf_turns_close(node);
    /* Another thread may still be in a call, until the library tells it that the node is gone. */
    if (!node->session.shared)
        free_tables(node);
}

RF_WRAPPER(void, finalize, (mcapi_status_t * status)) {
    RF_ENTER_VOID(finalize, (status));
    struct rf_session *session = &node->session;
    /* The last word: the signature of the whole run, twice as many bits of it as elsewhere. */
    for (int i = 0; i < 2; i++) {
        uint64_t made = rf_session_calls(session);
        rf_session_check_at(session, made, made + 1);
        rf_sign(session, &here, RF_NO_PEER, RF_NO_PEER, i);
    }
    rf_session_check_others(session, &here);
    bool replaying = !rf_recording(node);
    if (!replaying) {
        rf_session_lock(session);
        rf_recorder_close(&session->recorder, RF_END_FINALIZE, 0);
        rf_session_unlock(session);
    } else if (!rf_free(node)) {
        rf_replay_finish(session, &here, RF_END_FINALIZE, 0);
    }
    bool free = replaying && rf_free(node);
    close_node(node);
    *status = MCAPI_SUCCESS;
    if (!replaying || free)
        real->finalize(status);
    else
        retire(node);
    if (replaying)
        session->replayer.progress->state = RF_STATE_FINISHED;
    rf_depth = 0;
    if (node->ordered)
        rf_order_leave();
}
