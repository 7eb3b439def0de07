/* Two threads of every rank send, two receive; one of rank 1 crashes when it has seen enough, or,
   with the argument "kill", kills the process. */
#include "crew.h"

#include <signal.h>

enum { EACH = 30, ENOUGH = 15, PAIRS = 2 };

static int ending = SIGSEGV;

static void send(int pair) {
    for (int i = 0; i < EACH; i++)
        for (int step = 1; step < world_size; step++) {
            int words[3] = {world_rank, pair, i};
            dawdle();
            MPI_Send(words, 3, MPI_INT, (world_rank + step) % world_size, pair, MPI_COMM_WORLD);
        }
}

/* Each has messages of its own: what the other one was receiving at the crash does not matter. */
static void receive(int pair) {
    for (int i = 0; i < EACH * (world_size - 1); i++) {
        int words[3];
        MPI_Status status;
        MPI_Recv(words, 3, MPI_INT, MPI_ANY_SOURCE, pair, MPI_COMM_WORLD, &status);
        observe_message(&status, words);
        if (world_rank == 1 && pair == 1 && i == ENOUGH) {
            observe_close();
            usleep(20000); /* launchers may drop the output that they have not read */
            raise(ending);
        }
    }
}

static void work(int number) {
    if (number < PAIRS)
        send(number);
    else
        receive(number - PAIRS);
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (argc > 1)
        ending = SIGKILL;
    alarm(60); /* if nobody ends the other ranks, they end themselves */
    phase("crash");
    run_crew(2 * PAIRS, work);
    end();
    return 0;
}
