/* Sends structures with padding in fresh memory, after filling and freeing memory of the same size
   with something that PADDING decides: what is in the gaps is not the program's. With CHANGED it
   also sends another number. */
#include <mpi.h>

#include "observe.h"

struct item {
    char kind;
    double value;
};

enum { ITEMS = 4, ROUNDS = 20 };

static void send_items(int rank, int round) {
    const char *padding = getenv("PADDING");
    char *junk = malloc(ITEMS * sizeof(struct item));
    if (!junk)
        exit(1);
    memset(junk, padding ? *padding : 'x', ITEMS * sizeof(struct item));
    __asm__ volatile("" : : "r"(junk) : "memory"); /* or the compiler finds all this useless */
    free(junk);
    struct item *items = malloc(ITEMS * sizeof *items);
    if (!items)
        exit(1);
    for (int i = 0; i < ITEMS; i++) {
        items[i].kind = (char)i;
        items[i].value = rank * 1000 + round;
    }
    if (getenv("CHANGED") && rank == 2 && round == 7)
        items[1].value = 0.5;
    MPI_Send(items, ITEMS * sizeof *items, MPI_BYTE, 0, round, MPI_COMM_WORLD);
    free(items);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    observe_open(rank);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 1; rank == 0 && i < ranks; i++) {
            struct item items[ITEMS];
            MPI_Status status;
            MPI_Recv(items, sizeof items, MPI_BYTE, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &status);
            observe("from", status.MPI_SOURCE);
        }
        dawdle();
        if (rank)
            send_items(rank, round);
    }
    observe_close();
    MPI_Finalize();
    return 0;
}
