/* Test-all over sends and receives: it fails until everything is there, and then completes all. */
#include "messages.h"

enum { MOST = 1024 };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST];
static int large[16][MOST_WORDS / 4];

static void poll_until_done(int count, int ignore) {
    int done = 0;
    long failed = 0;
    while (MPI_Testall(count, requests, &done, ignore ? MPI_STATUSES_IGNORE : statuses), !done)
        failed++;
    observe("failed", failed);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int way = 0; way < 2; way++) {
        phase("receives");
        if (world_rank == 0) {
            int count = (world_size - 1) * ROUNDS;
            for (int i = 0; i < count; i++)
                MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                          &requests[i]);
            poll_until_done(count, way);
            for (int i = 0; i < count; i++) {
                observe("word", words[i]);
                if (!way)
                    observe("source", statuses[i].MPI_SOURCE);
            }
        } else {
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
        }
    }

    /* Everyone sends a large message to everyone, and takes what comes. */
    phase("both");
    static int outgoing[MOST_WORDS / 4];
    int count = 0;
    fill(outgoing, MOST_WORDS / 4, 1);
    requests[count++] = MPI_REQUEST_NULL;
    for (int i = 1; i < world_size; i++)
        MPI_Irecv(large[i], MOST_WORDS / 4, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                  &requests[count++]);
    for (int i = 1; i < world_size; i++) {
        dawdle();
        MPI_Isend(outgoing, MOST_WORDS / 4, MPI_INT, (world_rank + i) % world_size, 0,
                  MPI_COMM_WORLD, &requests[count++]);
    }
    poll_until_done(count, 0);
    for (int i = 1; i < world_size; i++) {
        observe("source", statuses[i].MPI_SOURCE);
        observe_data("data", large[i], sizeof large[i]);
    }
    int done = 0;
    MPI_Testall(count, requests, &done, statuses);
    observe("all null", done);
    end();
    return 0;
}
