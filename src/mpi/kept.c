/* Extraction: the stream of what a rank got from outside. */
#include "mpi/kept.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/signals.h"
#include "trace/contents.h"

#define SEVERAL_THREADS 0xfffu
#define IDLE_BEFORE_A_CRASH 10 /* times as long as otherwise: 5 seconds */
#define MOMENTS 3000           /* of a millisecond */
/* What comes between calls: */
#define ORPHAN 0xffeu /* a freed receive is complete */
#define CHANGE 0xffdu /* others have changed the memory of a window */

enum rf_layer rf_layer;

static struct rf_contents_writer *writer;
static struct rf_contents_reader *reader;
static pthread_t thread; /* the one that makes the calls, unless threads are told apart */
static bool told[RF_FUNCTIONS];

struct call {
    uint32_t function : 12, thread : 20;
    int32_t code; /* error class */
};
_Static_assert(RF_FUNCTIONS < RF_LAST && RF_MOST_STRANDS - 1 <= 0xfffff, "they fit into a call");

void *rf_kept_room(void *old, size_t size) {
    void *room = realloc(old, size ? size : 1);
    if (!room && rf_the_session.replayer.progress)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "out of memory: %zu bytes", size);
    if (!room)
        abort();
    return room;
}

void *rf_kept_grown(void *entries, int32_t count, int32_t *room, size_t size) {
    if (count < *room)
        return entries;
    *room = *room ? *room * 2 : 16;
    return rf_kept_room(entries, (size_t)*room * size);
}

void rf_kept_enter(struct rf_handle_map *map, uint64_t key, uint32_t place) {
    if (!rf_handle_add(map, key, place))
        abort();
}

/* ---- opening and closing ---- */

/* Numbers of functions and statuses mean nothing to another build or library. */
struct preface {
    char magic[8];
    uint32_t functions, status;
    uint64_t record; /* kept while it was recorded */
    char library[64];
};

static struct preface preface(void) {
    struct preface preface = {"kept 4", RF_FUNCTIONS, sizeof(MPI_Status), 0, ""};
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    rf_library.Get_library_version(version, &length);
    snprintf(preface.library, sizeof preface.library, "%.60s", version);
    return preface;
}

void rf_layer_install(enum rf_layer layer) {
    thread = pthread_self();
    rf_layer = layer;
    rf_facts_begin();
    rf_layer_table(&rf_reals);
    rf_layer_by_hand(&rf_reals);
    rf_layer_completion(&rf_reals);
    rf_layer_windows(&rf_reals);
    rf_layer_fatal(&rf_reals);
    rf_layer_handlers(&rf_reals);
    rf_layer_shared(&rf_reals);
    rf_layer_files(&rf_reals);
}

bool rf_keep_open(const char *trace, bool record, struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.contents%s", trace, rf_mpi.rank, record ? "" : ".new");
    if (!rf_start_write(trace, record, error))
        return false;
    writer = rf_contents_create(path, RF_CONTENTS_USUAL_CHUNK, error);
    if (!writer)
        return false;
    struct preface mine = preface();
    mine.record = record;
    rf_contents_put(writer, &mine, sizeof mine);
    rf_layer_install(RF_LAYER_KEEPING);
    return true;
}

bool rf_alone_open(const char *trace, bool *record, struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.contents", trace, rf_mpi.rank);
    reader = rf_contents_open(path, error);
    if (!reader)
        return false;
    struct preface kept, mine = preface();
    if (!rf_contents_get(reader, &kept, sizeof kept)) {
        *error = *rf_contents_reader_error(reader);
        return false;
    }
    *record = kept.record != 0;
    mine.record = kept.record;
    if (memcmp(&kept, &mine, sizeof mine) != 0) {
        rf_fail(error, RF_EXIT_TRACE,
                "%s: kept with another version of Refrain or of the MPI library", path);
        return rf_hint(error, "refrain extract --rank %d", rf_mpi.rank);
    }
    rf_layer_install(RF_LAYER_ALONE);
    return true;
}

/* ---- threads ---- */

/* The stream has the calls of all threads, in the order in which they had returned. Whoever has it
   has all tables of this layer as well, and what it does with them is part of its call. So a rank
   alone gets everything in that order: a thread waits until what was kept comes to its own call.
   What it waits for happened before when it was kept, so it comes. Nobody has the stream while he
   is in a call of the library that may block. */
static struct {
    int lock;
    struct call next; /* alone: the next call, if it was read already */
    bool ready;
    int turn;   /* alone, a futex: goes on when it is another thread's turn */
    int asleep; /* alone: how many wait for theirs */
    bool over;  /* alone: the program ends */
} stream;

#define PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
/* How often this thread has taken the stream: what it calls inside a call is part of that. */
PER_THREAD unsigned held;
PER_THREAD bool ends; /* this thread ends the program */

int rf_kept_thread(void) {
    return rf_strand_here ? rf_strand_here->number : 0;
}

void rf_kept_hold(void) {
    if (held++ == 0 && rf_the_session.concurrent)
        rf_lock(&stream.lock);
}

/* For a handler of signals: whoever has the stream may wait for ever, for the heap that this thread
   has. */
static bool hold_in_time(void) {
    for (int i = 0; rf_the_session.concurrent && !rf_try_lock(&stream.lock); i++) {
        if (i == MOMENTS)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    held++;
    return true;
}

static long futex(int *word, int operation, int value) {
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* Alone: the next call that was kept; false at the end. */
static bool peek(void) {
    if (!stream.ready)
        stream.ready = rf_contents_get(reader, &stream.next, sizeof stream.next);
    return stream.ready;
}

/* Is it this thread's? */
static bool is_next(void) {
    return stream.next.thread == (unsigned)rf_kept_thread();
}

/* Alone: it may be another thread's turn now. */
static void pass_on(void) {
    if (!rf_the_session.shared || (peek() && is_next()))
        return;
    __atomic_add_fetch(&stream.turn, 1, __ATOMIC_RELEASE);
    if (stream.asleep)
        futex(&stream.turn, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* Alone: what was parked is posted when the stream comes there, by whoever does: the thread that
   did so then may never call again. */
static void post_parked(void) {
    while (peek() && stream.next.function == RF_RELEASE) {
        stream.ready = false;
        rf_stand_ins_post();
    }
}

void rf_kept_release(void) {
    bool goes_on = held == 1 && rf_alone() && rf_the_session.shared && !stream.over;
    if (goes_on)
        post_parked();
    if (--held != 0 || !rf_the_session.concurrent)
        return;
    if (goes_on)
        pass_on();
    rf_unlock(&stream.lock);
}

/* Lets others have the stream until it is another thread's turn. */
static void sleep_a_turn(void) {
    int turn = stream.turn;
    stream.asleep++;
    rf_unlock(&stream.lock);
    futex(&stream.turn, FUTEX_WAIT_PRIVATE, turn);
    rf_lock(&stream.lock);
    stream.asleep--;
}

/* Alone: this thread has the stream, and waits until it comes to a call of its own, or to its end.
   What it calls inside a call is next. */
static void await_turn(void) {
    bool waited = false;
    if (!rf_the_session.shared || held > 1)
        return;
    while (stream.over || (peek() && !is_next())) {
        if (!waited)
            rf_progress_wait(&rf_the_session.replayer, &rf_current, RF_NO_PEER, RF_NO_PEER);
        waited = true;
        sleep_a_turn();
    }
    if (waited)
        rf_progress_go(&rf_the_session.replayer);
}

/* ---- the end ---- */

void rf_kept_abandon(void) {
    rf_checks_abandon();
    writer = NULL;
    reader = NULL;
    rf_layer = RF_LAYER_NONE;
    rf_reals = rf_library;
}

/* Alone: the library has called the handler itself, of a call that it answers. */
static void pass_heard(void) {
    int32_t handler;
    if (!rf_handler_runs() || !peek() || !is_next() || stream.next.function != RF_HEARD)
        return;
    stream.ready = false;
    rf_contents_get(reader, &handler, sizeof handler);
}

/* From here on the program is on its own, as it was when it was recorded. */
static void notice_end(void) {
    if (rf_recording() && rf_contents_at_end(reader))
        rf_the_session.replayer.progress->free = 1;
}

/* Alone: this end was kept in place of a call that takes nothing from the stream, as it is the
   library's alone, too: MPI_Comm_free, which calls callbacks. */
static void pass_cut(void) {
    if (!peek() || !is_next() || stream.next.function != RF_CUT)
        return;
    stream.ready = false;
    notice_end();
    pass_on();
}

/* What the others had called before one of them ended the process is theirs. */
static void let_others_call(void) {
    while (rf_the_session.shared && peek() && !is_next()) {
        rf_unlock(&stream.lock);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        rf_lock(&stream.lock);
    }
}

bool rf_kept_used(const struct rf_here *here) {
    rf_kept_hold();
    if (rf_the_session.shared && peek())
        rf_progress_wait(&rf_the_session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    let_others_call();
    pass_heard();
    bool used = !peek();
    rf_kept_release();
    return used;
}

void rf_kept_close(bool others) {
    struct rf_error error = {0};
    if (rf_layer == RF_LAYER_NONE)
        return;
    rf_kept_hold();
    stream.over = ends = others && rf_alone() && rf_the_session.shared;
    rf_requests_close();
    rf_pointers_close();
    if (writer && !rf_contents_close(writer, &error))
        fprintf(stderr, "refrain: rank %d: %s\n", rf_mpi.rank, error.text);
    if (!rf_checks_close(&error))
        fprintf(stderr, "refrain: rank %d: %s\n", rf_mpi.rank, error.text);
    if (reader)
        rf_contents_reader_close(reader);
    if (!stream.over)
        rf_kept_abandon();
    rf_kept_release();
}

void rf_kept_stay(void) {
    while (stream.over && !ends)
        pause();
}

/* ---- keeping and giving back ---- */

/* Other threads may have something to do yet: perhaps what the process ended of. If it crashed,
   one of them is expected to. */
static void let_others_end_it(void) {
    const struct rf_replayer *replayer = &rf_the_session.replayer;
    const struct rf_ending *ending = rf_reader_ending(replayer->reader);
    bool crashed = ending->how == RF_END_NONE && rf_is_crash(ending->code);
    for (int i = 0; i < (crashed ? IDLE_BEFORE_A_CRASH : 1); i++)
        rf_wait_until_idle(INT_MAX);
    rf_kept_stay(); /* one of them is ending it, which may take a while */
    while (rf_is_crash((int)replayer->progress->signal))
        pause();
}

static _Noreturn void end_by(int number) {
    rf_the_session.replayer.progress->state = RF_STATE_LEFT;
    raise(number);
    _exit(128 + number);
}

/* What the others had called when this thread ended the process comes first, and then what they did
   until the process was gone. They are not to end it meanwhile. */
static void come_last(void) {
    pass_on();
    rf_kept_used(&rf_current);
    rf_progress_go(&rf_the_session.replayer);
    stream.over = ends = true;
    rf_unlock(&stream.lock);
    rf_wait_until_idle(3);
}

/* A crash, an exit or an abort inside this call ended the process. */
static _Noreturn void end_inside(int how) {
    const char *name = how > 0 ? sigabbrev_np(how) : NULL;
    char what[32];
    if (how > 0)
        snprintf(what, sizeof what, "by SIG%s", name ? name : "NAL");
    else
        snprintf(what, sizeof what, "with status %d", RF_CUT_STATUS(how));
    if (rf_the_session.shared)
        come_last();
    fprintf(stderr,
            "refrain: rank %d was ended %s inside this call, %s, when its contents were kept: it "
            "ends here\n",
            rf_mpi.rank, what, rf_current.name);
    if (how > 0)
        end_by(how);
    rf_the_session.replayer.progress->state = RF_STATE_LEFT;
    rf_order_let_go();
    _exit(RF_CUT_STATUS(how));
}

/* What was kept ends where the process ended that it was kept from: so does this one. */
static _Noreturn void end_here(void) {
    const struct rf_error *error = rf_contents_reader_error(reader);
    if (error->text[0])
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "%s", error->text);
    if (rf_the_session.shared) {
        rf_progress_wait(&rf_the_session.replayer, &rf_current, RF_NO_PEER, RF_NO_PEER);
        rf_unlock(&stream.lock);
        let_others_end_it();
    }
    fprintf(stderr,
            "refrain: rank %d was ended in this call, %s, when its contents were kept: it ends "
            "here\n",
            rf_mpi.rank, rf_current.name);
    end_by(SIGTERM);
}

/* What a callback of the program gets while it runs inside a call. Alone it runs when the outcome
   of the call is known, so while keeping this waits until that is written. */
PER_THREAD struct {
    char *data;
    size_t size, room;
} aside;

struct piece {
    size_t size;
    bool block;
};

bool rf_kept_in_callback(void) {
    return rf_inside() > 1;
}

static void put_aside(const void *data, size_t size, bool block) {
    struct piece piece = {size, block};
    size_t needed = aside.size + sizeof piece + size;
    if (needed > aside.room) {
        aside.data = rf_kept_room(aside.data, needed * 2);
        aside.room = needed * 2;
    }
    memcpy(aside.data + aside.size, &piece, sizeof piece);
    if (size)
        memcpy(aside.data + aside.size + sizeof piece, data, size);
    aside.size = needed;
}

static void put_now(const void *data, size_t size, bool block) {
    if (block)
        rf_contents_put_block(writer, data, size);
    else
        rf_contents_put(writer, data, size);
}

static void put(const void *data, size_t size, bool block) {
    if (rf_kept_in_callback())
        put_aside(data, size, block);
    else
        put_now(data, size, block);
}

static void put_what_was_aside(void) {
    struct piece piece;
    for (size_t at = 0; at < aside.size; at += sizeof piece + piece.size) {
        memcpy(&piece, aside.data + at, sizeof piece);
        put_now(aside.data + at + sizeof piece, piece.size, piece.block);
    }
}

void rf_kept_callbacks(bool again) {
    if (rf_layer != RF_LAYER_KEEPING || rf_kept_in_callback())
        return;
    if (again)
        put_what_was_aside();
    aside.size = 0;
    rf_inheritance_over();
}

/* Alone: the call has the outcome that is known of it, and brings nothing more: its error handler
   did not return. Belongs to whoever has the stream. */
static struct {
    bool now;
    int32_t handler;
} unfinished;

bool rf_kept_unfinished(void) {
    return unfinished.now;
}

void rf_through(void *data, size_t size) {
    if (rf_layer == RF_LAYER_KEEPING)
        put(data, size, false);
    else if (!rf_alone())
        return;
    else if (unfinished.now)
        memset(data, 0, size);
    else if (!rf_contents_get(reader, data, size))
        end_here();
    else
        notice_end();
}

static const MPI_Status *message;

void rf_kept_message(const MPI_Status *status) {
    message = status;
}

void rf_through_block(void *data, size_t size) {
    uint64_t kept;
    if (!rf_alone()) {
        rf_check(data, size, message);
        if (rf_layer != RF_LAYER_KEEPING)
            return;
        rf_pointers_look(data, size, message);
        put(data, size, true);
        return;
    }
    if (unfinished.now)
        return;
    if (!rf_contents_block_size(reader, &kept))
        end_here();
    if (kept != size)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
                   "the program expects %zu bytes here, kept were %llu", size,
                   (unsigned long long)kept);
    if (!rf_contents_get_block(reader, data, size))
        end_here();
    notice_end();
}

static const char *name_of(unsigned function) {
    static const char *const names[] = {
#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name("MPI_" #name, )
#include "mpi/functions.def"
#undef RF_FUNCTION
    };
    return function < RF_FUNCTIONS       ? names[function]
           : function == SEVERAL_THREADS ? "a call from another thread"
                                         : "what came after the end of the recording";
}

static struct call call_of(unsigned function, int32_t code) {
    return (struct call){function & 0xfff, (unsigned)rf_kept_thread() & 0xfffff, code};
}

static void put_call(unsigned function, int32_t code) {
    struct call call = call_of(function, code);
    put(&call, sizeof call, false);
}

static void put_end(int how) {
    int code, class;
    int32_t handler = rf_handler_heard(&code);
    if (how > 0)
        rf_contents_stop_packing(writer);
    if (handler >= 0) {
        rf_library.Error_class(code, &class);
        struct call call = call_of(RF_HEARD, class);
        put_now(&call, sizeof call, false);
        put_now(&handler, sizeof handler, false);
        put_what_was_aside();
    } else {
        struct call call = call_of(RF_CUT, how);
        put_now(&call, sizeof call, false);
    }
}

/* A library's handler of signals may raise its signal again: once is enough. */
void rf_kept_cut(int how) {
    static bool noted;
    if ((rf_layer != RF_LAYER_KEEPING && !rf_alone()) || !rf_inside() || held ||
        __atomic_exchange_n(&noted, true, __ATOMIC_RELAXED) || !hold_in_time())
        return;
    if (!rf_alone())
        put_end(how);
    else if (how <= 0)
        let_others_call();
    if (rf_alone())
        pass_cut();
    held--;
    if (rf_the_session.concurrent)
        rf_unlock(&stream.lock);
}

static void keep_call(unsigned function, int code) {
    int class = code;
    if (code != MPI_SUCCESS)
        rf_library.Error_class(code, &class);
    if (!rf_the_session.shared && !pthread_equal(thread, pthread_self())) {
        function = SEVERAL_THREADS;
        rf_cannot_keep(RF_FN_Init_thread, "the order of calls from several threads");
    }
    rf_kept_orphans();
    rf_kept_changes();
    put_call(function, class);
}

/* Alone: waits for the next call of this thread, and does what comes before it; false at the end.
 */
static bool reach_call(void) {
    for (;;) {
        await_turn();
        if (!peek())
            return false;
        if (stream.next.function != ORPHAN && stream.next.function != CHANGE)
            return true;
        stream.ready = false;
        if (stream.next.function == ORPHAN)
            rf_through_orphan(stream.next.code);
        else
            rf_through_change(stream.next.code);
        pass_on();
    }
}

static struct call take_call(void) {
    if (reach_call())
        pass_heard();
    if (!reach_call())
        end_here();
    stream.ready = false;
    notice_end();
    if (stream.next.function == RF_CUT)
        end_inside(stream.next.code);
    if (stream.next.function == RF_HEARD) {
        rf_through(&unfinished.handler, sizeof unfinished.handler);
        unfinished.now = true;
    }
    return stream.next;
}

int rf_kept_call(unsigned function, int code) {
    rf_kept_hold();
    if (rf_layer == RF_LAYER_KEEPING)
        keep_call(function, code);
    /* What a call leaves in a buffer that was too short is up to the library, and to time. */
    rf_checks_pause(code != MPI_SUCCESS || rf_part_of_failed);
    if (!rf_alone())
        return code;
    struct call call = take_call();
    if (call.function != function && call.function != RF_HEARD)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
                   "what was kept belongs to %s, but the program calls %s", name_of(call.function),
                   name_of(function));
    return call.code;
}

bool rf_kept_begin(unsigned what) {
    if (!rf_the_session.shared || (rf_layer != RF_LAYER_KEEPING && !rf_alone()))
        return false;
    rf_kept_call(what, MPI_SUCCESS);
    return true;
}

void rf_kept_settle(void) {
    if (!rf_alone() || !rf_the_session.shared || !rf_mpi.stand_ins.held)
        return;
    rf_kept_hold();
    reach_call();
    rf_kept_release();
}

bool rf_kept_next_is(unsigned function) {
    rf_kept_hold();
    bool found = reach_call() && stream.next.function == function;
    rf_kept_release();
    return found;
}

void rf_kept_orphan(int32_t number) {
    put_call(ORPHAN, number);
    rf_through_orphan(number);
}

void rf_kept_change(int32_t number) {
    put_call(CHANGE, number);
}

void rf_kept_last(int code) {
    put_call(RF_LAST, code);
}

bool rf_kept_was_last(int *code) {
    if (!peek() || stream.next.function != RF_LAST)
        return false;
    *code = stream.next.code;
    stream.ready = false;
    return true;
}

/* Alone: the handler did not return when this was kept. */
static _Noreturn void hear_last(int code, const struct rf_hearer *hearer) {
    rf_handler_again(unfinished.handler, code, hearer);
    rf_kept_hold();
    end_here();
}

static void end_call(int code, const struct rf_hearer *hearer) {
    bool heard = unfinished.now;
    bool last = code != MPI_SUCCESS && !heard && rf_fatal_last();
    rf_fatal_unheard();
    rf_checks_pause(false);
    unfinished.now = false;
    rf_kept_release();
    if (heard)
        hear_last(code, hearer);
    if (last)
        rf_fatal_end();
}

/* Who is none of them is null, and not nothing: with Open MPI, that is another object. */
static struct rf_hearer hearer(MPI_Comm comm, MPI_Win win, MPI_File file) {
    return (struct rf_hearer){comm, win, file};
}

static struct rf_hearer hearer_of_win(MPI_Win win) {
    return hearer(MPI_COMM_WORLD, win, MPI_FILE_NULL);
}

static struct rf_hearer hearer_of_file(MPI_File file) {
    return hearer(MPI_COMM_WORLD, MPI_WIN_NULL, file);
}

int rf_kept_done(int code) {
    const struct rf_hearer whose = hearer(MPI_COMM_WORLD, MPI_WIN_NULL, MPI_FILE_NULL);
    end_call(code, &whose);
    return code;
}

int rf_kept_done_win(MPI_Win win, int code) {
    const struct rf_hearer whose = hearer_of_win(win);
    end_call(code, &whose);
    return code;
}

int rf_kept_done_file(MPI_File file, int code) {
    const struct rf_hearer whose = hearer_of_file(file);
    end_call(code, &whose);
    return code;
}

/* True if the error handler is to hear of it. Error handlers are called again, operations of
   reductions are not. */
static bool done(int code, const struct rf_hearer *hearer) {
    rf_kept_callbacks(code != MPI_SUCCESS);
    end_call(code, hearer);
    return rf_alone() && code != MPI_SUCCESS;
}

int rf_kept_end_win(MPI_Win win, int code) {
    const struct rf_hearer whose = hearer_of_win(win);
    if (done(code, &whose))
        rf_library.Win_call_errhandler(win, code);
    return code;
}

int rf_kept_end_file(MPI_File file, int code) {
    const struct rf_hearer whose = hearer_of_file(file);
    if (done(code, &whose))
        rf_library.File_call_errhandler(file, code);
    return code;
}

int rf_kept_end(MPI_Comm comm, int code) {
    const struct rf_hearer whose =
        hearer(comm == RF_NO_COMM ? MPI_COMM_WORLD : comm, MPI_WIN_NULL, MPI_FILE_NULL);
    if (done(code, &whose))
        rf_library.Comm_call_errhandler(whose.comm, code);
    return code;
}

_Noreturn void rf_cannot_answer(const char *name) {
    rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
               "what %s did is not kept: a rank alone cannot go on from here", name);
}

void rf_cannot_keep(enum rf_function function, const char *name) {
    if (told[function])
        return;
    told[function] = true;
    fprintf(stderr,
            "refrain: rank %d: %s: not kept: alone, this rank can run up to its first call only\n",
            rf_mpi.rank, name);
}
