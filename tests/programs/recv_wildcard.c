/* Blocking receives with wildcards: with and without a status, small and large, and from nobody. */
#include "messages.h"

static int words[MOST_WORDS];

static void receive_all(int length, int tag) {
    MPI_Status status;
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        MPI_Recv(words, length, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
    }
}

/* Every second receive is from MPI_PROC_NULL: no message, so nothing to match. */
static void receive_without_status(void) {
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        MPI_Status status;
        MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        observe("word", words[0]);
        MPI_Recv(words, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe("nobody", status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    }
}

/* The source is fixed, only the tag is open; the senders take turns as the first message says. */
static void receive_any_tag(void) {
    for (int i = 0; i < world_size - 1; i++) {
        MPI_Status status;
        MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
        int source = status.MPI_SOURCE;
        for (int k = 1; k < ROUNDS; k++) {
            MPI_Recv(words, 1, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            observe_message(&status, words);
        }
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("one tag");
    if (world_rank == 0)
        receive_all(1, 0);
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 1);
    phase("any tag");
    if (world_rank == 0)
        receive_all(1, MPI_ANY_TAG);
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    phase("no status");
    if (world_rank == 0)
        receive_without_status();
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    phase("any tag of one source");
    if (world_rank == 0)
        receive_any_tag();
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 4);
    phase("large");
    if (world_rank == 0)
        receive_all(MOST_WORDS, MPI_ANY_TAG);
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, MOST_WORDS, 2);
    end();
    return 0;
}
