/* Jacobi iteration on a square plate, one block per rank. The halo comes in through receives from
   any source with one tag per direction, as lazily written codes do: deterministic all the same.
   SIZE is the number of iterations. */
#include "bench.h"

enum { EDGE = 192, WIDTH = EDGE + 2, CHECK_EVERY = 64 };
enum { WEST, EAST, NORTH, SOUTH, DIRECTIONS };

static double plate[2][WIDTH][WIDTH];
static double outgoing[DIRECTIONS][EDGE], incoming[DIRECTIONS][EDGE];

static void find_neighbours(const struct bench *bench, int neighbours[DIRECTIONS]) {
    int dims[2] = {0, 0};
    MPI_Dims_create(bench->ranks, 2, dims);
    int row = bench->rank / dims[1], column = bench->rank % dims[1];
    neighbours[WEST] = column > 0 ? bench->rank - 1 : MPI_PROC_NULL;
    neighbours[EAST] = column < dims[1] - 1 ? bench->rank + 1 : MPI_PROC_NULL;
    neighbours[NORTH] = row > 0 ? bench->rank - dims[1] : MPI_PROC_NULL;
    neighbours[SOUTH] = row < dims[0] - 1 ? bench->rank + dims[1] : MPI_PROC_NULL;
}

static void exchange(struct bench *bench, const int neighbours[DIRECTIONS],
                     double now[WIDTH][WIDTH]) {
    static const int opposite[DIRECTIONS] = {EAST, WEST, SOUTH, NORTH};
    MPI_Request requests[2 * DIRECTIONS];
    int count = 0;
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (neighbours[direction] != MPI_PROC_NULL) {
            MPI_Irecv(incoming[direction], EDGE, MPI_DOUBLE, MPI_ANY_SOURCE, direction,
                      MPI_COMM_WORLD, &requests[count++]);
            bench->receives++;
        }
    for (int cell = 0; cell < EDGE; cell++) {
        outgoing[WEST][cell] = now[cell + 1][1];
        outgoing[EAST][cell] = now[cell + 1][EDGE];
        outgoing[NORTH][cell] = now[1][cell + 1];
        outgoing[SOUTH][cell] = now[EDGE][cell + 1];
    }
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (neighbours[direction] != MPI_PROC_NULL)
            MPI_Isend(outgoing[direction], EDGE, MPI_DOUBLE, neighbours[direction],
                      opposite[direction], MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int cell = 0; cell < EDGE; cell++) {
        if (neighbours[WEST] != MPI_PROC_NULL)
            now[cell + 1][0] = incoming[WEST][cell];
        if (neighbours[EAST] != MPI_PROC_NULL)
            now[cell + 1][EDGE + 1] = incoming[EAST][cell];
        if (neighbours[NORTH] != MPI_PROC_NULL)
            now[0][cell + 1] = incoming[NORTH][cell];
        if (neighbours[SOUTH] != MPI_PROC_NULL)
            now[EDGE + 1][cell + 1] = incoming[SOUTH][cell];
    }
}

static double relax(double now[WIDTH][WIDTH], double next[WIDTH][WIDTH]) {
    double largest = 0;
    for (int row = 1; row <= EDGE; row++)
        for (int column = 1; column <= EDGE; column++) {
            double value = 0.25 * (now[row - 1][column] + now[row + 1][column] +
                                   now[row][column - 1] + now[row][column + 1]);
            double change = fabs(value - now[row][column]);
            largest = change > largest ? change : largest;
            next[row][column] = value;
        }
    return largest;
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_start(&bench, "jacobi", &argc, &argv, 10000);
    int neighbours[DIRECTIONS];
    find_neighbours(&bench, neighbours);
    /* The plate's western edge is hot. */
    if (neighbours[WEST] == MPI_PROC_NULL)
        for (int row = 0; row < WIDTH; row++)
            plate[0][row][0] = plate[1][row][0] = 100.0;
    double residual = 0;
    for (long iteration = 0; iteration < bench.size_argument; iteration++) {
        double(*now)[WIDTH] = plate[iteration % 2], (*next)[WIDTH] = plate[1 - iteration % 2];
        exchange(&bench, neighbours, now);
        double change = relax(now, next);
        if (iteration % CHECK_EVERY == 0)
            MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    for (int row = 1; row <= EDGE; row++)
        for (int column = 1; column <= EDGE; column++)
            bench.tally += plate[bench.size_argument % 2][row][column];
    uint64_t bits;
    memcpy(&bits, &residual, sizeof bits);
    bench_mix(&bench, bits);
    bench_finish(&bench);
    return 0;
}
