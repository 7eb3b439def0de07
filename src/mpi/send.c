/* Sends that block until the message is gone. */
#include "mpi/receive.h"

/* Replay: a large message waits for its receiver, and the libraries wait by looking again and
   again. A send that is started and then waited for patiently is the same to the program. */
static bool begin_patiently(const struct rf_here *here, int dest, int tag) {
    if (rf_the_session.mode == RF_REPLAYING)
        rf_progress_wait(&rf_the_session.replayer, here, dest, tag);
    return rf_may_be_patient(here, dest, tag);
}

static int finish_patiently(const struct rf_here *here, int code, MPI_Comm comm, int dest,
                            MPI_Request *request) {
    if (code != MPI_SUCCESS)
        return code;
    rf_bell_ring(rf_bell_owner(comm, dest, true), RF_BELL_SENT);
    rf_bell_expect(*request, comm, dest, RF_BELL_TAKEN);
    rf_await(here, *request);
    return rf_reals.Wait(request, MPI_STATUS_IGNORE);
}

/* Threads start their sends in turn, and wait for them outside of it. */
static int finish_in_order(const struct rf_here *here, int code, MPI_Comm comm, int dest, int tag,
                           MPI_Request *request) {
    if (code != MPI_SUCCESS)
        return code;
    if (rf_recording())
        return rf_reals.Wait(request, MPI_STATUS_IGNORE);
    rf_progress_wait(&rf_the_session.replayer, here, dest, tag);
    return finish_patiently(here, code, comm, dest, request);
}

#define RF_DEFINE_SEND(name, start, count_type)                                                    \
    RF_WRAPPER(int, name,                                                                          \
               (const void *buf, count_type count, MPI_Datatype datatype, int dest, int tag,       \
                MPI_Comm comm)) {                                                                  \
        RF_ENTER(name, (buf, count, datatype, dest, tag, comm));                                   \
        rf_sign(&rf_the_session, &here, dest, tag, count);                                         \
        MPI_Request request;                                                                       \
        if (__builtin_expect(rf_order.on, 0)) {                                                    \
            const struct rf_here copy = here;                                                      \
            rf_turn_begin_ordered(&copy);                                                          \
            int code = rf_reals.start(buf, count, datatype, dest, tag, comm, &request);            \
            rf_turn_end_ordered(&copy);                                                            \
            return rf_leave(&copy, finish_in_order(&copy, code, comm, dest, tag, &request));       \
        }                                                                                          \
        RF_REPLAY(begin_patiently(at, dest, tag)                                                   \
                      ? finish_patiently(                                                          \
                            at, rf_reals.start(buf, count, datatype, dest, tag, comm, &request),   \
                            comm, dest, &request)                                                  \
                      : rf_reals.name(buf, count, datatype, dest, tag, comm));                     \
        return rf_leave(&here, rf_reals.name(buf, count, datatype, dest, tag, comm));              \
    }

RF_DEFINE_SEND(Send, Isend, int)
RF_DEFINE_SEND(Ssend, Issend, int)
RF_DEFINE_SEND(Rsend, Irsend, int)
#ifdef RF_ABI_LARGE_COUNTS
RF_DEFINE_SEND(Send_c, Isend_c, MPI_Count)
RF_DEFINE_SEND(Ssend_c, Issend_c, MPI_Count)
RF_DEFINE_SEND(Rsend_c, Irsend_c, MPI_Count)
#endif
