/* Extraction: the stream of what a rank got from outside. */
#include "mpi/kept.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/contents.h"

#define SEVERAL_THREADS 0xffffu
/* What comes between calls: */
#define ORPHAN 0xfffeu /* a freed receive is complete */
#define CHANGE 0xfffdu /* others have changed the memory of a window */

enum rf_layer rf_layer;

static struct rf_contents_writer *writer;
static struct rf_contents_reader *reader;
static pthread_t thread; /* the one that makes the calls */
static bool told[RF_FUNCTIONS];

struct call {
    uint16_t function, zero;
    int32_t code; /* error class */
};

void *rf_kept_room(void *old, size_t size) {
    void *room = realloc(old, size ? size : 1);
    if (!room && rf_the_session.replayer.progress)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "out of memory: %zu bytes", size);
    if (!room)
        abort();
    return room;
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
    struct preface preface = {"kept 1", RF_FUNCTIONS, sizeof(MPI_Status), 0, ""};
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
    rf_layer_windows(&rf_reals);
    rf_layer_files(&rf_reals);
}

bool rf_keep_open(const char *trace, bool record, struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.contents%s", trace, rf_mpi.rank, record ? "" : ".new");
    if (record && rf_mpi.level == 3)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "the program asked for MPI_THREAD_MULTIPLE");
    if (!rf_start_write(trace, record, error))
        return false;
    writer = rf_contents_create(path, RF_CONTENTS_CHUNK, error);
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

void rf_kept_abandon(void) {
    rf_checks_abandon();
    writer = NULL;
    reader = NULL;
    rf_layer = RF_LAYER_NONE;
    rf_reals = rf_library;
}

void rf_kept_used(const struct rf_here *here) {
    if (!rf_contents_at_end(reader))
        rf_diverge(&rf_the_session, here, NULL, NULL,
                   "the program ends before what was kept of it does");
}

void rf_kept_close(void) {
    struct rf_error error = {0};
    if (rf_layer == RF_LAYER_NONE)
        return;
    rf_requests_close();
    rf_pointers_close();
    if (writer && !rf_contents_close(writer, &error))
        fprintf(stderr, "refrain: rank %d: %s\n", rf_mpi.rank, error.text);
    if (!rf_checks_close(&error))
        fprintf(stderr, "refrain: rank %d: %s\n", rf_mpi.rank, error.text);
    if (reader)
        rf_contents_reader_close(reader);
    rf_kept_abandon();
}

/* ---- keeping and giving back ---- */

/* What was kept ends where the process ended that it was kept from: so does this one. */
static _Noreturn void end_here(void) {
    const struct rf_error *error = rf_contents_reader_error(reader);
    if (error->text[0])
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "%s", error->text);
    fprintf(stderr,
            "refrain: rank %d was ended in this call, %s, when its contents were kept: it ends "
            "here\n",
            rf_mpi.rank, rf_current.name);
    rf_the_session.replayer.progress->state = RF_STATE_LEFT;
    raise(SIGTERM);
    _exit(128 + SIGTERM);
}

/* From here on the program is on its own, as it was when it was recorded. */
static void notice_end(void) {
    if (rf_recording() && rf_contents_at_end(reader))
        rf_the_session.replayer.progress->free = 1;
}

/* What a callback of the program gets while it runs inside a call. Alone it runs when the outcome
   of the call is known, so while keeping this waits until that is written. */
static struct {
    char *data;
    size_t size, room;
} aside;

struct piece {
    size_t size;
    bool block;
};

static bool in_callback(void) {
    return (rf_depth & ~(RF_BY_FORTRAN | RF_STRANGER)) > 1;
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

static void put(const void *data, size_t size, bool block) {
    if (in_callback())
        put_aside(data, size, block);
    else if (block)
        rf_contents_put_block(writer, data, size);
    else
        rf_contents_put(writer, data, size);
}

void rf_kept_callbacks(bool again) {
    struct piece piece;
    if (rf_layer != RF_LAYER_KEEPING || in_callback())
        return;
    for (size_t at = 0; again && at < aside.size; at += sizeof piece + piece.size) {
        memcpy(&piece, aside.data + at, sizeof piece);
        put(aside.data + at + sizeof piece, piece.size, piece.block);
    }
    aside.size = 0;
}

void rf_through(void *data, size_t size) {
    if (rf_layer == RF_LAYER_CHECKING)
        return;
    if (!rf_alone())
        put(data, size, false);
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
#define RF_FUNCTION(library, class, result, name, parameters, arguments, row, kept)                \
    RF_IN_##library("MPI_" #name, )
#include "mpi/functions.def"
#undef RF_FUNCTION
    };
    return function < RF_FUNCTIONS ? names[function] : "call from another thread";
}

int rf_kept_call(enum rf_function function, int code) {
    struct call call = {(uint16_t)function, 0, code};
    if (rf_layer == RF_LAYER_CHECKING)
        return code;
    if (code != MPI_SUCCESS)
        rf_library.Error_class(code, &call.code);
    if (!rf_alone() && !pthread_equal(thread, pthread_self())) {
        call.function = SEVERAL_THREADS;
        rf_cannot_keep(function, "the order of calls from several threads");
    }
    if (!rf_alone()) {
        rf_kept_orphans();
        rf_kept_changes();
    }
    rf_through(&call, sizeof call);
    while (rf_alone() && (call.function == ORPHAN || call.function == CHANGE)) {
        if (call.function == ORPHAN)
            rf_through_orphan(call.code);
        else
            rf_through_change(call.code);
        rf_through(&call, sizeof call);
    }
    if (rf_alone() && call.function != function)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
                   "what was kept belongs to %s, but the program calls %s", name_of(call.function),
                   name_of(function));
    return rf_alone() ? call.code : code;
}

void rf_kept_orphan(int32_t number) {
    rf_through(&(struct call){ORPHAN, 0, number}, sizeof(struct call));
    rf_through_orphan(number);
}

void rf_kept_change(int32_t number) {
    rf_through(&(struct call){CHANGE, 0, number}, sizeof(struct call));
}

int rf_kept_end_win(MPI_Win win, int code) {
    rf_kept_callbacks(code != MPI_SUCCESS);
    if (rf_alone() && code != MPI_SUCCESS)
        rf_library.Win_call_errhandler(win, code);
    return code;
}

int rf_kept_end_file(MPI_File file, int code) {
    rf_kept_callbacks(code != MPI_SUCCESS);
    if (rf_alone() && code != MPI_SUCCESS)
        rf_library.File_call_errhandler(file, code);
    return code;
}

int rf_kept_end(MPI_Comm comm, int code) {
    /* Error handlers are called again, operations of reductions are not. */
    rf_kept_callbacks(code != MPI_SUCCESS);
    if (rf_alone() && code != MPI_SUCCESS)
        rf_library.Comm_call_errhandler(comm == RF_NO_COMM ? MPI_COMM_WORLD : comm, code);
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
