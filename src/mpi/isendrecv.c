/* Nonblocking send-receive, an addition of MPI 4. */
#include "mpi/receive.h"

#ifdef RF_ABI_LARGE_COUNTS

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

int rf_partner_add(MPI_Request receive, MPI_Request send, void *copy) {
    int done = 0;
    int code = rf_library.Test(&send, &done, MPI_STATUS_IGNORE);
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

bool rf_partner_ask(MPI_Request receive) {
    int done = 0;
    lock();
    struct rf_partner *partner = find(receive);
    if (partner)
        rf_library.Test(&partner->send, &done, MPI_STATUS_IGNORE);
    if (done)
        drop(partner);
    unlock();
    return !partner || done;
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
    rf_library.Wait(&found.send, MPI_STATUS_IGNORE);
    free(found.copy);
}

/* Copies the requests without those whose send is not complete; false if there are such. */
static bool copy_whole(int count, const MPI_Request *requests, MPI_Request *whole) {
    bool all = true;
    for (int i = 0; i < count; i++) {
        bool done = rf_partner_done(requests[i]);
        whole[i] = done ? requests[i] : MPI_REQUEST_NULL;
        all = all && done;
    }
    return all;
}

/* Nothing active but what was left out: then the library says that there is nothing at all. */
int rf_partner_any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    MPI_Request *whole = malloc(((size_t)count + 1) * sizeof *whole);
    MPI_Status own;
    int found = 0;
    int code = MPI_ERR_NO_MEM;
    if (status != MPI_STATUS_IGNORE)
        own = *status;
    while (whole) {
        bool all = copy_whole(count, requests, whole);
        code = rf_reals.Testany(count, whole, index, &found, &own);
        found = found && (all || *index != MPI_UNDEFINED);
        if (flag || found || code != MPI_SUCCESS)
            break;
        sched_yield();
    }
    if (whole && (found || code != MPI_SUCCESS) && *index >= 0 && *index < count)
        requests[*index] = whole[*index];
    if (status != MPI_STATUS_IGNORE && (found || code != MPI_SUCCESS))
        *status = own;
    if (flag)
        *flag = found;
    free(whole);
    return code;
}

int rf_partner_some(bool wait, int count, MPI_Request *requests, int *done, int *indices,
                    MPI_Status *statuses) {
    MPI_Request *whole = malloc(((size_t)count + 1) * sizeof *whole);
    int code = MPI_ERR_NO_MEM;
    *done = 0;
    while (whole) {
        bool all = copy_whole(count, requests, whole);
        code = rf_reals.Testsome(count, whole, done, indices, statuses);
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

/* The receive first: the send may be what makes the other side send. */
static int post_both(const struct rf_here *here, const struct rf_receive *receive,
                     const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                     void *copy, MPI_Request *request) {
    MPI_Request send;
    rf_turn_begin(here);
    int code = rf_receive_wild(here, receive, request);
    if (code == MPI_SUCCESS)
        code = rf_reals.Isend_c(buffer, count, type, dest, tag, receive->comm, &send);
    rf_turn_end(here);
    return code == MPI_SUCCESS ? rf_partner_add(*request, send, copy) : code;
}

/* The receive overwrites what is being sent, so it is sent from a copy, as the library does. */
static int post_replacing(const struct rf_here *here, const struct rf_receive *receive, int dest,
                          int tag, MPI_Request *request) {
    MPI_Count size = 0;
    MPI_Count position = 0;
    int code = rf_reals.Pack_size_c(receive->count, receive->type, receive->comm, &size);
    if (code != MPI_SUCCESS)
        return code;
    void *copy = malloc((size_t)size + 1);
    if (!copy)
        return MPI_ERR_NO_MEM;
    code = rf_reals.Pack_c(receive->buffer, receive->count, receive->type, copy, size, &position,
                           receive->comm);
    if (code == MPI_SUCCESS)
        return post_both(here, receive, copy, position, MPI_PACKED, dest, tag, copy, request);
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
            if (rf_is_wild(source, recvtag))                                                       \
                return rf_leave(                                                                   \
                    &here, post_both(&here,                                                        \
                                     &(struct rf_receive){recvbuf, recvcount, recvtype, source,    \
                                                          recvtag, comm},                          \
                                     sendbuf, sendcount, sendtype, dest, sendtag, NULL, request)); \
            rf_turn_begin(&here);                                                                  \
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
            if (rf_is_wild(source, recvtag))                                                       \
                return rf_leave(&here, post_replacing(&here,                                       \
                                                      &(struct rf_receive){buf, count, datatype,   \
                                                                           source, recvtag, comm}, \
                                                      dest, sendtag, request));                    \
            rf_turn_begin(&here);                                                                  \
            int code = rf_reals.Isendrecv_replace##suffix(buf, count, datatype, dest, sendtag,     \
                                                          source, recvtag, comm, request);         \
            rf_turn_end(&here);                                                                    \
            return rf_leave(&here, code);                                                          \
        }

RF_DEFINE_ISENDRECV(, int)
RF_DEFINE_ISENDRECV(_c, MPI_Count)

#endif
