/* Extraction: errors that end the program, which is what MPI_ERRORS_ARE_FATAL makes of them. The
   library would end the process inside the call, or have its launcher do so, and nobody could keep
   anything any more. So in a rank that keeps, a handler of our own stands wherever the program
   wants that one: the call returns, it is kept with its error, and only then the process ends. A
   rank alone finds after the call that it was the last one, and how it ended. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi/kept.h"

/* Communicators hand theirs on to their copies. */
static MPI_Errhandler of_comms, of_windows, of_files;
static bool stands;

/* What this thread's call has run into. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct heard {
    enum { NO_ERROR, OF_COMM, OF_WINDOW, OF_FILE } whose;
    int code;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
} heard;

/* With the handler that the program wanted, the library says what happened, and ends the job. */
static _Noreturn void end_job(const struct heard *error) {
    switch (error->whose) {
    case NO_ERROR:
        break;
    case OF_COMM:
        rf_library.Comm_set_errhandler(error->comm, MPI_ERRORS_ARE_FATAL);
        rf_library.Comm_call_errhandler(error->comm, error->code);
        break;
    case OF_WINDOW:
        rf_library.Win_set_errhandler(error->win, MPI_ERRORS_ARE_FATAL);
        rf_library.Win_call_errhandler(error->win, error->code);
        break;
    case OF_FILE:
        rf_library.File_set_errhandler(error->file, MPI_ERRORS_ARE_FATAL);
        rf_library.File_call_errhandler(error->file, error->code);
        break;
    }
    abort();
}

/* In a call that is not kept, its end need not be either: alone, the library fails as well. */
static void hear(const struct heard *error) {
    if (rf_layer != RF_LAYER_KEEPING || !rf_inside())
        end_job(error);
    heard = *error;
}

static void hear_comm(MPI_Comm *comm, int *code, ...) {
    hear(&(struct heard){.whose = OF_COMM, .code = *code, .comm = *comm});
}

static void hear_window(MPI_Win *win, int *code, ...) {
    hear(&(struct heard){.whose = OF_WINDOW, .code = *code, .win = *win});
}

static void hear_file(MPI_File *file, int *code, ...) {
    hear(&(struct heard){.whose = OF_FILE, .code = *code, .file = *file});
}

void rf_fatal_unheard(void) {
    heard.whose = NO_ERROR;
}

/* The last call: what the library says of it, and its code or what it ran into. */
static char text[MPI_MAX_ERROR_STRING];
static int last_code;
static struct heard last;

static void through_text(void) {
    uint32_t size = (uint32_t)strlen(text);
    rf_through(&size, sizeof size);
    if (size >= sizeof text)
        rf_cannot_answer("the last call");
    rf_through(text, size);
    text[size] = 0;
}

bool rf_fatal_last(void) {
    if (rf_alone()) {
        if (!rf_kept_was_last(&last_code))
            return false;
        through_text();
        return true;
    }
    if (heard.whose == NO_ERROR || rf_layer != RF_LAYER_KEEPING)
        return false;
    int length = 0;
    rf_kept_hold();
    last = heard;
    rf_library.Error_string(last.code, text, &length);
    rf_kept_last(last.code);
    through_text();
    rf_kept_release();
    return true;
}

/* Neither library lets the program write what is in its buffers. Other threads do what they had
   done by then. */
static _Noreturn void end_again(void) {
    rf_kept_used(&rf_current);
    fprintf(stderr, "Fatal error in %s: %s\n", rf_current.name, text);
    rf_the_session.replayer.progress->state = RF_STATE_LEFT;
    rf_order_let_go();
    _exit(last_code & 0xff);
}

void rf_fatal_end(void) {
    if (rf_alone())
        end_again();
    rf_others_first();
    end_job(&last);
}

/* ---- the handler in place of MPI_ERRORS_ARE_FATAL ---- */

static MPI_Errhandler instead(MPI_Errhandler wanted, MPI_Errhandler ours) {
    return stands && wanted == MPI_ERRORS_ARE_FATAL ? ours : wanted;
}

/* The program gets a handle that it may free, of the handler that it knows. */
#define RF_KEEP_ERRHANDLER(object, set, get, ours)                                                 \
    static int kept_##set(object of, MPI_Errhandler handler) {                                     \
        return rf_library.set(of, instead(handler, ours));                                         \
    }                                                                                              \
                                                                                                   \
    static int kept_##get(object of, MPI_Errhandler *handler) {                                    \
        int code = rf_library.get(of, handler);                                                    \
        if (!stands || code != MPI_SUCCESS || *handler != (ours))                                  \
            return code;                                                                           \
        rf_library.Errhandler_free(handler);                                                       \
        rf_library.set(of, MPI_ERRORS_ARE_FATAL);                                                  \
        code = rf_library.get(of, handler);                                                        \
        rf_library.set(of, ours);                                                                  \
        return code;                                                                               \
    }

RF_KEEP_ERRHANDLER(MPI_Comm, Comm_set_errhandler, Comm_get_errhandler, of_comms)
RF_KEEP_ERRHANDLER(MPI_Comm, Errhandler_set, Errhandler_get, of_comms)
RF_KEEP_ERRHANDLER(MPI_Win, Win_set_errhandler, Win_get_errhandler, of_windows)
RF_KEEP_ERRHANDLER(MPI_File, File_set_errhandler, File_get_errhandler, of_files)

static void stand_for(MPI_Comm comm) {
    MPI_Errhandler handler;
    rf_library.Comm_get_errhandler(comm, &handler);
    rf_library.Comm_set_errhandler(comm, instead(handler, of_comms));
    rf_library.Errhandler_free(&handler);
}

static MPI_Errhandler handler_of(MPI_Comm comm) {
    MPI_Errhandler handler, kept;
    rf_library.Comm_get_errhandler(comm, &handler);
    kept = handler; /* the communicator holds it */
    rf_library.Errhandler_free(&handler);
    return stands && kept == of_comms ? MPI_ERRORS_ARE_FATAL : kept;
}

/* The libraries differ in which functions hand it on: MPICH's MPI_Comm_create does not. */
void rf_through_errhandler(MPI_Comm comm, MPI_Comm parent) {
    const MPI_Errhandler candidates[] = {handler_of(parent), handler_of(MPI_COMM_WORLD),
                                         MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL};
    const uint32_t last_one = sizeof candidates / sizeof *candidates - 1;
    uint32_t which = 0;
    if (!rf_alone())
        for (MPI_Errhandler got = handler_of(comm); which < last_one && candidates[which] != got;)
            which++;
    rf_through(&which, sizeof which);
    if (rf_alone())
        rf_library.Comm_set_errhandler(comm, candidates[which < last_one ? which : last_one]);
    else
        stand_for(comm);
}

/* A new window has MPI_ERRORS_ARE_FATAL. */
void rf_fatal_window(MPI_Win win) {
    if (stands)
        rf_library.Win_set_errhandler(win, of_windows);
}

void rf_layer_fatal(struct rf_real *reals) {
#define RF_SET(name) reals->name = kept_##name;
    RF_SET(Comm_set_errhandler)
    RF_SET(Comm_get_errhandler)
    RF_SET(Errhandler_set)
    RF_SET(Errhandler_get)
    RF_SET(Win_set_errhandler)
    RF_SET(Win_get_errhandler)
    RF_SET(File_set_errhandler)
    RF_SET(File_get_errhandler)
#undef RF_SET
    stands = rf_layer == RF_LAYER_KEEPING &&
             rf_library.Comm_create_errhandler(hear_comm, &of_comms) == MPI_SUCCESS &&
             rf_library.Win_create_errhandler(hear_window, &of_windows) == MPI_SUCCESS &&
             rf_library.File_create_errhandler(hear_file, &of_files) == MPI_SUCCESS;
    if (stands) {
        stand_for(MPI_COMM_WORLD);
        /* MPICH's has none: it follows the world, and once it has one, MPICH 4.2 tells it more. */
        if (!RF_ABI_LOOK_RAISES)
            stand_for(MPI_COMM_SELF);
    }
}
