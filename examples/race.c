/* The area under 4 / (1 + x^2) between 0 and 1, by throwing dice. The result is pi, more or less.

   Every worker sends the sums of its samples to rank 0, which adds them up as they come in:
   MPI_ANY_SOURCE takes whichever message is there first. Addition of floating-point numbers is not
   associative, so the last digits depend on who was faster, and no two runs need to agree.

   race [ROUNDS]: messages of each worker, 200 unless told otherwise. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 500 }; /* in one message */

/* Every worker throws the same dice in every run: what differs is not the random numbers. */
static double roll(uint64_t *dice) {
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(*dice >> 11) / 9007199254740992.0;
}

static float sample(uint64_t *dice) {
    float sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double x = roll(dice);
        sum += (float)(4 / (1 + x * x));
    }
    return sum;
}

static void work(int rank, int rounds) {
    uint64_t dice = (uint64_t)rank;
    for (int i = 0; i < rounds; i++) {
        float sum = sample(&dice);
        MPI_Send(&sum, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    }
}

static void collect(int workers, int rounds) {
    float total = 0;
    int last = 0;
    for (int i = 0; i < workers * rounds; i++) {
        float sum;
        MPI_Status status;
        MPI_Recv(&sum, 1, MPI_FLOAT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        total += sum;
        last = status.MPI_SOURCE;
    }
    double samples = (double)SAMPLES * workers * rounds;
    printf("pi is about %.7f, and rank %d was the last to say so\n", total / samples, last);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    if (rank == 0)
        collect(size - 1, rounds);
    else
        work(rank, rounds);
    MPI_Finalize();
    return 0;
}
