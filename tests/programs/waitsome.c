/* Wait-some until nothing is left: how many at a time, which, in which order. Receives only, then
   receives between sends, a barrier and null requests. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST], indices[MOST];

static void complete_all(int total, int ignore) {
    for (;;) {
        int count;
        MPI_Waitsome(total, requests, &count, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
        if (count == MPI_UNDEFINED)
            return;
        observe("count", count);
        for (int i = 0; i < count; i++) {
            observe("index", indices[i]);
            observe("word", words[indices[i]]);
        }
    }
}

static int post_receives(int first, int any) {
    for (int i = 0; i < ROUNDS; i++)
        for (int source = 1; source < world_size; source++, first++)
            MPI_Irecv(&words[first], 1, MPI_INT, any ? MPI_ANY_SOURCE : source, MPI_ANY_TAG,
                      MPI_COMM_WORLD, &requests[first]);
    return first;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int way = 0; way < 4; way++) {
        phase("way");
        if (world_rank == 0)
            complete_all(post_receives(0, way / 2), way % 2);
        else
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    }
    phase("mixed");
    int total = 0;
    if (world_rank == 0) {
        requests[total++] = MPI_REQUEST_NULL;
        for (int i = 1; i < world_size; i++)
            MPI_Issend(&world_rank, 1, MPI_INT, i, 11, MPI_COMM_WORLD, &requests[total++]);
        total = post_receives(total, 1);
        requests[total++] = MPI_REQUEST_NULL;
    } else {
        dawdle();
        MPI_Irecv(&words[0], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[total++]);
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 2);
    }
    dawdle();
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[total++]);
    complete_all(total, 0);
    end();
    return 0;
}
