/* Wildcard receives that are freed while they are active: what they took shows in the buffers only.
 */
#include "messages.h"

enum { MOST = 64 };

static int words[MOST];

/* Each sender's last message comes after all its others, which have arrived by then. */
static void wait_for_senders(void) {
    int last;
    for (int i = 1; i < world_size; i++)
        MPI_Recv(&last, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    observe_data("words", words, sizeof words);
}

static void send_all(void) {
    send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 1);
    MPI_Send(&world_rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
}

static void all_freed(int count) {
    for (int i = 0; i < count; i++) {
        MPI_Request request;
        MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        observe("gone", request == MPI_REQUEST_NULL);
    }
}

/* Freed ones between others that are completed. */
static void every_other_freed(int count) {
    for (int i = 0; i + 1 < count; i += 2) {
        MPI_Request requests[2];
        MPI_Status status;
        for (int j = 0; j < 2; j++)
            MPI_Irecv(&words[i + j], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[j]);
        MPI_Request_free(&requests[i % 4 == 0]);
        MPI_Wait(&requests[i % 4 != 0], &status);
        observe_message(&status, &words[i + (i % 4 != 0)]);
    }
}

static void persistent(int count) {
    MPI_Request requests[MOST];
    for (int i = 0; i < count; i++)
        MPI_Recv_init(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Startall(count - 2, requests);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Start(&requests[0]);
    MPI_Start(&requests[count - 2]);
    for (int i = 0; i < count; i++)
        MPI_Request_free(&requests[i]);
    observe("gone", requests[0] == MPI_REQUEST_NULL);
    /* After many that went well, one that is refused. */
    observe("refused", error_class(MPI_Request_free(&requests[0])));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int messages = (world_size - 1) * ROUNDS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    static void (*const phases[])(int) = {all_freed, every_other_freed, persistent};
    for (int i = 0; i < 3; i++) {
        phase("freed");
        if (world_rank == 0) {
            phases[i](messages);
            wait_for_senders();
        } else {
            send_all();
        }
    }
    /* More receives than messages: some are left over at the end. */
    phase("left over");
    if (world_rank == 0) {
        all_freed(messages + 5);
        wait_for_senders();
    } else {
        send_all();
    }
    end();
    return 0;
}
