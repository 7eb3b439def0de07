/* Eight bytes to and fro between pairs of ranks, received from any source: nothing but messages,
   the worst case for anything that works per message.
   SIZE is the number of round trips. */
#include "bench.h"

int main(int argc, char **argv) {
    struct bench bench;
    bench_start(&bench, "pingpong", &argc, &argv, 1000000);
    int partner = bench.rank ^ 1;
    if (partner < bench.ranks) {
        uint64_t ball = (uint64_t)bench.rank;
        for (long trip = 0; trip < bench.size_argument; trip++) {
            MPI_Status status;
            if (bench.rank % 2 == 0)
                MPI_Send(&ball, 1, MPI_UINT64_T, partner, 0, MPI_COMM_WORLD);
            MPI_Recv(&ball, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            ball = ball * 3 + (uint64_t)status.MPI_SOURCE;
            if (bench.rank % 2 == 1)
                MPI_Send(&ball, 1, MPI_UINT64_T, partner, 0, MPI_COMM_WORLD);
            bench.receives++;
        }
        bench_mix(&bench, ball);
    }
    bench_finish(&bench);
    return 0;
}
