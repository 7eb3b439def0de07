/* Every rank has two threads that send to all others and two that receive from anybody. */
#include "crew.h"

enum { EACH = 12, SENDERS = 2, RECEIVERS = 2 };

static int changed; /* CHANGED=1: one thread sends something else once */

static void send(int number) {
    for (int i = 0; i < EACH; i++)
        for (int step = 1; step < world_size; step++) {
            int words[3] = {world_rank, number, i};
            if (changed && world_rank == 2 && number == 1 && i == EACH / 2)
                words[2]++;
            dawdle();
            MPI_Send(words, 3, MPI_INT, (world_rank + step) % world_size, number, MPI_COMM_WORLD);
        }
}

static void receive(void) {
    for (int i = 0; i < SENDERS * EACH * (world_size - 1) / RECEIVERS; i++) {
        int words[3];
        MPI_Status status;
        MPI_Recv(words, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
    }
}

static void work(int number) {
    if (number < SENDERS)
        send(number);
    else
        receive();
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    changed = getenv("CHANGED") != NULL;
    phase("both");
    run_crew(SENDERS + RECEIVERS, work);
    end();
    return 0;
}
