/* Two threads of one rank receive whatever comes, on one communicator. */
#include "crew.h"

enum { EACH = 30, MEMBERS = 2 };

static void receive(int number) {
    int words[4];
    MPI_Status status;
    for (int i = 0; i < EACH; i++) {
        memset(words, 0, sizeof words);
        if (i % 3 == number) {
            MPI_Request request;
            MPI_Irecv(words, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            dawdle();
            MPI_Wait(&request, &status);
        } else {
            MPI_Recv(words, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        }
        observe_message(&status, words);
    }
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    phase("receivers");
    if (world_rank == 0)
        run_crew(MEMBERS, receive);
    else
        for (int i = 0; i < MEMBERS * EACH; i++)
            if (i % (world_size - 1) == world_rank - 1) {
                int words[4] = {world_rank, i, i * i, -i};
                dawdle();
                MPI_Send(words, 1 + i % 4, MPI_INT, 0, i % 5, MPI_COMM_WORLD);
            }
    end();
    return 0;
}
