/* OpenMP in the ranks of an MPI program: teams divide the work, and between them the first thread
   of each rank exchanges what they made of it, with receives from anybody. */
#include <mpi.h>

#include "team.h"

enum { RANKS_MOST = 64, EXCHANGES = 8 };

static struct trail trail;

/* What a rank has seen: of its threads, and of the messages. */
static uint64_t all;

static void compute(int round) {
    uint64_t together = 0;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 40; i++) {
            observe("chunk", i + round);
            work();
        }
#pragma omp single
        for (int i = 0; i < 12; i++) {
#pragma omp task firstprivate(i)
            {
                observe("task", i);
                work();
#pragma omp critical
                step(&trail, i);
            }
        }
#pragma omp critical
        {
            together = observe_mix(together, &observer.hash, sizeof observer.hash);
            step(&trail, round);
        }
    }
    all = observe_mix(all, &together, sizeof together);
    all = observe_mix(all, &trail.hash, sizeof trail.hash);
}

int main(int argc, char **argv) {
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_FUNNELED || size > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    team_open();
    for (int round = 0; round < EXCHANGES; round++) {
        compute(round);
        uint64_t mine = all;
        MPI_Request requests[RANKS_MOST];
        int count = 0;
        for (int i = 0; i < size; i++)
            if (i != rank)
                MPI_Isend(&mine, 1, MPI_UINT64_T, i, round, MPI_COMM_WORLD, &requests[count++]);
        for (int i = 0; i < size - 1; i++) {
            uint64_t theirs;
            MPI_Status status;
            MPI_Recv(&theirs, 1, MPI_UINT64_T, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &status);
            all = observe_mix(all, &theirs, sizeof theirs);
            all = observe_mix(all, &status.MPI_SOURCE, sizeof status.MPI_SOURCE);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    printf("rank %d: %016llx\n", rank, (unsigned long long)all);
    return 0;
}
