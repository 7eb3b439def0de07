/* Two threads of every rank send, two receive; one of rank 1 crashes when it has seen enough. With
   the argument "kill" it kills the process. With "late" it rests before, while another one waits
   for what never comes. */
#include "crew.h"

#include <signal.h>
#include <stdbool.h>

enum { EACH = 30, ENOUGH = 15, PAIRS = 2 };

static int ending = SIGSEGV;
static bool late;
static unsigned rest = 20000; /* launchers may drop the output that they have not read */

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
            usleep(rest);
            raise(ending);
        }
    }
    if (late && world_rank == 1)
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, PAIRS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void work(int number) {
    if (number < PAIRS)
        send(number);
    else
        receive(number - PAIRS);
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (argc > 1 && strcmp(argv[1], "kill") == 0)
        ending = SIGKILL;
    late = argc > 1 && strcmp(argv[1], "late") == 0;
    if (late)
        rest = 900000;
    alarm(60); /* if nobody ends the other ranks, they end themselves */
    phase("crash");
    run_crew(2 * PAIRS, work);
    end();
    return 0;
}
