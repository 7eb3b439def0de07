/* Rank 1 ends badly after N wildcard receives: crash HOW [N].
   segfault, overflow (of the stack), abort, assert, mpi_abort, exit (without MPI_Finalize), or
   order: only if the last message came from the highest rank. */
#include "messages.h"

#include <assert.h>
#include <signal.h>

static int dig(volatile char *above) {
    volatile char here[4096] = {*above};
    return *above ? dig(here) + here[17] : 0; /* it is never 0 */
}

static void end_badly(const char *how) {
    /* Launchers may drop the output that they have not read when the job ends. */
    observe_close();
    usleep(20000);
    if (strcmp(how, "segfault") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "overflow") == 0)
        exit(dig((char[]){1}));
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "assert") == 0)
        assert(!"the end");
    if (strcmp(how, "mpi_abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "exit") == 0)
        exit(3);
    fprintf(stderr, "crash: unknown way to end: %s\n", how);
    exit(2);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "segfault";
    int limit = argc > 2 ? atoi(argv[2]) : 10;
    int in_order = strcmp(how, "order") == 0;
    int others = world_size - 1, source = -1;
    /* If nobody ends the other ranks, they end themselves. */
    alarm(60);
    phase("start");
    if (world_rank == 1) {
        for (int i = 0; i < others * ROUNDS; i++) {
            MPI_Status status;
            int word;
            if (i == limit && !in_order)
                end_badly(how);
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            observe_message(&status, &word);
            source = status.MPI_SOURCE;
        }
        if (!in_order || source == others)
            end_badly(in_order ? "segfault" : how);
        observe_close();
    } else {
        send_stream(MPI_COMM_WORLD, 1, ROUNDS, 1, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
