/* Two threads of each rank send to rank 0, which names the source and the tag: which thread was
   first is all that is not known. */
#include "crew.h"

enum { EACH = 25, MEMBERS = 2 };

static void send(int number) {
    for (int i = 0; i < EACH; i++) {
        int words[3] = {world_rank, number, i};
        dawdle();
        if (i % 4 == 0) {
            MPI_Request request;
            MPI_Isend(words, 3, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (i % 4 == 1) {
            MPI_Ssend(words, 3, MPI_INT, 0, 7, MPI_COMM_WORLD);
        } else {
            MPI_Send(words, 3, MPI_INT, 0, 7, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    phase("senders");
    if (world_rank != 0)
        run_crew(MEMBERS, send);
    else
        for (int i = 0; i < MEMBERS * EACH; i++)
            for (int source = 1; source < world_size; source++) {
                int words[3];
                MPI_Status status;
                MPI_Recv(words, 3, MPI_INT, source, 7, MPI_COMM_WORLD, &status);
                observe_message(&status, words);
            }
    end();
    return 0;
}
