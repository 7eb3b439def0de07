/* In some orders only, a wildcard receive is too short for its message, which ends the program. */
#include "messages.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    alarm(60);
    phase("start");
    if (world_rank == 0) {
        int others = world_size - 1;
        for (int i = 0; i < others * ROUNDS; i++) {
            MPI_Status status;
            int words[4];
            MPI_Recv(words, i == 0 ? 1 : 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     &status);
            observe_message(&status, words);
        }
    } else {
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, world_rank == 1 ? 4 : 1, 3);
    }
    end();
    return 0;
}
