/* Sends that block until the message is gone, and the sending half of combined calls. */
#include <limits.h>
#include <stdlib.h>

#include "mpi/receive.h"

int rf_sending_post(const struct rf_sending *sending, MPI_Comm comm, MPI_Request *request) {
#ifdef RF_ABI_LARGE_COUNTS
    if (sending->count > INT_MAX)
        return rf_reals.Isend_c(sending->buffer, sending->count, sending->type, sending->dest,
                                sending->tag, comm, request);
#endif
    return rf_reals.Isend(sending->buffer, (int)sending->count, sending->type, sending->dest,
                          sending->tag, comm, request);
}

#ifdef RF_ABI_LARGE_COUNTS
typedef MPI_Count packed_t;
#    define PACKING(name) rf_reals.name##_c
#else
typedef int packed_t;
#    define PACKING(name) rf_reals.name
#endif

int rf_sending_copy(const struct rf_receive *receive, int dest, int tag, struct rf_sending *sending,
                    void **copy) {
    packed_t count = (packed_t)receive->count;
    packed_t size = 0;
    packed_t position = 0;
    *copy = NULL;
    int code = PACKING(Pack_size)(count, receive->type, receive->comm, &size);
    if (code != MPI_SUCCESS)
        return code;
    *copy = malloc((size_t)size + 1);
    if (!*copy)
        return MPI_ERR_NO_MEM;
    code =
        PACKING(Pack)(receive->buffer, count, receive->type, *copy, size, &position, receive->comm);
    *sending = (struct rf_sending){*copy, position, MPI_PACKED, dest, tag};
    return code;
}

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
