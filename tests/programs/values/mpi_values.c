/* Ranks that look at clocks, and send what they saw to whoever comes first. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    /* Before MPI is there, as many programs do. */
    srand((unsigned)time(NULL) ^ (unsigned)getpid());
    int early = rand();
    MPI_Init(&argc, &argv);
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = MPI_Wtime();
    long rounds = 0;
    while (MPI_Wtime() - begin < 0.001)
        rounds++;
    uint64_t number = 0;
    struct timespec now;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        MPI_Abort(MPI_COMM_WORLD, 1);
    clock_gettime(CLOCK_REALTIME, &now);
    printf("rank %d: early %d, began %.9f, %ld rounds, %016llx, %ld.%09ld, process %d\n", rank,
           early, begin, rounds, (unsigned long long)number, (long)now.tv_sec, now.tv_nsec,
           (int)getpid());
    /* Which rank is next is up to random numbers, which message up to the time. */
    unsigned long long trail = 1;
    for (int i = 0; i < 20; i++) {
        uint32_t mine[2];
        if (getrandom(mine, sizeof mine, 0) != sizeof mine)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Request request;
        MPI_Isend(mine, 2, MPI_UINT32_T, (rank + 1 + i % (size > 1 ? size - 1 : 1)) % size, 7,
                  MPI_COMM_WORLD, &request);
        uint32_t other[2];
        MPI_Status status;
        MPI_Recv(other, 2, MPI_UINT32_T, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        clock_gettime(CLOCK_MONOTONIC, &now);
        trail = trail * 31 + other[0] + (unsigned long long)status.MPI_SOURCE +
                (unsigned long long)now.tv_nsec;
    }
    printf("rank %d: trail %016llx, %.9f seconds\n", rank, trail, MPI_Wtime() - begin);
    MPI_Finalize();
    /* And after it. */
    printf("rank %d: ended at %ld, %ld\n", rank, (long)time(NULL), (long)clock());
    return 0;
}
