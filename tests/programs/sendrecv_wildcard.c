/* Send-receive whose receiving half is open: plain and in place, with and without a status, and
   with nobody on one side. */
#include "messages.h"

enum { WORDS = 4 };

/* The workers wait for all answers from the start, so the order of rank 0 can never block them. */
static void worker(void) {
    MPI_Request answers[ROUNDS];
    int words[ROUNDS][WORDS];
    for (int i = 0; i < ROUNDS; i++)
        MPI_Irecv(words[i], WORDS, MPI_INT, 0, 5, MPI_COMM_WORLD, &answers[i]);
    send_stream(MPI_COMM_WORLD, 0, ROUNDS, WORDS, 2);
    MPI_Waitall(ROUNDS, answers, MPI_STATUSES_IGNORE);
    observe_data("answers", words, sizeof words);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int all = (world_size - 1) * ROUNDS;
    int words[WORDS] = {0}, answer[WORDS] = {0};
    MPI_Status status;

    phase("two buffers");
    for (int i = 0; world_rank == 0 && i < all; i++) {
        MPI_Sendrecv(answer, WORDS, MPI_INT, 1 + i % (world_size - 1), 5, words, WORDS, MPI_INT,
                     MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     i % 2 ? MPI_STATUS_IGNORE : &status);
        if (i % 2 == 0)
            observe_message(&status, words);
        /* What rank 0 answers depends on what it has got. */
        memcpy(answer, words, sizeof answer);
    }
    if (world_rank > 0)
        worker();

    phase("in place");
    for (int i = 0; world_rank == 0 && i < all; i++) {
        MPI_Sendrecv_replace(words, WORDS, MPI_INT, 1 + i % (world_size - 1), 5, MPI_ANY_SOURCE,
                             MPI_ANY_TAG, MPI_COMM_WORLD, i % 2 ? MPI_STATUS_IGNORE : &status);
        observe_data("words", words, sizeof words);
    }
    if (world_rank > 0)
        worker();

    phase("nobody");
    for (int i = 0; world_rank == 0 && i < all; i++) {
        MPI_Sendrecv(answer, WORDS, MPI_INT, MPI_PROC_NULL, 5, words, WORDS, MPI_INT,
                     MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
        MPI_Sendrecv_replace(words, WORDS, MPI_INT, 1 + i % (world_size - 1), 5, MPI_PROC_NULL,
                             MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (world_rank > 0)
        worker();
    end();
    return 0;
}
