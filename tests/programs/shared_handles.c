/* Many small sends and receives from nobody can carry one and the same handle value. They are
   completed in pieces by different calls, mixed with wildcard receives. */
#include "messages.h"

enum { SMALL = 16 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int next = (world_rank + 1) % world_size;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[3 * SMALL];
        MPI_Status status, statuses[3 * SMALL];
        int outgoing[SMALL], words[SMALL], indices[3 * SMALL], index, flag, count;
        phase("round");
        for (int i = 0; i < SMALL; i++) {
            MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &requests[3 * i]);
            MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &requests[3 * i + 1]);
        }
        for (int i = 0; i < SMALL; i++) {
            if (i % 4 == 0)
                dawdle();
            fill(&outgoing[i], 1, i);
            /* Half of the messages go to the neighbour, half two ranks on: two senders race. */
            MPI_Isend(&outgoing[i], 1, MPI_INT, i % 2 ? next : (next + 1) % world_size, i,
                      MPI_COMM_WORLD, &requests[3 * i + 2]);
        }
        MPI_Wait(&requests[2], &status);
        observe("null", requests[2] == MPI_REQUEST_NULL);
        MPI_Test(&requests[5], &flag, MPI_STATUS_IGNORE);
        observe("flag", flag);
        MPI_Waitany(SMALL, requests + 2 * SMALL, &index, &status);
        observe("index", index);
        MPI_Waitsome(3 * SMALL, requests, &count, indices, statuses);
        observe("count", count);
        for (int i = 0; i < count; i++)
            observe("index", indices[i]);
        MPI_Testsome(3 * SMALL, requests, &count, indices, MPI_STATUSES_IGNORE);
        observe("count", count);
        for (int i = 0; i < count; i++)
            observe("index", indices[i]);
        MPI_Waitall(3 * SMALL, requests, MPI_STATUSES_IGNORE);
        observe_data("words", words, sizeof words);
    }
    end();
    return 0;
}
