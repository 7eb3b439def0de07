/* Sends the address of something: of a function, of static memory or of the heap, as the argument
   says; or, without argument, pairs of numbers that are none. */
#include <mpi.h>

#include "observe.h"

static long table[4];

struct parcel {
    int number, other;
    const void *where;
};

static const void *address(const char *what) {
    if (strcmp(what, "function") == 0) {
        int (*function)(const char *, ...) = printf;
        const void *where;
        memcpy(&where, &function, sizeof where);
        return where;
    }
    return strcmp(what, "static") == 0 ? table : malloc(8);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    observe_open(rank);
    struct parcel parcel = {rank, 21845, argc > 1 ? address(argv[1]) : NULL};
    dawdle();
    if (rank)
        MPI_Send(&parcel, sizeof parcel, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < ranks; i++) {
        MPI_Status status;
        MPI_Recv(&parcel, sizeof parcel, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
        observe("from", status.MPI_SOURCE);
    }
    observe_close();
    MPI_Finalize();
    return 0;
}
