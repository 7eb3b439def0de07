/* Nonblocking collectives and a nonblocking duplicate, polled: the count of failures depends on the
   others. */
#include "messages.h"

static void spin(MPI_Request request) {
    int done = 0;
    long failed = 0;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
        failed++;
    observe("failed", failed);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        MPI_Comm duplicate;
        int sum = 0, word = i, flag = 0;
        long failed = 0;
        dawdle();
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        spin(request);
        dawdle();
        MPI_Iallreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        spin(request);
        observe("sum", sum);
        dawdle();
        MPI_Ibcast(&word, 1, MPI_INT, i % world_size, MPI_COMM_WORLD, &request);
        while (MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), !flag)
            failed++;
        observe("failed", failed);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        dawdle();
        MPI_Comm_idup(MPI_COMM_WORLD, &duplicate, &request);
        spin(request);
        /* The new communicator at once serves a wildcard receive. */
        if (world_rank == 0)
            for (int k = 1; k < world_size; k++) {
                MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, duplicate,
                         MPI_STATUS_IGNORE);
                observe("word", word);
            }
        else
            send_stream(duplicate, 0, 1, 1, 1);
        MPI_Comm_free(&duplicate);
    }
    end();
    return 0;
}
