/* Nonblocking send-receive of MPI 4, most with an open receiving half. */
#include "messages.h"

/* What is sent is received only after another request has been completed: until then the first one
   is not complete, whatever it has received. */
static void one_half(int testing) {
    static int outgoing[MOST_WORDS], words[MOST_WORDS];
    MPI_Request requests[2];
    int first, second, indices[2], flag = 0;
    MPI_Isendrecv(outgoing, MOST_WORDS, MPI_INT, 0, 7, &first, 1, MPI_INT, MPI_ANY_SOURCE, 0,
                  MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&second, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
    if (testing)
        while (MPI_Testany(2, requests, indices, &flag, MPI_STATUS_IGNORE), !flag)
            continue;
    else
        MPI_Waitsome(2, requests, &flag, indices, MPI_STATUSES_IGNORE);
    observe("index", indices[0]);
    observe("second", second);
    MPI_Recv(words, MOST_WORDS, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, indices, MPI_STATUS_IGNORE);
    observe("index", indices[0]);
    observe("first", first);
}

static void one_half_each(void) {
    for (int testing = 0; testing < 2; testing++) {
        phase("one half");
        if (world_rank == 0)
            one_half(testing);
        else if (world_rank == 1)
            send_stream(MPI_COMM_WORLD, 0, 2, 1, 2);
    }
}

/* What is received is there long before what is sent has gone. */
static void late_send(int source) {
    static int outgoing[MOST_WORDS], words[MOST_WORDS];
    MPI_Request request;
    int done = 0;
    long failed = 0;
    phase("late send");
    if (world_rank == 0) {
        MPI_Isendrecv(outgoing, MOST_WORDS, MPI_INT, 1, 8, words, MOST_WORDS, MPI_INT, source, 8,
                      MPI_COMM_WORLD, &request);
        while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
            failed++;
        observe("failed", failed);
        observe_data("words", words, sizeof words);
    } else if (world_rank == 1) {
        fill(outgoing, MOST_WORDS, source);
        MPI_Isend(outgoing, 100, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
        dawdle();
        MPI_Recv(words, MOST_WORDS, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int in_place = 0; in_place < 2; in_place++) {
        phase(in_place ? "in place" : "two buffers");
        if (world_rank == 0) {
            enum { MOST = 64 * ROUNDS };
            static MPI_Request requests[MOST];
            static int outgoing[MOST], words[MOST];
            int all = (world_size - 1) * ROUNDS;
            for (int i = 0; i < all; i++) {
                int worker = 1 + i % (world_size - 1);
                outgoing[i] = words[i] = i;
                if (in_place)
                    MPI_Isendrecv_replace(&words[i], 1, MPI_INT, worker, 5, MPI_ANY_SOURCE,
                                          MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
                else
                    MPI_Isendrecv(&outgoing[i], 1, MPI_INT, worker, 5, &words[i], 1, MPI_INT,
                                  MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
            }
            /* Half of them tested until complete, half waited for, without a status. */
            for (int i = 0; i < all; i++) {
                MPI_Status status;
                int done = 0;
                long failed = 0;
                if (i % 2) {
                    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
                } else {
                    while (MPI_Test(&requests[i], &done, &status), !done)
                        failed++;
                    observe("failed", failed);
                    observe("source", status.MPI_SOURCE);
                }
                observe("word", words[i]);
            }
        } else {
            MPI_Request answers[ROUNDS];
            int words[ROUNDS];
            for (int i = 0; i < ROUNDS; i++)
                MPI_Irecv(&words[i], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &answers[i]);
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 2);
            MPI_Waitall(ROUNDS, answers, MPI_STATUSES_IGNORE);
            observe_data("answers", words, sizeof words);
        }
    }
    one_half_each();
    late_send(MPI_ANY_SOURCE);
    late_send(1);
    end();
    return 0;
}
