/* Wildcards on several communicators at once: duplicates, a split with the ranks reversed, and
   communicators that are freed and made again, also while receives are pending. */
#include "messages.h"

static void two_duplicates(void) {
    MPI_Comm first, second, reversed;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(first, &second);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    if (world_rank == 0) {
        const MPI_Comm turns[] = {first, second, reversed, MPI_COMM_WORLD};
        for (int i = 0; i < 4 * (world_size - 1) * ROUNDS; i++) {
            MPI_Status status;
            int word;
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, turns[i % 4], &status);
            observe_message(&status, &word);
        }
    } else {
        for (int i = 0; i < ROUNDS; i++) {
            send_stream(first, 0, 1, 1, 1);
            send_stream(second, 0, 1, 1, 1);
            send_stream(reversed, world_size - 1, 1, 1, 1);
            send_stream(MPI_COMM_WORLD, 0, 1, 1, 1);
        }
    }
    MPI_Comm_free(&first);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&second);
}

/* The library may give the next communicator the handle of the last one. */
static void recycled(void) {
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm again, unused;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2 ? MPI_UNDEFINED : 1, 0, &unused);
        MPI_Comm_dup(MPI_COMM_WORLD, &again);
        if (world_rank == 0) {
            MPI_Request requests[64];
            int words[64];
            for (int k = 1; k < world_size; k++)
                MPI_Irecv(&words[k], 1, MPI_INT, MPI_ANY_SOURCE, 0, again, &requests[k]);
            MPI_Comm_free(&again);
            MPI_Waitall(world_size - 1, requests + 1, MPI_STATUSES_IGNORE);
            for (int k = 1; k < world_size; k++)
                observe("word", words[k]);
        } else {
            send_stream(again, 0, 1, 1, 1);
            MPI_Comm_free(&again);
        }
        if (unused != MPI_COMM_NULL)
            MPI_Comm_free(&unused);
    }
}

/* On two of them something is made or refused, but nothing received before the third is used. */
static void prepared(void) {
    MPI_Comm idle, refusing, used;
    MPI_Comm_dup(MPI_COMM_WORLD, &idle);
    MPI_Comm_dup(MPI_COMM_WORLD, &refusing);
    MPI_Comm_dup(MPI_COMM_WORLD, &used);
    MPI_Comm_set_errhandler(refusing, MPI_ERRORS_RETURN);
    if (world_rank == 0) {
        MPI_Request request;
        MPI_Status status;
        int word;
        MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, idle, &request);
        observe("refused", error_class(MPI_Recv(&word, -1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                                refusing, &status)));
        for (int i = 1; i < world_size; i++) {
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, used, &status);
            observe_message(&status, &word);
            MPI_Start(&request);
            MPI_Wait(&request, &status);
            observe_message(&status, &word);
        }
        MPI_Request_free(&request);
    } else {
        send_stream(used, 0, 1, 1, 1);
        send_stream(idle, 0, 1, 1, 1);
    }
    MPI_Comm_free(&idle);
    MPI_Comm_free(&refusing);
    MPI_Comm_free(&used);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("duplicates");
    two_duplicates();
    phase("recycled");
    recycled();
    phase("prepared");
    prepared();
    end();
    return 0;
}
