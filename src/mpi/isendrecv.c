/* Nonblocking send-receive, an addition of MPI 4. */
#include "mpi/complete_replay.h"
#include "mpi/kept.h"
#include "mpi/receive.h"

#ifdef RF_DECLARES_Isendrecv

#    include <sched.h>
#    include <stdlib.h>

struct rf_partners rf_partners;

static void lock(void) {
    if (rf_the_session.concurrent)
        rf_lock(&rf_partners.lock);
}

static void unlock(void) {
    if (rf_the_session.concurrent)
        rf_unlock(&rf_partners.lock);
}

static struct rf_partner *find(MPI_Request receive) {
    struct rf_partners *partners = &rf_partners;
    for (int i = 0; i < partners->count; i++)
        if (partners->entries[i].receive == receive)
            return &partners->entries[i];
    return NULL;
}

static void drop(struct rf_partner *partner) {
    free(partner->copy);
    *partner = rf_partners.entries[--rf_partners.count];
}

static bool make_room(void) {
    struct rf_partners *partners = &rf_partners;
    if (partners->count < partners->size)
        return true;
    int size = partners->size ? partners->size * 2 : 16;
    struct rf_partner *entries =
        realloc(partners->entries, (size_t)size * sizeof *partners->entries);
    if (!entries)
        return false;
    partners->entries = entries;
    partners->size = size;
    return true;
}

/* ---- the library's calls, where a request may have two halves ---- */

/* The library's own functions; the send of such a request is asked for with these. */
static struct rf_real own;

static bool none_has_two(void) {
    return __atomic_load_n(&rf_partners.count, __ATOMIC_RELAXED) == 0;
}

static bool is_whole(MPI_Request receive) {
    int done = 0;
    if (none_has_two())
        return true;
    lock();
    struct rf_partner *partner = find(receive);
    if (partner)
        own.Test(&partner->send, &done, MPI_STATUS_IGNORE);
    if (done)
        drop(partner);
    unlock();
    return !partner || done;
}

/* Copies the requests without those whose send is not complete; false if there are such. */
static bool copy_whole(int count, const MPI_Request *requests, MPI_Request *whole) {
    bool all = true;
    for (int i = 0; i < count; i++) {
        bool done = is_whole(requests[i]);
        whole[i] = done ? requests[i] : MPI_REQUEST_NULL;
        all = all && done;
    }
    return all;
}

/* First for the send: it does not wait for the receive. */
static int wait_one(MPI_Request *request, MPI_Status *status) {
    rf_partner_settle(*request);
    return own.Wait(request, status);
}

static int wait_all(int count, MPI_Request *requests, MPI_Status *statuses) {
    for (int i = 0; i < count; i++)
        rf_partner_settle(requests[i]);
    return own.Waitall(count, requests, statuses);
}

static int test(MPI_Request *request, int *flag, MPI_Status *status) {
    *flag = 0;
    return is_whole(*request) ? own.Test(request, flag, status) : MPI_SUCCESS;
}

static int get_status(MPI_Request request, int *flag, MPI_Status *status) {
    *flag = 0;
    return is_whole(request) ? own.Request_get_status(request, flag, status) : MPI_SUCCESS;
}

static int every(rf_all_function *real, int count, MPI_Request *requests, int *flag,
                 MPI_Status *statuses) {
    bool whole = true;
    *flag = 0;
    for (int i = 0; i < count; i++)
        whole = is_whole(requests[i]) && whole;
    return whole ? real(count, requests, flag, statuses) : MPI_SUCCESS;
}

static int test_all(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    return every(own.Testall, count, requests, flag, statuses);
}

/* Nothing active but what was left out: then the library says that there is nothing at all. */
static int any(rf_any_function *real, bool wait, int count, MPI_Request *requests, int *index,
               int *flag, MPI_Status *status) {
    MPI_Request *whole = malloc(((size_t)count + 1) * sizeof *whole);
    MPI_Status seen;
    int code = MPI_ERR_NO_MEM;
    *flag = 0;
    if (status != MPI_STATUS_IGNORE)
        seen = *status;
    while (whole) {
        bool all = copy_whole(count, requests, whole);
        code = real(count, whole, index, flag, &seen);
        *flag = *flag && (all || *index != MPI_UNDEFINED);
        if (!wait || *flag || code != MPI_SUCCESS)
            break;
        sched_yield();
    }
    bool told = whole && (*flag || code != MPI_SUCCESS);
    if (told && *index >= 0 && *index < count)
        requests[*index] = whole[*index];
    if (told && status != MPI_STATUS_IGNORE)
        *status = seen;
    free(whole);
    return code;
}

static int wait_any(int count, MPI_Request *requests, int *index, MPI_Status *status) {
    int flag;
    if (none_has_two())
        return own.Waitany(count, requests, index, status);
    return any(own.Testany, true, count, requests, index, &flag, status);
}

static int test_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    if (none_has_two())
        return own.Testany(count, requests, index, flag, status);
    return any(own.Testany, false, count, requests, index, flag, status);
}

static int some(rf_some_function *real, bool wait, int count, MPI_Request *requests, int *done,
                int *indices, MPI_Status *statuses) {
    MPI_Request *whole = malloc(((size_t)count + 1) * sizeof *whole);
    int code = MPI_ERR_NO_MEM;
    *done = 0;
    while (whole) {
        bool all = copy_whole(count, requests, whole);
        code = real(count, whole, done, indices, statuses);
        if (*done == MPI_UNDEFINED && !all)
            *done = 0;
        if (!wait || *done || code != MPI_SUCCESS)
            break;
        sched_yield();
    }
    for (int i = 0; whole && i < *done; i++)
        requests[indices[i]] = whole[indices[i]];
    free(whole);
    return code;
}

static int wait_some(int count, MPI_Request *requests, int *done, int *indices,
                     MPI_Status *statuses) {
    if (none_has_two())
        return own.Waitsome(count, requests, done, indices, statuses);
    return some(own.Testsome, true, count, requests, done, indices, statuses);
}

static int test_some(int count, MPI_Request *requests, int *done, int *indices,
                     MPI_Status *statuses) {
    if (none_has_two())
        return own.Testsome(count, requests, done, indices, statuses);
    return some(own.Testsome, false, count, requests, done, indices, statuses);
}

#    ifdef RF_DECLARES_Request_get_status_all
static int get_status_all(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    return every(own.Request_get_status_all, count, requests, flag, statuses);
}

static int get_status_any(int count, MPI_Request *requests, int *index, int *flag,
                          MPI_Status *status) {
    if (none_has_two())
        return own.Request_get_status_any(count, requests, index, flag, status);
    return any(own.Request_get_status_any, false, count, requests, index, flag, status);
}

static int get_status_some(int count, MPI_Request *requests, int *done, int *indices,
                           MPI_Status *statuses) {
    if (none_has_two())
        return own.Request_get_status_some(count, requests, done, indices, statuses);
    return some(own.Request_get_status_some, false, count, requests, done, indices, statuses);
}
#    endif

/* Below everything else, so that what is kept for a rank alone is what these say. A replay waits
   for what the recording says; it does not ask. */
#    define IN_FRONT(name, function)                                                               \
        do {                                                                                       \
            if (rf_reals.name == own.name)                                                         \
                __atomic_store_n(&rf_reals.name, function, __ATOMIC_RELAXED);                      \
            __atomic_store_n(&rf_library.name, function, __ATOMIC_RELAXED);                        \
        } while (0)

static void begin(void) {
    lock();
    bool first = !own.Test;
    if (first)
        own = rf_library;
    if (first && rf_recording()) {
        IN_FRONT(Wait, wait_one);
        IN_FRONT(Waitall, wait_all);
        IN_FRONT(Test, test);
        IN_FRONT(Request_get_status, get_status);
        IN_FRONT(Testall, test_all);
        IN_FRONT(Waitany, wait_any);
        IN_FRONT(Testany, test_any);
        IN_FRONT(Waitsome, wait_some);
        IN_FRONT(Testsome, test_some);
#    ifdef RF_DECLARES_Request_get_status_all
        IN_FRONT(Request_get_status_all, get_status_all);
        IN_FRONT(Request_get_status_any, get_status_any);
        IN_FRONT(Request_get_status_some, get_status_some);
#    endif
    }
    unlock();
}

/* Takes charge of a send. Returns when it is known, or complete already. */
static int add(MPI_Request receive, MPI_Request send, void *copy) {
    int done = 0;
    begin();
    int code = own.Test(&send, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done) {
        free(copy);
        return code;
    }
    lock();
    bool room = make_room();
    if (room)
        rf_partners.entries[rf_partners.count++] = (struct rf_partner){receive, send, copy};
    unlock();
    return room ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

void rf_partner_wait(MPI_Request receive) {
    lock();
    struct rf_partner *partner = find(receive);
    struct rf_partner found = partner ? *partner : (struct rf_partner){.copy = NULL};
    if (partner)
        *partner = rf_partners.entries[--rf_partners.count];
    unlock();
    if (!partner)
        return;
    own.Wait(&found.send, MPI_STATUS_IGNORE);
    free(found.copy);
}

/* ---- the call itself ---- */

/* Also where contents are kept or checked it must be known what came. */
static bool is_split(int source, int tag) {
    return rf_is_wild(source, tag) || rf_layer != RF_LAYER_NONE;
}

/* Replay: see rf_end_of_trust(). */
static void mind_earlier_ones(MPI_Comm comm, int source, int tag) {
    if (!rf_recording() && !rf_is_wild(source, tag))
        rf_end_of_trust(comm, source, tag);
}

/* The receive first: the send may be what makes the other side send. */
static int post_both(const struct rf_here *here, const struct rf_receive *receive,
                     const struct rf_sending *sending, void *copy, MPI_Request *request) {
    MPI_Request send;
    rf_turn_begin(here);
    mind_earlier_ones(receive->comm, receive->source, receive->tag);
    int code = rf_is_wild(receive->source, receive->tag)
                   ? rf_receive_wild(here, receive, request)
                   : rf_receive_post(receive, receive->source, receive->tag, request);
    if (code == MPI_SUCCESS)
        code = rf_sending_post(sending, receive->comm, &send);
    rf_turn_end(here);
    if (code == MPI_SUCCESS)
        return add(*request, send, copy);
    free(copy);
    return code;
}

static int post_replacing(const struct rf_here *here, const struct rf_receive *receive, int dest,
                          int tag, MPI_Request *request) {
    struct rf_sending sending;
    void *copy;
    int code = rf_sending_copy(receive, dest, tag, &sending, &copy);
    if (code == MPI_SUCCESS)
        return post_both(here, receive, &sending, copy, request);
    free(copy);
    return code;
}

#    define RF_DEFINE_ISENDRECV(suffix, count_type)                                                \
        RF_WRAPPER(int, Isendrecv##suffix,                                                         \
                   (const void *sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest,    \
                    int sendtag, void *recvbuf, count_type recvcount, MPI_Datatype recvtype,       \
                    int source, int recvtag, MPI_Comm comm, MPI_Request *request)) {               \
            RF_ENTER(Isendrecv##suffix, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,     \
                                         recvcount, recvtype, source, recvtag, comm, request));    \
            rf_sign(&rf_the_session, &here, dest, sendtag, sendcount);                             \
            if (is_split(source, recvtag))                                                         \
                return rf_leave(                                                                   \
                    &here,                                                                         \
                    post_both(                                                                     \
                        &here,                                                                     \
                        &(struct rf_receive){recvbuf, recvcount, recvtype, source, recvtag, comm}, \
                        &(struct rf_sending){sendbuf, sendcount, sendtype, dest, sendtag}, NULL,   \
                        request));                                                                 \
            rf_turn_begin(&here);                                                                  \
            mind_earlier_ones(comm, source, recvtag);                                              \
            int code =                                                                             \
                rf_reals.Isendrecv##suffix(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,   \
                                           recvcount, recvtype, source, recvtag, comm, request);   \
            rf_turn_end(&here);                                                                    \
            return rf_leave(&here, code);                                                          \
        }                                                                                          \
                                                                                                   \
        RF_WRAPPER(int, Isendrecv_replace##suffix,                                                 \
                   (void *buf, count_type count, MPI_Datatype datatype, int dest, int sendtag,     \
                    int source, int recvtag, MPI_Comm comm, MPI_Request *request)) {               \
            RF_ENTER(Isendrecv_replace##suffix,                                                    \
                     (buf, count, datatype, dest, sendtag, source, recvtag, comm, request));       \
            rf_sign(&rf_the_session, &here, dest, sendtag, count);                                 \
            if (is_split(source, recvtag))                                                         \
                return rf_leave(&here, post_replacing(&here,                                       \
                                                      &(struct rf_receive){buf, count, datatype,   \
                                                                           source, recvtag, comm}, \
                                                      dest, sendtag, request));                    \
            rf_turn_begin(&here);                                                                  \
            mind_earlier_ones(comm, source, recvtag);                                              \
            int code = rf_reals.Isendrecv_replace##suffix(buf, count, datatype, dest, sendtag,     \
                                                          source, recvtag, comm, request);         \
            rf_turn_end(&here);                                                                    \
            return rf_leave(&here, code);                                                          \
        }

RF_DEFINE_ISENDRECV(, int)
#    ifdef RF_ABI_LARGE_COUNTS
RF_DEFINE_ISENDRECV(_c, MPI_Count)
#    endif

#endif
