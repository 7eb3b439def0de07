/* Blocking probes, then a receive of what was seen or a second wildcard, which may get another
   message. */
#include "messages.h"

static void probe_all(int exact, int ignore) {
    int words[16];
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        MPI_Status seen, status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, ignore ? MPI_STATUS_IGNORE : &seen);
        if (!ignore) {
            int count;
            MPI_Get_count(&seen, MPI_INT, &count);
            observe("seen source", seen.MPI_SOURCE);
            observe("seen tag", seen.MPI_TAG);
            observe("seen count", count);
        }
        MPI_Recv(words, 16, MPI_INT, exact ? seen.MPI_SOURCE : MPI_ANY_SOURCE,
                 exact ? seen.MPI_TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
        MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe("nobody", status.MPI_SOURCE == MPI_PROC_NULL);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int way = 0; way < 3; way++) {
        phase("way");
        if (world_rank == 0)
            probe_all(way == 0, way == 2);
        else
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1 + world_rank % 4, 3);
    }
    end();
    return 0;
}
