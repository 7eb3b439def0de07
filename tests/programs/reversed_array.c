/* Receives stand in the array in the reverse order of their posts, and one call completes several
   of them: the youngest is reported first, when the library has let go of the older ones too. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST], indices[MOST];

static void observe_index(int index, const MPI_Status *status) {
    observe("index", index);
    observe("source", status->MPI_SOURCE);
    observe("word", words[index]);
}

static void by_waitall(int count, int some) {
    (void)some;
    MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++)
        observe_index(i, &statuses[i]);
}

static void by_testall(int count, int some) {
    int done = 0;
    (void)some;
    while (MPI_Testall(count, requests, &done, statuses), !done)
        ;
    for (int i = 0; i < count; i++)
        observe_index(i, &statuses[i]);
}

static void by_some(int count, int wait) {
    for (int left = count; left > 0;) {
        int some = 0;
        if (wait)
            MPI_Waitsome(count, requests, &some, indices, statuses);
        else
            MPI_Testsome(count, requests, &some, indices, statuses);
        observe("some", some);
        for (int i = 0; i < some; i++)
            observe_index(indices[i], &statuses[i]);
        left -= some;
    }
}

int main(int argc, char **argv) {
    static void (*const ways[])(int, int) = {by_waitall, by_testall, by_some, by_some};
    begin(&argc, &argv);
    for (int way = 0; way < 4; way++) {
        phase("way");
        int count = (world_size - 1) * ROUNDS;
        if (world_rank == 0)
            for (int i = count; i-- > 0;)
                MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                          &requests[i]);
        else
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 2);
        /* Everything has arrived: one call completes all, or nearly. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0)
            ways[way](count, way % 2);
    }
    end();
    return 0;
}
