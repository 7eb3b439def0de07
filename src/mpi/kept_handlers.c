/* Extraction: error handlers of the program that do not return. The library calls them inside the
   call that has failed, and of a call that does not end nothing is kept. So they are called through
   functions of our own, and as long as one of them runs it is known what it was called for: whoever
   ends the process then writes that down. Alone, the call has this outcome, and the same handler is
   called. */
#include <stdlib.h>

#include "mpi/kept.h"

/* As the program has made them; their places are the same alone. (Making one is no call in the
   stream: of threads that do so at the same time, nobody knows the order.) */
static struct handler {
    enum { OF_COMMS, OF_WINDOWS, OF_FILES } whose;
    union {
        MPI_Comm_errhandler_function *of_comms;
        MPI_Win_errhandler_function *of_windows;
        MPI_File_errhandler_function *of_files;
    };
} * handlers;
static int32_t count, room;
static struct rf_handle_map places;

/* The one that this thread is in, and for what. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    unsigned depth;
    int32_t place;
    int code;
} running;

bool rf_handler_runs(void) {
    return running.depth > 0;
}

int32_t rf_handler_heard(int *code) {
    *code = running.code;
    return running.depth ? running.place : -1;
}

static uint64_t key_of(MPI_Errhandler handler) {
    return (uint64_t)(uintptr_t)handler;
}

static int32_t remember(MPI_Errhandler made, struct handler handler) {
    rf_kept_hold();
    rf_handle_remove(&places, key_of(made)); /* of one that has been freed */
    handlers = rf_kept_grown(handlers, count, &room, sizeof *handlers);
    rf_kept_enter(&places, key_of(made), (uint32_t)count);
    int32_t place = count++;
    handlers[place] = handler;
    rf_kept_release();
    return place;
}

/* Of the handle that the library has given out once more. */
static int32_t place_of(MPI_Errhandler *handler) {
    rf_kept_hold();
    uint32_t place = rf_handle_find(&places, key_of(*handler));
    rf_kept_release();
    rf_library.Errhandler_free(handler);
    return place == RF_NOWHERE ? -1 : (int32_t)place;
}

static void run(int32_t place, int *code, const struct rf_hearer *hearer) {
    struct rf_hearer whose = *hearer;
    rf_kept_hold();
    struct handler handler = handlers[place];
    rf_kept_release();
    if (running.depth++ == 0) {
        running.place = place;
        running.code = *code;
    }
    switch (handler.whose) {
    case OF_COMMS:
        handler.of_comms(&whose.comm, code, NULL);
        break;
    case OF_WINDOWS:
        handler.of_windows(&whose.win, code, NULL);
        break;
    case OF_FILES:
        handler.of_files(&whose.file, code, NULL);
        break;
    }
    running.depth--;
}

void rf_handler_again(int32_t place, int code, const struct rf_hearer *hearer) {
    if (place < count)
        run(place, &code, hearer);
}

#define RF_HEAR(name, object, member, get)                                                         \
    static void hear_##name(object *of, int *code, ...) {                                          \
        MPI_Errhandler handler;                                                                    \
        if (rf_library.get(*of, &handler) != MPI_SUCCESS)                                          \
            return;                                                                                \
        int32_t place = place_of(&handler);                                                        \
        if (place >= 0)                                                                            \
            run(place, code, &(struct rf_hearer){.member = *of});                                  \
    }

RF_HEAR(comm, MPI_Comm, comm, Comm_get_errhandler)
RF_HEAR(window, MPI_Win, win, Win_get_errhandler)
RF_HEAR(file, MPI_File, file, File_get_errhandler)

/* MPICH 4.2 has the communicator locked meanwhile if threads may call, and cannot be asked. So the
   first handlers each have a function of their own. */
#define RF_OWN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

static int32_t own_places[8];
static uint32_t own_used;

#define RF_HEAR_OWN(number)                                                                        \
    static void hear_own_##number(MPI_Comm *of, int *code, ...) {                                  \
        run(own_places[number], code, &(struct rf_hearer){.comm = *of});                           \
    }
#define RF_OWN_NAME(number) hear_own_##number,

RF_OWN(RF_HEAR_OWN)

static MPI_Comm_errhandler_function *const own[] = {RF_OWN(RF_OWN_NAME)};

static int create_of_comms(int (*create)(MPI_Comm_errhandler_function *, MPI_Errhandler *),
                           MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
    uint32_t number = __atomic_fetch_add(&own_used, 1, __ATOMIC_RELAXED);
    bool has_own = number < sizeof own / sizeof *own;
    int code = create(has_own ? own[number] : hear_comm, handler);
    if (code != MPI_SUCCESS)
        return code;
    int32_t place = remember(*handler, (struct handler){.whose = OF_COMMS, .of_comms = function});
    if (has_own)
        own_places[number] = place;
    return code;
}

static int kept_Comm_create_errhandler(MPI_Comm_errhandler_function *function,
                                       MPI_Errhandler *handler) {
    return create_of_comms(rf_library.Comm_create_errhandler, function, handler);
}

static int kept_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
    return create_of_comms(rf_library.Errhandler_create, function, handler);
}

#define RF_KEEP_CREATE(name, type, hear, kind, member)                                             \
    static int kept_##name(type *function, MPI_Errhandler *handler) {                              \
        int code = rf_library.name(hear, handler);                                                 \
        if (code == MPI_SUCCESS)                                                                   \
            remember(*handler, (struct handler){.whose = kind, .member = function});               \
        return code;                                                                               \
    }

RF_KEEP_CREATE(Win_create_errhandler, MPI_Win_errhandler_function, hear_window, OF_WINDOWS,
               of_windows)
RF_KEEP_CREATE(File_create_errhandler, MPI_File_errhandler_function, hear_file, OF_FILES, of_files)

void rf_layer_handlers(struct rf_real *reals) {
    if (rf_layer == RF_LAYER_CHECKING)
        return;
#define RF_SET(name) reals->name = kept_##name;
    RF_SET(Comm_create_errhandler)
    RF_SET(Errhandler_create)
    RF_SET(Win_create_errhandler)
    RF_SET(File_create_errhandler)
#undef RF_SET
}
