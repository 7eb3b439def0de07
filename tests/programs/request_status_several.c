/* Questions about several requests, of MPI 4.1: what is complete is told, with what it received,
   and the requests stay. Then they are completed. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST], indices[MOST];

static void observe_at(int place, const MPI_Status *status) {
    observe("index", place);
    observe("word", words[place]);
    if (status) {
        observe("source", status->MPI_SOURCE);
        observe("tag", status->MPI_TAG);
    }
}

static void ask_all(int count, int ignore) {
    long failed = 0;
    int flag;
    while (
        MPI_Request_get_status_all(count, requests, &flag, ignore ? MPI_STATUSES_IGNORE : statuses),
        !flag)
        failed++;
    observe("failed", failed);
    for (int i = 0; i < count; i++)
        observe_at(i, ignore ? NULL : &statuses[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* Each is told again and again until it is completed; but MPICH 4.2 tells of a persistent one once.
 */
static void ask_any(int count, int ignore) {
    long failed = 0;
    int index, again, flag;
    for (;;) {
        MPI_Request_get_status_any(count, requests, &index, &flag,
                                   ignore ? MPI_STATUS_IGNORE : statuses);
        failed += !flag;
        if (!flag)
            continue;
        observe("failed", failed);
        if (index == MPI_UNDEFINED)
            return;
        observe_at(index, ignore ? NULL : statuses);
        MPI_Request_get_status_any(count, requests, &again, &flag, MPI_STATUS_IGNORE);
        observe("again", again);
        MPI_Wait(&requests[index], statuses);
        observe("tag", statuses->MPI_TAG);
        failed = 0;
    }
}

static void ask_some(int count, int ignore) {
    long failed = 0;
    int some;
    for (;;) {
        MPI_Request_get_status_some(count, requests, &some, indices,
                                    ignore ? MPI_STATUSES_IGNORE : statuses);
        failed += some == 0;
        if (some == 0)
            continue;
        observe("failed", failed);
        observe("some", some);
        if (some == MPI_UNDEFINED)
            return;
        for (int i = 0; i < some; i++)
            observe_at(indices[i], ignore ? NULL : &statuses[i]);
        for (int i = 0; i < some; i++)
            MPI_Wait(&requests[indices[i]], MPI_STATUS_IGNORE);
        failed = 0;
    }
}

/* Wildcard receives, some of them persistent, one that is not active, and none at all. */
static void questions(void (*ask)(int, int), int ignore) {
    MPI_Request persistent[2];
    int count = 0, idle;
    for (int i = 0; i < ROUNDS; i++)
        for (int source = 1; source < world_size; source++, count++)
            if (count < 2) {
                MPI_Recv_init(&words[count], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                              MPI_COMM_WORLD, &persistent[count]);
                requests[count] = persistent[count];
                MPI_Start(&requests[count]);
            } else {
                MPI_Irecv(&words[count], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                          &requests[count]);
            }
    MPI_Recv_init(&idle, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &requests[count]);
    requests[count + 1] = MPI_REQUEST_NULL;
    words[count] = words[count + 1] = 0;
    ask(count + 2, ignore);
    MPI_Request_free(&requests[count]);
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
}

int main(int argc, char **argv) {
    static void (*const ways[])(int, int) = {ask_all, ask_any, ask_some};
    begin(&argc, &argv);
    for (int way = 0; way < 6; way++) {
        phase("way");
        if (world_rank == 0)
            questions(ways[way / 2], way % 2);
        else
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    }
    end();
    return 0;
}
