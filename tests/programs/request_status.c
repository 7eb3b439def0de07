/* A look at a request that does not complete it, in a loop; what it received is there already. Then
   the real completion. */
#include "messages.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("look");
    if (world_rank == 0) {
        MPI_Request null = MPI_REQUEST_NULL, idle;
        MPI_Status status;
        int word, flag = 0;
        MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &idle);
        for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
            MPI_Request request;
            long failed = 0;
            flag = 0;
            MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            while (MPI_Request_get_status(request, &flag, i % 2 ? MPI_STATUS_IGNORE : &status),
                   !flag)
                failed++;
            observe("failed", failed);
            observe("word", word);
            if (i % 2 == 0)
                observe("source", status.MPI_SOURCE);
            observe("still there", request != MPI_REQUEST_NULL);
            MPI_Request_get_status(request, &flag, &status);
            observe("again", flag);
            if (i % 3)
                MPI_Wait(&request, &status);
            else
                MPI_Test(&request, &flag, &status);
            observe_message(&status, &word);
            MPI_Request_get_status(null, &flag, &status);
            observe("null", flag);
            MPI_Request_get_status(idle, &flag, MPI_STATUS_IGNORE);
            observe("idle", flag);
        }
        MPI_Request_free(&idle);
    } else {
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    }
    end();
    return 0;
}
