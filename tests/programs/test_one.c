/* Test in a loop, on wildcard receives, on inactive and null requests, and on large synchronous
   sends, whose end depends on the receiver. */
#include "messages.h"

static long spin(MPI_Request *request, MPI_Status *status) {
    int done = 0;
    long failed = 0;
    while (MPI_Test(request, &done, status), !done)
        failed++;
    return failed;
}

static void receive_all(void) {
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        MPI_Request request;
        MPI_Status status;
        int word;
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        observe("failed", spin(&request, i % 2 ? MPI_STATUS_IGNORE : &status));
        if (i % 2 == 0)
            observe_message(&status, &word);
        observe("word", word);
        observe("null", spin(&request, &status));
    }
}

static void send_large(void) {
    static int words[MOST_WORDS];
    for (int i = 1; i < world_size; i++) {
        MPI_Request request;
        fill(words, MOST_WORDS, i);
        MPI_Issend(words, MOST_WORDS, MPI_INT, i, 0, MPI_COMM_WORLD, &request);
        observe("failed", spin(&request, MPI_STATUS_IGNORE));
    }
}

static void receive_large(void) {
    static int words[MOST_WORDS];
    dawdle();
    MPI_Recv(words, MOST_WORDS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    observe_data("data", words, sizeof words);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("receives");
    if (world_rank == 0)
        receive_all();
    else
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    phase("sends");
    if (world_rank == 0)
        send_large();
    else
        receive_large();
    end();
    return 0;
}
