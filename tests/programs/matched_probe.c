/* Matched probes take the message out of the queue: blocking and polling, received at once or
   later, two held at a time, and the message from nobody. */
#include "messages.h"

static void blocking(int all) {
    int words[4];
    for (int i = 0; i < all; i++) {
        MPI_Message message;
        MPI_Status seen, status;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &seen);
        observe("seen", seen.MPI_SOURCE);
        MPI_Mrecv(words, 4, MPI_INT, &message, i % 2 ? MPI_STATUS_IGNORE : &status);
        observe("taken", message == MPI_MESSAGE_NULL);
        if (i % 2 == 0)
            observe_message(&status, words);
        observe("word", words[0]);
    }
}

static void polling(int all) {
    int words[4];
    for (int i = 0; i < all; i++) {
        MPI_Message message;
        MPI_Request request;
        MPI_Status status;
        int flag = 0;
        long failed = 0;
        while (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                           i % 2 ? MPI_STATUS_IGNORE : &status),
               !flag)
            failed++;
        observe("failed", failed);
        MPI_Imrecv(words, 4, MPI_INT, &message, &request);
        MPI_Wait(&request, &status);
        observe_message(&status, words);
    }
}

/* Two messages in hand, received in the other order, with a wildcard receive between. */
static void two_in_hand(int all) {
    int i = 0, words[4];
    for (; i + 3 <= all; i += 3) {
        MPI_Message first, second;
        MPI_Request request;
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE);
        MPI_Recv(words, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
        MPI_Mrecv(words, 4, MPI_INT, &second, &status);
        observe_message(&status, words);
        MPI_Imrecv(words, 4, MPI_INT, &first, &request);
        MPI_Wait(&request, &status);
        observe_message(&status, words);
    }
    blocking(all - i);
}

static void nobody(void) {
    MPI_Message message;
    MPI_Status status;
    int flag;
    MPI_Mprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    observe("no process", message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(NULL, 0, MPI_INT, &message, &status);
    observe("nobody", status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Improbe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    observe("no process", flag && message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    static void (*const ways[])(int) = {blocking, polling, two_in_hand};
    begin(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        phase("way");
        if (world_rank == 0)
            ways[i]((world_size - 1) * ROUNDS);
        else
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 2, 3);
    }
    nobody();
    end();
    return 0;
}
