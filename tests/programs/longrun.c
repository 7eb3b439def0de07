/* Events as fast as they come, for measuring: longrun N. Every rank talks to itself; runs of failed
   probes and tests between messages whose tags no one can guess. */
#include "messages.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long limit = argc > 1 ? atol(argv[1]) : 10000, events = 0;
    uint64_t random = 88172645463325252u + (uint64_t)world_rank, hash = 0;
    MPI_Status status;
    MPI_Request request;
    int flag, word;
    while (events < limit) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int draw = (int)(random >> 40), tag = draw >> 4 & 0x3ff;
        switch (draw & 3) {
        case 0:
            for (int i = draw >> 4 & 7; i >= 0; i--, events++)
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &status);
            continue;
        case 1:
            MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &request);
            for (int i = draw >> 14 & 3; i >= 0; i--, events++)
                MPI_Test(&request, &flag, &status);
            MPI_Send(&draw, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
            MPI_Wait(&request, &status);
            break;
        case 2:
            MPI_Isend(&draw, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        default:
            MPI_Isend(&draw, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status);
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, status.MPI_TAG, MPI_COMM_SELF, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            events++;
        }
        events++;
        hash = (hash ^ (uint64_t)word ^ (uint64_t)status.MPI_TAG << 32) * UINT64_C(1099511628211);
    }
    observe("hash", (long)hash);
    end();
    return 0;
}
