/* Test-any: not yet, this one, or nothing active. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static int words[MOST];

static void complete_all(int count, int ignore) {
    long failed = 0;
    for (;;) {
        MPI_Status status;
        int index, flag;
        MPI_Testany(count, requests, &index, &flag, ignore ? MPI_STATUS_IGNORE : &status);
        if (!flag) {
            failed++;
            continue;
        }
        observe("failed", failed);
        failed = 0;
        if (index == MPI_UNDEFINED)
            return;
        observe("index", index);
        if (ignore)
            observe("word", words[index]);
        else
            observe_message(&status, &words[index]);
    }
}

int main(int argc, char **argv) {
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
    int index = 0, flag = 0;
    MPI_Testany(0, requests, &index, &flag, MPI_STATUS_IGNORE);
    observe("none given", flag && index == MPI_UNDEFINED);
    end();
    return 0;
}
