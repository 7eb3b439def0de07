/* Polling probes: how often they failed counts, as does what they saw in the end. */
#include "messages.h"

static void poll_all(int source, int tag, int ignore) {
    int words[4], all = source == MPI_ANY_SOURCE ? (world_size - 1) * ROUNDS : ROUNDS;
    for (int i = 0; i < all; i++) {
        MPI_Status seen, status;
        int flag = 0;
        long failed = 0;
        while (MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, ignore ? MPI_STATUS_IGNORE : &seen),
               !flag)
            failed++;
        observe("failed", failed);
        if (ignore) {
            MPI_Recv(words, 4, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
        } else {
            observe("seen", seen.MPI_SOURCE);
            MPI_Recv(words, 4, MPI_INT, seen.MPI_SOURCE, seen.MPI_TAG, MPI_COMM_WORLD, &status);
        }
        observe_message(&status, words);
        MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        observe("nobody", flag && status.MPI_SOURCE == MPI_PROC_NULL);
    }
}

/* A look that leaves it at that: the count of hits is all that is seen of it. */
static void glance(void) {
    int hits = 0, words[4];
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        hits += flag;
        MPI_Recv(words, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        observe("word", words[0]);
        observe("hits", hits);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("seen, then received");
    if (world_rank == 0)
        poll_all(MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 2, 3);
    phase("no status");
    if (world_rank == 0)
        poll_all(MPI_ANY_SOURCE, 0, 1);
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 2, 1);
    phase("fixed source");
    if (world_rank == 0)
        for (int source = 1; source < world_size; source++)
            poll_all(source, MPI_ANY_TAG, 0);
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 2, 2);
    phase("glance");
    if (world_rank == 0)
        glance();
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 2, 2);
    end();
    return 0;
}
