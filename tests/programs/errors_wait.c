/* Truncation found by each of the completion calls. What happens to the other requests of the call
   is not the same in every MPI, so the program takes it as it comes. */
#include "messages.h"

enum { MOST = 64, UNTOUCHED = -77 };
/* After an error Open MPI 4.1 may let go of a persistent request twice, and MPICH 4.2 lets go of
   one that it was only asked about. */
#if defined(OPEN_MPI) || MPICH_NUMVERSION >= 40200000
enum { PASSES = 3 };
#else
enum { PASSES = 4 };
#endif

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST], indices[MOST];

static void on_error(MPI_Comm *comm, int *code, ...) {
    observe(*comm == MPI_COMM_WORLD ? "handler of the world" : "handler of a duplicate",
            error_class(*code));
}

/* A request that an error left behind must not be looked at for ever. */
static void drop(int index) {
    if (requests[index] != MPI_REQUEST_NULL) {
        observe("dropped", index);
        MPI_Request_free(&requests[index]);
    }
}

static void one(int index, int code) {
    observe("index", index);
    observe("class", error_class(code));
    if (code == MPI_SUCCESS)
        observe("word", words[index]);
    else
        drop(index);
}

static void by_wait(int count) {
    for (int i = 0; i < count; i++)
        one(i, MPI_Wait(&requests[i], i % 2 ? MPI_STATUS_IGNORE : &statuses[i]));
}

static void by_test(int count) {
    for (int i = count; i-- > 0;) {
        int done = 0, code;
        while (code = MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE),
               !done && code == MPI_SUCCESS)
            ;
        one(i, code);
    }
}

static void by_asking(int count) {
    for (int i = 0; i < count; i++) {
        int done = 0, code;
        while (code = MPI_Request_get_status(requests[i], &done, &statuses[i]),
               !done && code == MPI_SUCCESS)
            ;
        observe("asked", done);
        observe("class", error_class(code));
        one(i, MPI_Wait(&requests[i], &statuses[i]));
    }
}

static void by_waitany(int count) {
    for (int i = 0; i < count; i++) {
        int index = 0;
        int code = MPI_Waitany(count, requests, &index, &statuses[0]);
        if (index == MPI_UNDEFINED)
            break;
        one(index, code);
    }
}

static void by_testany(int count) {
    for (;;) {
        int index = 0, flag = 0;
        int code = MPI_Testany(count, requests, &index, &flag, &statuses[0]);
        if (code == MPI_SUCCESS && !flag)
            continue;
        if (index == MPI_UNDEFINED)
            break;
        one(index, code);
    }
}

static void by_some(int count, int wait) {
    for (;;) {
        int some = 0;
        int code = wait ? MPI_Waitsome(count, requests, &some, indices, statuses)
                        : MPI_Testsome(count, requests, &some, indices, statuses);
        if (some == MPI_UNDEFINED)
            break;
        if (some)
            observe("class", error_class(code));
        for (int i = 0; i < some; i++)
            one(indices[i], error_class(code) == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : code);
    }
}

static void by_waitsome(int count) {
    by_some(count, 1);
}

static void by_testsome(int count) {
    by_some(count, 0);
}

/* After an error some requests may still be pending; go on until all are gone. */
static void by_all(int count, int wait, MPI_Status *wanted) {
    for (int tries = 0; tries <= count; tries++) {
        int done = 0, left = 0, code;
        for (int i = 0; i < count; i++)
            statuses[i].MPI_ERROR = UNTOUCHED;
        if (wait)
            code = MPI_Waitall(count, requests, wanted);
        else
            while (code = MPI_Testall(count, requests, &done, wanted), !done && code == MPI_SUCCESS)
                ;
        observe("class", error_class(code));
        for (int i = 0; i < count; i++) {
            int own = statuses[i].MPI_ERROR;
            if (error_class(code) == MPI_ERR_IN_STATUS && wanted == statuses)
                observe("class of one", own == UNTOUCHED ? UNTOUCHED : error_class(own));
            left += requests[i] != MPI_REQUEST_NULL;
            observe("is left", requests[i] != MPI_REQUEST_NULL);
        }
        observe("left", left);
        if (!left)
            break;
    }
    /* MPICH 4.2 leaves all that a failed test-all was asked about. */
    for (int tries = 0; tries <= count; tries++)
        if (MPI_Waitall(count, requests, statuses) == MPI_SUCCESS)
            break;
    for (int i = 0; i < count; i++)
        drop(i);
}

static void by_waitall(int count) {
    by_all(count, 1, statuses);
}

static void by_testall(int count) {
    by_all(count, 0, statuses);
}

static void by_waitall_untold(int count) {
    by_all(count, 1, MPI_STATUSES_IGNORE);
}

static void by_testall_untold(int count) {
    by_all(count, 0, MPI_STATUSES_IGNORE);
}

static void post(int *room, int count, MPI_Comm comm, int persistent, MPI_Request *request) {
    (persistent ? MPI_Recv_init : MPI_Irecv)(room, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                             comm, request);
    if (persistent)
        MPI_Start(request);
}

/* One message is too long, the other one is only sent when the call is over. A wait-all of MPICH
   waits for it all the same, and a test-all of Open MPI never fails before it is there. */
static void untold(int round) {
    enum { LONG = 1, LATE, GO, MOST_TRIES = 1000000 };
    int late_from = 2, word = round, long_words[2] = {round, 1}, code = MPI_SUCCESS, done = 0;
    if (world_rank == 1)
        MPI_Send(long_words, 2, MPI_INT, 0, LONG, MPI_COMM_WORLD);
    if (world_rank == late_from) {
        MPI_Recv(&word, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, LATE, MPI_COMM_WORLD);
    }
    if (world_rank != 0 || world_size <= late_from)
        return;
    MPI_Irecv(&words[0], 1, MPI_INT, 1, LONG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&words[1], 1, MPI_INT, round % 2 ? MPI_ANY_SOURCE : late_from, LATE, MPI_COMM_WORLD,
              &requests[1]);
#ifdef OPEN_MPI
    code = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#else
    for (int tries = 0; code == MPI_SUCCESS && !done && tries < MOST_TRIES; tries++)
        code = MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
#endif
    observe("class", error_class(code));
    observe("done", done);
    observe("is left", requests[1] != MPI_REQUEST_NULL);
    MPI_Send(&word, 1, MPI_INT, late_from, GO, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        one(i, MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    static void (*const ways[])(int) = {
        by_wait,    by_test,    by_waitany, by_testany,        by_waitsome,      by_testsome,
        by_waitall, by_testall, by_asking,  by_waitall_untold, by_testall_untold};
    enum { WAYS = sizeof ways / sizeof *ways };
    MPI_Comm duplicate;
    MPI_Errhandler handler;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(duplicate, handler);
    for (int i = 0; i < PASSES * WAYS; i++) {
        MPI_Comm comm = i < 2 * WAYS ? MPI_COMM_WORLD : duplicate;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, i < WAYS ? MPI_ERRORS_RETURN : handler);
        phase("way");
        if (world_rank == 0) {
            /* The last two have room for the long message; only then is all well. */
            int count = 2 * (world_size - 1);
            static int room[2][4];
            memset(words, 0, sizeof words);
            for (int k = 0; k < count; k++)
                if (k < count - 2)
                    post(&words[k], 1, comm, i >= 3 * WAYS, &requests[k]);
                else
                    post(room[count - 1 - k], 4, comm, i >= 3 * WAYS, &requests[k]);
            ways[i % WAYS](count);
            for (int k = 0; k < count; k++)
                drop(k);
            for (int k = 0; k < 2; k++)
                observe("room", room[k][0]);
        } else {
            send_stream(comm, 0, 1, 1, 1);
            send_stream(comm, 0, 1, world_rank == 1 ? 4 : 1, 1);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 4; round++)
        untold(round);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&duplicate);
    end();
    return 0;
}
