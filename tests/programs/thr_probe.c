/* Threads that look before they receive: for messages of their own, and for the same ones. */
#include "crew.h"

enum { EACH = 12, MEMBERS = 2 };

static void receive_found(const MPI_Status *found, int words) {
    int buffer[4] = {0};
    MPI_Status status;
    MPI_Recv(buffer, words, MPI_INT, found->MPI_SOURCE, found->MPI_TAG, MPI_COMM_WORLD, &status);
    observe_message(&status, buffer);
}

static void ask(int number) {
    for (int i = 0; i < EACH; i++) {
        MPI_Status status;
        int flag = 0, count;
        long asked = 0;
        while (!flag) {
            MPI_Iprobe(MPI_ANY_SOURCE, number, MPI_COMM_WORLD, &flag, &status);
            asked++;
        }
        observe("asked", asked);
        MPI_Get_count(&status, MPI_INT, &count);
        receive_found(&status, count);
    }
}

static void wait_for(int number) {
    for (int i = 0; i < EACH; i++) {
        MPI_Status status;
        int count;
        MPI_Probe(MPI_ANY_SOURCE, number, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        receive_found(&status, count);
    }
}

static void take(int number) {
    for (int i = 0; i < EACH; i++) {
        MPI_Message message;
        MPI_Status status;
        int flag = number, buffer[4] = {0};
        long asked = 0;
        if (number)
            MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
        while (!flag) {
            MPI_Improbe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &message, &status);
            asked++;
        }
        observe("asked", asked);
        MPI_Mrecv(buffer, 4, MPI_INT, &message, &status);
        observe_message(&status, buffer);
    }
}

/* Each of the others sends its share of messages, with the tags 0, 1, 0 ... or all with one. */
static void send(int tag) {
    for (int i = 0; i < MEMBERS * EACH; i++)
        if (i / MEMBERS % (world_size - 1) == world_rank - 1) {
            int words[4] = {world_rank, i, i * i, -i};
            dawdle();
            MPI_Send(words, 1 + i % 4, MPI_INT, 0, tag < 0 ? i % MEMBERS : tag, MPI_COMM_WORLD);
        }
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    static void (*const works[])(int) = {ask, wait_for, take};
    for (int i = 0; i < 3; i++) {
        phase("probe");
        if (world_rank == 0)
            run_crew(MEMBERS, works[i]);
        else
            send(i == 2 ? 9 : -1);
    }
    end();
    return 0;
}
