/* Extraction: the stream of what a rank got from outside. */
#include "mpi/kept.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/checksum.h"
#include "trace/contents.h"

#define RF_FILL 0xa5u     /* what --fill puts into fresh memory: see launch.c */
#define PIECE (16u << 20) /* scattered data passes in pieces of about this size */
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

static void put_text(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == '"' || *c == '\\')
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    fputc('"', file);
}

/* JSON can hold nothing but UTF-8. */
static bool is_text(const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int more = *c < 0x80 ? 0 : *c >> 5 == 6 ? 1 : *c >> 4 == 14 ? 2 : *c >> 3 == 30 ? 3 : -1;
        if (more < 0)
            return false;
        for (c++; more; more--, c++)
            if (*c >> 6 != 2)
                return false;
    }
    return true;
}

/* How this process was started: alone, nobody else knows. */
static bool write_start(const char *trace, bool record, struct rf_error *error) {
    extern char **environ;
    char path[PATH_MAX], text[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.start", trace, rf_mpi.rank);
    FILE *file = fopen(path, "we");
    FILE *arguments = fopen("/proc/self/cmdline", "re");
    if (file && arguments) {
        ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
        text[length > 0 ? length : 0] = 0;
        fprintf(file, "{\"recorded\": %s, \"executable\": ", record ? "true" : "false");
        put_text(file, text);
        fputs(", \"arguments\": [", file);
        char *argument = NULL;
        size_t size = 0;
        for (int i = 0; getdelim(&argument, &size, 0, arguments) > 0; i++) {
            fputs(i ? ", " : "", file);
            put_text(file, argument);
        }
        free(argument);
        fputs("], \"directory\": ", file);
        put_text(file, getcwd(text, sizeof text) ? text : ".");
        fputs(", \"environment\": {", file);
        bool first = true;
        for (char **variable = environ; *variable; variable++) {
            const char *equals = strchr(*variable, '=');
            if (!equals || !is_text(*variable) || equals - *variable >= (ptrdiff_t)sizeof text)
                continue;
            snprintf(text, (size_t)(equals - *variable) + 1, "%s", *variable);
            fputs(first ? "" : ", ", file);
            put_text(file, text);
            fputs(": ", file);
            put_text(file, equals + 1);
            first = false;
        }
        fputs("}}\n", file);
    }
    bool good = file && arguments && !ferror(file);
    if (arguments)
        fclose(arguments);
    if (file && fclose(file) != 0)
        good = false;
    return good || rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written", path);
}

static void install(enum rf_layer layer) {
    thread = pthread_self();
    rf_layer = layer;
    rf_facts_begin();
    rf_layer_table(&rf_reals);
    rf_layer_by_hand(&rf_reals);
    rf_layer_windows(&rf_reals);
    rf_layer_files(&rf_reals);
}

/* ---- checksums ---- */

static struct {
    enum rf_checksum kind;
    struct rf_contents_writer *writer;
    struct rf_contents_reader *reader;
    const MPI_Status *message; /* the message that is being checked, if it is one */
    bool filled;               /* fresh memory was filled, so it can be told */
} checks;

bool rf_checks_open(const char *trace, const char *kind, bool record, struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.checks", trace, rf_mpi.rank);
    checks.kind = rf_checksum_named(kind);
    const char *tunables = getenv("GLIBC_TUNABLES");
    checks.filled = tunables && strstr(tunables, "malloc.perturb=90");
    if (checks.kind == RF_CHECKSUM_NONE)
        return true;
    if (record)
        checks.writer = rf_contents_create(path, error);
    else
        checks.reader = rf_contents_open(path, error);
    if (!checks.writer && !checks.reader)
        return false;
    if (record && rf_the_session.concurrent) {
        /* A program must not come to harm: threads would meet in the tables. */
        rf_contents_close(checks.writer, error);
        memset(&checks, 0, sizeof checks);
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "the program asked for MPI_THREAD_MULTIPLE");
    }
    install(RF_LAYER_CHECKING);
    return true;
}

static bool holds_fill(const unsigned char *data, size_t size) {
    int run = 0;
    for (size_t i = 0; i < size && run < 3; i++)
        run = data[i] == RF_FILL ? run + 1 : 0;
    return run == 3;
}

static _Noreturn void differs(const void *data, size_t size) {
    struct rf_progress *progress = rf_the_session.replayer.progress;
    const char *reason =
        !checks.filled ? "bytes that were never written, as padding, differ from run to run: "
                         "record with --fill to rule that out"
        : holds_fill(data, size)
            ? "it holds bytes that were never written: they may be all that differs"
            : "something that is not recorded decides what is sent";
    snprintf(progress->reason, sizeof progress->reason, "%s", reason);
    if (checks.message)
        rf_diverge(
            &rf_the_session, &rf_current, NULL, NULL,
            "the message from rank %d with tag %d, %zu bytes, has other contents than in the "
            "recording",
            checks.message->MPI_SOURCE, checks.message->MPI_TAG, size);
    rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
               "the %zu bytes that this call brings are others than in the recording", size);
}

/* A recording that was cut off has no more checksums from there on. */
static void check(const void *data, size_t size) {
    uint32_t recorded, sum = rf_checksum(checks.kind, data, size);
    if (checks.writer) {
        rf_contents_put(checks.writer, &sum, sizeof sum);
    } else if (!rf_contents_get(checks.reader, &recorded, sizeof recorded)) {
        const struct rf_error *error = rf_contents_reader_error(checks.reader);
        if (error->text[0])
            rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "%s", error->text);
        checks.kind = RF_CHECKSUM_NONE;
    } else if (recorded != sum) {
        differs(data, size);
    }
}

bool rf_keep_open(const char *trace, bool record, struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.contents%s", trace, rf_mpi.rank, record ? "" : ".new");
    if (record && rf_the_session.concurrent)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "the program asked for MPI_THREAD_MULTIPLE");
    if (!write_start(trace, record, error))
        return false;
    writer = rf_contents_create(path, error);
    if (!writer)
        return false;
    struct preface mine = preface();
    mine.record = record;
    rf_contents_put(writer, &mine, sizeof mine);
    install(RF_LAYER_KEEPING);
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
    install(RF_LAYER_ALONE);
    return true;
}

void rf_kept_abandon(void) {
    memset(&checks, 0, sizeof checks);
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
    if (writer && !rf_contents_close(writer, &error))
        fprintf(stderr, "refrain: rank %d: %s\n", rf_mpi.rank, error.text);
    if (checks.writer && !rf_contents_close(checks.writer, &error))
        fprintf(stderr, "refrain: rank %d: %s\n", rf_mpi.rank, error.text);
    if (checks.reader)
        rf_contents_reader_close(checks.reader);
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
    return (rf_depth & ~RF_BY_FORTRAN) > 1;
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

static void through_block(void *data, size_t size) {
    uint64_t kept;
    if (!rf_alone()) {
        if (checks.kind != RF_CHECKSUM_NONE)
            check(data, size);
        if (rf_layer == RF_LAYER_KEEPING)
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

/* ---- data of any type ---- */

struct layout {
    MPI_Count size;  /* bytes of data in one element */
    MPI_Aint extent; /* from one element to the next */
    bool dense;      /* the data is all there is, without gaps; perhaps in another order */
};

static struct layout layout_of(MPI_Datatype type) {
    struct layout layout;
    MPI_Aint bound, true_bound, true_extent;
    rf_library.Type_size_x(type, &layout.size);
    rf_library.Type_get_extent(type, &bound, &layout.extent);
    rf_library.Type_get_true_extent(type, &true_bound, &true_extent);
    layout.dense = bound == 0 && true_bound == 0 && layout.size == layout.extent &&
                   true_extent == layout.extent;
    return layout;
}

static void *room(size_t size) {
    static void *memory;
    static size_t have;
    if (size > have) {
        memory = rf_kept_room(memory, size);
        have = size;
    }
    return memory;
}

/* Whole elements, through a packed copy. */
static void through_packed(char *buffer, MPI_Count count, MPI_Datatype type,
                           const struct layout *layout) {
    MPI_Count at_once = layout->size < PIECE ? PIECE / layout->size : 1;
    for (MPI_Count done = 0; done < count; done += at_once) {
        int elements = (int)(count - done < at_once ? count - done : at_once);
        int size = (int)(elements * layout->size), position = 0;
        char *packed = room((size_t)size);
        char *place = buffer + done * layout->extent;
        if (!rf_alone())
            rf_library.Pack(place, elements, type, packed, size, &position, MPI_COMM_SELF);
        through_block(packed, (size_t)size);
        if (rf_alone())
            rf_library.Unpack(packed, size, &position, place, elements, type, MPI_COMM_SELF);
    }
}

/* The first bytes of one element; the others stay as they are. */
static void through_part(char *element, MPI_Datatype type, const struct layout *layout,
                         size_t bytes) {
    int size = (int)layout->size, position = 0;
    char *packed = room((size_t)size);
    rf_library.Pack(element, 1, type, packed, size, &position, MPI_COMM_SELF);
    through_block(packed, bytes);
    position = 0;
    if (rf_alone())
        rf_library.Unpack(packed, size, &position, element, 1, type, MPI_COMM_SELF);
}

/* The same as seen from another place than MPI_BOTTOM, from which MPICH packs nothing. */
static MPI_Datatype as_seen_from(void *place, MPI_Datatype type) {
    MPI_Aint address;
    MPI_Datatype moved;
    rf_library.Get_address(place, &address);
    rf_library.Type_create_hindexed(1, (const int[]){1}, (const MPI_Aint[]){-address}, type,
                                    &moved);
    rf_library.Type_commit(&moved);
    return moved;
}

static void through_bytes_of(void *buffer, MPI_Datatype type, MPI_Count bytes) {
    static char somewhere;
    struct layout layout = layout_of(type);
    if (bytes <= 0 || layout.size == 0)
        return;
    if (buffer == MPI_BOTTOM) {
        type = as_seen_from(&somewhere, type);
        through_bytes_of(&somewhere, type, bytes);
        rf_library.Type_free(&type);
        return;
    }
    MPI_Count whole = bytes / layout.size;
    if (!layout.dense)
        through_packed(buffer, whole, type, &layout);
    else if (whole > 0)
        through_block(buffer, (size_t)(whole * layout.size));
    if (bytes % layout.size)
        through_part((char *)buffer + whole * layout.extent, type, &layout,
                     (size_t)(bytes % layout.size));
}

static void through_elements(void *buffer, MPI_Count count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (count > 0)
        rf_library.Type_size_x(type, &size);
    through_bytes_of(buffer, type, count * size);
}

static int64_t number_at(const void *numbers, unsigned size, int place) {
    return size == sizeof(int) ? ((const int *)numbers)[place] : ((const int64_t *)numbers)[place];
}

static void through_received(const struct rf_output *output, const MPI_Status *status) {
    MPI_Count bytes = 0, size = 0;
    if (rf_status_cancelled(status))
        return;
    rf_library.Get_elements_x(status, MPI_BYTE, &bytes);
    rf_library.Type_size_x(output->type, &size);
    /* The status of a truncated message may tell more than there is room for. */
    if (bytes > size * output->count)
        bytes = size * output->count;
    through_bytes_of(output->buffer, output->type, bytes);
}

void rf_through_output(const struct rf_output *output, const MPI_Status *status) {
    switch (output->shape) {
    case RF_NOTHING:
        break;
    case RF_PLAIN:
        through_elements(output->buffer, output->count, output->type);
        break;
    case RF_RECEIVED:
        checks.message = status;
        through_received(output, status);
        checks.message = NULL;
        break;
    case RF_SEVERAL:
    case RF_VARIOUS:
        for (int i = 0; i < output->parts; i++) {
            MPI_Datatype type = output->shape == RF_VARIOUS ? output->types[i] : output->type;
            int64_t count = number_at(output->counts, output->count_size, i);
            int64_t displ = number_at(output->displs, output->displ_size, i);
            if (count <= 0)
                continue;
            int64_t unit = output->shape == RF_VARIOUS ? 1 : layout_of(type).extent;
            through_elements((char *)output->buffer + displ * unit, count, type);
        }
        break;
    }
}

void rf_through_status(MPI_Status *status) {
    rf_through(status, sizeof *status);
}
