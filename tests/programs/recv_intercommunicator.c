/* Wildcards across an intercommunicator, where a source is a rank of the other group. */
#include "messages.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm half, across;
    int upper = world_rank >= world_size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : world_size / 2, 7, &across);
    int remote, local;
    MPI_Comm_remote_size(across, &remote);
    MPI_Comm_rank(half, &local);

    /* Each rank of one half sends to every rank of the other, without waiting for the answers. */
    enum { MOST = 64 };
    static MPI_Request sends[MOST * ROUNDS];
    static int outgoing[MOST * ROUNDS];
    phase("across");
    int count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        dawdle();
        for (int k = 0; k < remote; k++) {
            fill(&outgoing[count], 1, i);
            MPI_Isend(&outgoing[count], 1, MPI_INT, k, i % 2, across, &sends[count]);
            count++;
        }
    }
    for (int i = 0; i < remote * ROUNDS; i++) {
        MPI_Status status;
        int word;
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, across, &status);
        observe_message(&status, &word);
    }
    MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);

    phase("merged");
    MPI_Comm all;
    MPI_Intercomm_merge(across, upper, &all);
    if (world_rank == 0) {
        for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
            MPI_Status status;
            int word;
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, all, &status);
            observe_message(&status, &word);
        }
    } else {
        send_stream(all, 0, ROUNDS, 1, 2);
    }
    MPI_Comm_free(&all);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
    observe("local", local);
    end();
    return 0;
}
