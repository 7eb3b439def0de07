/* Test-some: none yet, some, or nothing active; receives alone and between large sends. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST], indices[MOST];

static void complete_all(int total, int ignore) {
    long failed = 0;
    for (;;) {
        int count;
        MPI_Testsome(total, requests, &count, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
        if (count == 0) {
            failed++;
            continue;
        }
        observe("failed", failed);
        failed = 0;
        if (count == MPI_UNDEFINED)
            return;
        observe("count", count);
        for (int i = 0; i < count; i++) {
            observe("index", indices[i]);
            observe("word", words[indices[i]]);
        }
    }
}

int main(int argc, char **argv) {
    static int outgoing[MOST_WORDS];
    begin(&argc, &argv);
    for (int way = 0; way < 4; way++) {
        phase("way");
        if (world_rank == 0) {
            int count = 0;
            for (int i = 0; i < ROUNDS; i++)
                for (int source = 1; source < world_size; source++, count++)
                    MPI_Irecv(&words[count], 1, MPI_INT, way / 2 ? MPI_ANY_SOURCE : source,
                              MPI_ANY_TAG, MPI_COMM_WORLD, &requests[count]);
            complete_all(count, way % 2);
        } else {
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
        }
    }
    phase("mixed");
    if (world_rank == 0) {
        int count = 0;
        for (int i = 1; i < world_size; i++) {
            MPI_Isend(outgoing, MOST_WORDS, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[count++]);
            MPI_Irecv(&words[count], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                      &requests[count]);
            count++;
            requests[count++] = MPI_REQUEST_NULL;
        }
        complete_all(count, 0);
    } else {
        static int incoming[MOST_WORDS];
        dawdle();
        MPI_Recv(incoming, MOST_WORDS, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_stream(MPI_COMM_WORLD, 0, 1, 1, 1);
    }
    end();
    return 0;
}
