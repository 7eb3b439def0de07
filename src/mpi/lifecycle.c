/* From MPI_Init to the end: opens and closes the session of this process. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/signals.h"
#include "mpi/kept.h"
#include "mpi/receive.h"
#include "threads/adapter.h"

#define MOMENTS 3000 /* of a millisecond */

static pid_t owner;

/* The end of one rank is that of the job, mostly. In a replay the others come to where they were
   then, as far as the command can see them. Threads have ways of their own, below. Also called in a
   handler of signals. */
static void let_others_come(void) {
    struct rf_progress *progress = rf_the_session.replayer.progress;
    enum { STEP = 10000000, UNSEEN_STEPS = 300 };
    if (rf_the_session.mode != RF_REPLAYING || rf_alone() || rf_order.on ||
        !rf_the_session.replayer.watched)
        return;
    progress->ending = 1;
    for (int i = 0; progress->may_end != RF_MAY_END; i++) {
        if (progress->may_end == RF_NOT_SEEN && i == UNSEEN_STEPS)
            break; /* another host, whose files it does not see */
        nanosleep(&(struct timespec){.tv_nsec = STEP}, NULL);
    }
}

/* A replay whose threads call lets the others come to where they were when one of them crashed: a
   rank alone that ends as it was kept has done so. What they call meanwhile is kept before the end
   is. */
static void note_signal(int number) {
    if (rf_is_crash(number))
        let_others_come();
    rf_recorder_cut_off(&rf_the_session.recorder, number);
    if ((rf_the_session.mode == RF_REPLAYING &&
         (rf_the_session.shared || rf_layer == RF_LAYER_KEEPING)) ||
        rf_the_session.mode == RF_RECORDING_AGAIN) {
        struct rf_progress *progress = rf_the_session.replayer.progress;
        progress->signal = (uint32_t)number;
        if (rf_order.on && rf_is_crash(number) && progress->state != RF_STATE_LEFT)
            rf_wait_until_idle(3);
    }
    if (rf_is_crash(number))
        rf_kept_cut(number);
}

void rf_others_first(void) {
    if (rf_order.on && rf_the_session.mode == RF_REPLAYING)
        rf_wait_until_idle(3);
}

RF_EXPORT rf_adapter_ends refrain_adapter_ends;

void refrain_adapter_ends(int number) {
    if (number)
        note_signal(number);
    else
        rf_others_first();
}

static void stop_job(int code) {
    rf_library.Abort(MPI_COMM_WORLD, code);
}

static void complain(const char *what, const struct rf_error *error) {
    fprintf(stderr, "refrain: rank %d: %s: %s\n", rf_mpi.rank, what, error->text);
    if (error->hint[0])
        fprintf(stderr, "hint: %s\n", error->hint);
}

/* A child made by fork is not the recorded process. */
static void forget_in_child(void) {
    struct rf_session *session = &rf_the_session;
    if (rf_recording())
        rf_recorder_abandon(&session->recorder);
    rf_kept_abandon();
    session->mode = RF_OFF;
}

static void finish_alone(struct rf_session *session, const struct rf_here *here);

/* Other threads go on while this one ends the program. They do what they had done by then, which
   takes a moment, and are followed no more; those of a rank alone have come to the end of what was
   kept. Which calls they made after the last that has an order nobody knows: where contents are
   kept, they have the time for them. */
static void leave_others(void) {
    let_others_come();
    bool replays = rf_order.on && !rf_recording() && !rf_alone();
    for (int i = 0; replays && i < MOMENTS && !rf_order.link->settled(); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (replays && rf_layer == RF_LAYER_KEEPING)
        rf_wait_until_idle(3);
    if (!rf_recording() || rf_alone())
        rf_order_let_go();
    rf_kept_close(true);
}

/* Another thread may be in the middle of a call, and must find itself recorded to the end of it;
   what it appends to a recording that is closed is nowhere. */
static void end_session(struct rf_session *session) {
    if (session->mode == RF_REPLAYING)
        session->replayer.progress->state = RF_STATE_FINISHED;
    if (session->mode != RF_RECORDING_SHARED)
        session->mode = RF_OFF;
}

/* Other threads may be about to append something. */
static void close_recording(struct rf_session *session, enum rf_end how, int code) {
    rf_session_lock(session);
    rf_recorder_close(&session->recorder, how, code);
    rf_session_unlock(session);
}

static void end_at_exit(int status, void *unused) {
    (void)unused;
    struct rf_session *session = &rf_the_session;
    if (getpid() != owner)
        return;
    if (session->mode == RF_OFF) { /* perhaps in MPI_Finalize */
        rf_note_left(status);
        return;
    }
    /* An exit from inside a call is the library giving up: that is a crash, and what the call has
       left in the log is to be kept. */
    if (rf_recording() && !rf_inside())
        close_recording(session, RF_END_EXIT, status);
    else
        rf_note_left(status);
    static const struct rf_here here = {.name = "exit"};
    if (session->mode == RF_REPLAYING && !rf_inside())
        rf_replay_finish(session, &here, RF_END_EXIT, status);
    rf_kept_cut(RF_CUT_EXIT(status));
    finish_alone(session, &here);
    leave_others();
    end_session(session);
}

static void describe_node(struct rf_node *node) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    node->rank = rf_mpi.rank;
    node->size = rf_mpi.size;
    node->pid = (int32_t)getpid();
    node->started_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    gethostname(node->host, sizeof node->host - 1);
    snprintf(node->adapter, sizeof node->adapter, "%s", RF_ABI_NAME);
    const char *scheme = getenv("REFRAIN_SCHEME");
    snprintf(node->scheme, sizeof node->scheme, "%s", scheme ? scheme : "order");
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    rf_reals.Get_library_version(version, &length);
    version[strcspn(version, "\n")] = 0;
    snprintf(node->library, sizeof node->library, "%.*s", (int)sizeof node->library - 1, version);
    int level = MPI_THREAD_SINGLE;
    rf_reals.Query_thread(&level);
    node->thread_level = level == MPI_THREAD_FUNNELED     ? 1
                         : level == MPI_THREAD_SERIALIZED ? 2
                         : level == MPI_THREAD_MULTIPLE   ? 3
                                                          : 0;
}

static bool open_recording(struct rf_session *session, const struct rf_node *node,
                           const char *trace) {
    struct rf_error error = {0};
    if (!rf_recorder_open(&session->recorder, trace, node, &error)) {
        complain("this rank is not recorded", &error);
        return false;
    }
    rf_mpi.flight = rf_recorder_flight_word(&session->recorder);
    rf_mpi.room =
        rf_recorder_flight_room(&session->recorder, offsetof(MPI_Status, MPI_SOURCE),
                                offsetof(MPI_Status, MPI_TAG), (uint32_t)sizeof(MPI_Status));
    rf_pending_open(&rf_mpi.pending);
    return true;
}

/* What is recorded besides the order. */
static void open_extras(const char *trace) {
    struct rf_error error = {0};
    const char *scheme = getenv("REFRAIN_SCHEME");
    if (!rf_checks_open(trace, getenv("REFRAIN_CHECK"), true, &error))
        complain("messages are not checked", &error);
    if (scheme && strcmp(scheme, "data") == 0 && !rf_keep_open(trace, true, &error))
        complain("contents are not kept", &error);
}

/* `reader`: of a rank that was recorded, or NULL. */
static void expect_size(struct rf_session *session, const struct rf_here *here,
                        const struct rf_node *node, const struct rf_reader *reader) {
    const int32_t recorded = reader ? rf_reader_node(reader)->size : 0;
    if (recorded && recorded != node->size)
        rf_diverge(session, here, NULL, NULL, "the program runs with %d ranks, recorded were %d",
                   node->size, recorded);
}

static void open_replay(struct rf_session *session, const struct rf_node *node,
                        const struct rf_here *here, const char *trace, bool alone) {
    struct rf_error error = {0};
    bool opened =
        rf_replay_open(&session->replayer, trace, getenv("REFRAIN_RUN"), node->rank, &error);
    session->mode = RF_REPLAYING;
    session->replayer.progress->size = node->size;
    rf_order_replay(session);
    if (!opened) {
        struct rf_error ignored = {0};
        if (!alone) /* a rank more than there were */
            expect_size(session, here, node, rf_reader_open(trace, 0, &ignored));
        rf_diverge(session, here, NULL, NULL, "%s", error.text);
    }
    if (!alone) {
        rf_bells_open(getenv("REFRAIN_RUN"), node->rank, node->size);
        rf_waiting_begin(node->size);
    }
    const struct rf_node *recorded = rf_reader_node(session->replayer.reader);
    if (!recorded->size)
        return; /* it was killed before it could write down anything */
    if (alone)
        rf_mpi.size = session->replayer.progress->size = recorded->size;
    else
        expect_size(session, here, node, session->replayer.reader);
    if (strcmp(recorded->adapter, RF_ABI_NAME) != 0)
        rf_diverge(session, here, NULL, NULL,
                   "the trace was recorded with %s, this is " RF_ABI_NAME, recorded->adapter);
}

/* "7" or "0,3,8-11", as the command line has checked it. */
static bool is_listed(const char *list, int rank) {
    for (const char *item = list; item && *item;) {
        char *end;
        long first = strtol(item, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (rank >= first && rank <= last)
            return true;
        item = *end == ',' ? end + 1 : NULL;
    }
    return false;
}

/* A rank that is to be extracted keeps what it gets from outside, one that runs alone gets that. */
static void open_contents(struct rf_session *session, const struct rf_here *here,
                          const char *trace) {
    struct rf_error error = {0};
    if (!rf_checks_open(trace, getenv("REFRAIN_CHECK"), false, &error) ||
        (is_listed(getenv("REFRAIN_KEEP"), rf_mpi.rank) && !rf_keep_open(trace, false, &error)))
        rf_diverge(session, here, NULL, NULL, "%s", error.text);
}

static void open_alone(struct rf_session *session, const struct rf_here *here,
                       const struct rf_node *node, const char *trace) {
    struct rf_error error = {0};
    bool record = false;
    const char *run = getenv("REFRAIN_RUN");
    if (!rf_alone_open(trace, &record, &error))
        rf_diverge(session, here, NULL, NULL, "%s", error.text);
    if (record && !(run && open_recording(session, node, run)))
        rf_diverge(session, here, NULL, NULL, "there is no room to run");
    if (record)
        session->mode = RF_RECORDING_AGAIN;
}

static void play_rest(struct rf_session *session) {
    while (rf_replay_peek(session))
        rf_replay_take(&session->replayer);
}

/* The events of a rank that records again are those that were recorded. Other threads may have
   something left when one of them ends the program; it waits for them. */
static void finish_alone(struct rf_session *session, const struct rf_here *here) {
    bool used = !rf_alone() || rf_kept_used(here);
    if (session->mode != RF_RECORDING_AGAIN)
        return;
    if (!used)
        rf_diverge(session, here, NULL, NULL, "the program ends before what was kept of it does");
    struct rf_strand *self = rf_strand_here;
    play_rest(session);
    for (int i = 0; session->shared && i < session->strands.size; i++)
        if ((rf_strand_here = session->strands.list[i]))
            play_rest(session);
    rf_strand_here = self;
    session->replayer.progress->state = RF_STATE_FINISHED;
}

/* The library knows nothing of the companions that a rank alone had. */
static void find_place(bool alone) {
    rf_library.Comm_rank(MPI_COMM_WORLD, &rf_mpi.rank);
    rf_library.Comm_size(MPI_COMM_WORLD, &rf_mpi.size);
    if (!alone)
        return;
    const char *rank = getenv("REFRAIN_RANK");
    rf_mpi.rank = rank ? (int)strtol(rank, NULL, 10) : 0;
}

/* A command may run several jobs, one after the other. A trace holds one, the first; if another one
   followed it as well, it would be played in an order that it never had. */
static bool is_later_job(const struct rf_node *node, const char *trace, bool record) {
    const char *run = getenv("REFRAIN_RUN");
    bool later = record ? rf_trace_has_rank(trace, node->rank)
                        : run && rf_replay_taken(run, node->rank, node->size);
    if (later && node->rank == 0)
        fprintf(stderr, "refrain: a later MPI job of the command %s: a trace holds one job\n",
                record ? "is not recorded" : "runs free");
    return later;
}

static void open_session(const struct rf_here *here) {
    struct rf_session *session = &rf_the_session;
    const char *mode = getenv("REFRAIN_MODE");
    const char *trace = getenv("REFRAIN_TRACE");
    if (session->mode != RF_OFF || owner || !mode || !trace)
        return;
    bool record = strcmp(mode, "record") == 0;
    bool alone = strcmp(mode, "alone") == 0;
    if (!record && !alone && strcmp(mode, "replay") != 0)
        return;
    find_place(alone);
    MPI_Comm parent = MPI_COMM_NULL;
    rf_reals.Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return; /* a spawned world has ranks of its own; its parents are told it is not recorded */
    struct rf_node node = {0};
    describe_node(&node);
    if (!alone && is_later_job(&node, trace, record))
        return;
    owner = getpid();
    session->stop = stop_job;
    rf_mpi.level = node.thread_level;
    rf_asking_try();
    rf_order_open(session, rf_mpi.level, record);
    rf_session_check_at(session, 0, 1);
    rf_channels_open(&rf_mpi.channels, session->concurrent);
    pthread_atfork(NULL, NULL, forget_in_child);
    on_exit(end_at_exit, NULL);
    if (record) {
        if (open_recording(session, &node, trace)) {
            session->mode =
                session->concurrent || rf_order.link ? RF_RECORDING_SHARED : RF_RECORDING;
            rf_signals_watch(note_signal);
            open_extras(trace);
        }
    } else {
        open_replay(session, &node, here, trace, alone);
        if (alone)
            open_alone(session, here, &node, trace);
        else
            open_contents(session, here, trace);
        rf_signals_watch(note_signal);
    }
}

/* A rank alone is a job of one process. Those of Open MPI share a directory: the first to end takes
   it away, or from version 5 on nobody does. So the library is told that there is no other place
   than that of the replay's own files. */
static const char *temporary; /* as it was, or NULL */

static void set_temporary(const char *directory) {
    if (directory)
        setenv("TMPDIR", directory, 1);
    else
        unsetenv("TMPDIR");
}

static bool is_apart(void) {
    return getenv("REFRAIN_RANK") && getenv("REFRAIN_RUN");
}

/* Threads that the library starts are none of the program's. */
static const struct rf_real *begin_init(void) {
    const struct rf_real *real = rf_real();
    rf_depth = (rf_depth & ~RF_STRANGER) + 1;
    rf_signals_look();
    if (rf_depth == 1 && is_apart()) {
        temporary = getenv("TMPDIR");
        set_temporary(getenv("REFRAIN_RUN"));
    }
    if (rf_depth == 1) {
        rf_order_find();
        rf_self.entered = rf_order.link;
        if (rf_self.entered)
            rf_order.link->enter();
    }
    return real;
}

/* Whether the library for threads is still wanted turns out when the session is opened. */
static int end_init(const struct rf_here *here, int code) {
    const struct rf_threads_link *link = rf_order.link;
    if (rf_depth == 1 && is_apart())
        set_temporary(temporary);
    if (code == MPI_SUCCESS && rf_depth == 1)
        open_session(here);
    rf_depth--;
    if (rf_self.entered && rf_depth == 0) {
        rf_self.entered = false;
        link->leave();
    }
    return code;
}

RF_WRAPPER(int, Init, (int *argc, char ***argv)) {
    RF_HERE(Init);
    const struct rf_real *real = begin_init();
    return end_init(&here, real->Init(argc, argv));
}

/* The level asked for is passed on unchanged: another one may change how the library works. */
RF_WRAPPER(int, Init_thread, (int *argc, char ***argv, int required, int *provided)) {
    RF_HERE(Init_thread);
    const struct rf_real *real = begin_init();
    return end_init(&here, real->Init_thread(argc, argv, required, provided));
}

/* Callbacks of the program run in it, and may crash. So it has the place of a call in flight,
   though it takes no message. */
static void fly_finalize(struct rf_session *session, const struct rf_here *here) {
    if (!session->recorder.on)
        return;
    rf_mpi.room->MPI_SOURCE = rf_mpi.room->MPI_TAG = RF_UNKNOWN;
    __atomic_store_n(rf_mpi.flight, rf_here_pack(session, here, RF_END, 0), __ATOMIC_RELEASE);
}

RF_WRAPPER(int, Finalize, (void)) {
    RF_ENTER(Finalize, ());
    struct rf_session *session = &rf_the_session;
    rf_session_check_others(session, &here);
    /* The last word: the signature of the whole run, twice as many bits of it as elsewhere. */
    for (int i = 0; i < 2; i++) {
        uint64_t made = rf_session_calls(session);
        rf_session_check_at(session, made, made + 1);
        rf_sign(session, &here, RF_NO_PEER, RF_NO_PEER, i);
    }
    bool replaying = session->mode == RF_REPLAYING;
    bool recording = rf_recording();
    if (replaying) {
        if (!rf_free())
            rf_replay_finish(session, &here, RF_END_FINALIZE, 0);
        rf_undecided_release();
        rf_stand_ins_close();
        rf_progress_wait(&session->replayer, &here, RF_NO_PEER, RF_NO_PEER);
    } else {
        rf_pending_finish(true);
        fly_finalize(session, &here);
    }
    finish_alone(session, &here);
    rf_kept_close(false);
    session->mode = RF_OFF;
    int code = rf_reals.Finalize();
    if (recording)
        close_recording(session, RF_END_FINALIZE, 0);
    if (replaying)
        session->replayer.progress->state = RF_STATE_FINISHED;
    rf_leave_quietly();
    return code;
}

/* A callback of the program aborts, mostly an error handler. The call that it is in does not come
   to its end, so what it would have recorded is missing, and a replay must not look for it: the end
   of the recording is marked where that call is, and no other thread appends behind it. */
static void cut_recording(struct rf_session *session, const struct rf_here *here, int code) {
    rf_blocking_cut();
    rf_session_append(session);
    if (session->recorder.on)
        rf_recorder_put(&session->recorder, rf_here_pack(session, here, RF_END, 0), RF_END_ABORT,
                        code, 1);
    rf_recorder_close(&session->recorder, RF_END_ABORT, code);
    rf_session_unlock(session);
}

RF_WRAPPER(int, Abort, (MPI_Comm comm, int errorcode)) {
    RF_ENTER(Abort, (comm, errorcode));
    struct rf_session *session = &rf_the_session;
    bool inside = rf_inside() > 1;
    if (rf_recording()) {
        /* MPICH 4.2 has let go of the requests of the call that it is in, and ends when asked. */
        if (!(inside && rf_asking_completes()))
            rf_pending_finish(false);
        if (inside)
            cut_recording(session, &here, errorcode);
        else
            close_recording(session, RF_END_ABORT, errorcode);
    } else {
        rf_replay_finish(session, &here, RF_END_ABORT, errorcode);
    }
    if (inside)
        rf_kept_cut(RF_CUT_EXIT(errorcode));
    finish_alone(session, &here);
    leave_others();
    end_session(session);
    int code = rf_reals.Abort(comm, errorcode);
    rf_leave_quietly();
    return code;
}

#ifdef RF_DECLARES_Session_init
/* Sessions come without MPI_COMM_WORLD; what happens in them alone is not recorded. */
RF_WRAPPER(int, Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)) {
    RF_ENTER(Session_init, (info, errhandler, session));
    rf_note_unsupported(RF_FN_Session_init, here.name);
    int code = rf_reals.Session_init(info, errhandler, session);
    rf_leave_quietly();
    return code;
}
#endif
