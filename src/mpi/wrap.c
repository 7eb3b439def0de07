/* The wrappers of all functions that need no hand-written one: they follow the table. */
#include "mpi/kept.h"

/* In a replay, calls show that they may block. */
RF_STEP void show(const struct rf_here *here, int peer, int tag) {
    if (__builtin_expect(!rf_recording(), 0) && rf_the_session.mode == RF_REPLAYING) {
        const struct rf_here copy = *here;
        rf_progress_wait(&rf_the_session.replayer, &copy, peer, tag);
    }
}

/* Deterministic calls enter the signature. */
RF_STEP void before(const struct rf_here *here, int peer, int tag, int64_t count) {
    rf_sign(&rf_the_session, here, peer, tag, count);
    show(here, peer, tag);
}

/* The end of a call that is not compared with the recording. */
RF_STEP void after_value(void) {
    if (__builtin_expect(!rf_recording(), 0) && rf_the_session.mode == RF_REPLAYING)
        rf_progress_go(&rf_the_session.replayer);
    rf_leave_quietly();
}

/* A replay wakes the rank that waits for what is sent. */
RF_STEP int after_send(const struct rf_here *here, int dest, MPI_Comm comm, int code) {
    if (__builtin_expect(!rf_recording(), 0) && code == MPI_SUCCESS)
        rf_bell_ring(rf_bell_owner(comm, dest, true), RF_BELL_SENT);
    return rf_leave(here, code);
}

/* Generalized requests, and those of file operations, get on only while they are waited for; merely
   asking about them would wait for ever. The compiler answers this, the wrappers do not. */
static inline void notice_generalized(const char *name) {
    if (strncmp(name, "MPI_File_i", 10) == 0 || strcmp(name, "MPI_Grequest_start") == 0)
        rf_mpi.generalized = true;
}

/* Partitioned communication is matched in the order of its first call. */
static inline bool is_matched(const char *name) {
    return strncmp(name, "MPI_Psend_init", 14) == 0 || strncmp(name, "MPI_Precv_init", 14) == 0;
}

#define RF_WRAP_HANDLED(result, name, parameters, arguments)
#define RF_WRAP_LOCAL(result, name, parameters, arguments)

/* Only a rank that keeps its contents, or runs alone, has anything to do here. */
#define RF_WRAP_FACT(result, name, parameters, arguments)                                          \
    RF_WRAPPER(result, name, parameters) {                                                         \
        if (__builtin_expect(rf_layer == RF_LAYER_NONE, 1))                                        \
            return rf_real()->name arguments;                                                      \
        RF_ENTER(name, arguments);                                                                 \
        result value = rf_reals.name arguments;                                                    \
        rf_leave_quietly();                                                                        \
        return value;                                                                              \
    }

#define RF_WRAP_SEND(result, name, parameters, arguments)                                          \
    RF_WRAPPER(result, name, parameters) {                                                         \
        RF_ENTER(name, arguments);                                                                 \
        before(&here, dest, tag, count);                                                           \
        rf_turn_begin(&here);                                                                      \
        result code = rf_reals.name arguments;                                                     \
        rf_turn_end(&here);                                                                        \
        return after_send(&here, dest, comm, code);                                                \
    }

#define RF_WRAP_CALL(result, name, parameters, arguments)                                          \
    RF_WRAPPER(result, name, parameters) {                                                         \
        RF_ENTER(name, arguments);                                                                 \
        before(&here, RF_NO_PEER, RF_NO_PEER, 0);                                                  \
        notice_generalized("MPI_" #name);                                                          \
        if (is_matched("MPI_" #name))                                                              \
            rf_turn_begin(&here);                                                                  \
        result code = rf_reals.name arguments;                                                     \
        if (is_matched("MPI_" #name))                                                              \
            rf_turn_end(&here);                                                                    \
        return rf_leave(&here, code);                                                              \
    }

/* What these return comes from outside and is not kept yet, so the user is told. */
#define RF_WRAP_VALUE(result, name, parameters, arguments)                                         \
    RF_WRAPPER(result, name, parameters) {                                                         \
        RF_ENTER(name, arguments);                                                                 \
        rf_note_unsupported(RF_FN_##name, "MPI_" #name);                                           \
        notice_generalized("MPI_" #name);                                                          \
        show(&here, RF_NO_PEER, RF_NO_PEER);                                                       \
        result value = rf_reals.name arguments;                                                    \
        after_value();                                                                             \
        return value;                                                                              \
    }

#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name(RF_WRAP_##class(result, name, parameters, arguments))
#include "mpi/functions.def"
