/* Wait-any over fixed sources, over wildcards, over null requests, and over nothing. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static int words[MOST];

static void complete_all(int count, int ignore) {
    int left = count;
    while (left-- > 0) {
        MPI_Status status;
        int index;
        MPI_Waitany(count, requests, &index, ignore ? MPI_STATUS_IGNORE : &status);
        observe("index", index);
        if (ignore)
            observe("word", words[index]);
        else
            observe_message(&status, &words[index]);
    }
    int index = 0;
    MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
    observe("undefined", index == MPI_UNDEFINED);
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
    int index = 0;
    MPI_Waitany(0, requests, &index, MPI_STATUS_IGNORE);
    observe("none given", index == MPI_UNDEFINED);
    end();
    return 0;
}
