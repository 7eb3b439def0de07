/* Wait and wait-all over everything at once: sends that share one handle, wildcard receives,
   collectives, idle and null requests, in every order. */
#include "messages.h"

enum { SENDS = 12, MOST = 512 };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST], outgoing[MOST];

/* Every rank sends to every other and receives from anyone; all of it is one array. */
static int post(MPI_Comm comm, int *total) {
    int count = 0, persistent;
    requests[count++] = MPI_REQUEST_NULL;
    MPI_Recv_init(&words[MOST - 1], 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &requests[count]);
    persistent = count++;
    MPI_Ibarrier(comm, &requests[count++]);
    for (int i = 0; i < SENDS / 2; i++)
        for (int k = 1; k < world_size; k++) {
            MPI_Irecv(&words[count], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                      &requests[count]);
            count++;
        }
    for (int i = 0; i < SENDS / 2; i++) {
        dawdle();
        for (int k = 1; k < world_size; k++) {
            fill(&outgoing[count], 1, i);
            MPI_Isend(&outgoing[count], 1, MPI_INT, (world_rank + k) % world_size, i % 3, comm,
                      &requests[count]);
            count++;
        }
    }
    MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[count++]);
    *total = count;
    return persistent;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int way = 0; way < 4; way++) {
        phase("way");
        int count;
        int persistent = post(MPI_COMM_WORLD, &count);
        MPI_Request kept = requests[persistent];
        switch (way) {
        case 0:
            MPI_Waitall(count, requests, statuses);
            break;
        case 1:
            MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
            break;
        case 2:
            for (int i = 0; i < count; i++)
                MPI_Wait(&requests[i], &statuses[i]);
            break;
        default:
            for (int i = count; i-- > 0;)
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        for (int i = 3; i < 3 + SENDS / 2 * (world_size - 1); i++) {
            observe("word", words[i]);
            if (way % 2 == 0) {
                observe("source", statuses[i].MPI_SOURCE);
                observe("tag", statuses[i].MPI_TAG);
            }
        }
        for (int i = 0; i < count; i++)
            if (i != persistent && requests[i] != MPI_REQUEST_NULL)
                observe("left over", i);
        observe("kept", requests[persistent] == kept);
        MPI_Request_free(&requests[persistent]);
    }
    end();
    return 0;
}
