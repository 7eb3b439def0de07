/* Every rank sends to every other and takes what comes first, without a barrier; what it sends
   depends on all it has received, so one exchange changes everything after it. Argument: rounds. */
#include "messages.h"

int main(int argc, char **argv) {
    enum { MOST = 64 };
    MPI_Request requests[MOST], sends[MOST];
    long incoming[MOST], outgoing;
    begin(&argc, &argv);
    long rounds = argc > 1 ? atol(argv[1]) : 40;
    phase("start");
    for (long i = 0; i < rounds; i++) {
        int others = world_size - 1;
        outgoing = (long)(observer.hash >> 1);
        if (rounds <= 1000)
            dawdle();
        for (int k = 0; k < others; k++)
            MPI_Isend(&outgoing, 1, MPI_LONG, (world_rank + k + 1) % world_size, (int)(i % 7),
                      MPI_COMM_WORLD, &sends[k]);
        if (i % 2) {
            for (int k = 0; k < others; k++) {
                MPI_Status status;
                MPI_Recv(&incoming[k], 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &status);
                observe("source", status.MPI_SOURCE);
                observe("tag", status.MPI_TAG);
                observe("word", incoming[k]);
            }
        } else {
            for (int k = 0; k < others; k++)
                MPI_Irecv(&incoming[k], 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                          &requests[k]);
            for (int k = 0; k < others; k++) {
                int index;
                MPI_Waitany(others, requests, &index, MPI_STATUS_IGNORE);
                observe("index", index);
                observe("word", incoming[index]);
            }
        }
        MPI_Waitall(others, sends, MPI_STATUSES_IGNORE);
    }
    end();
    return 0;
}
