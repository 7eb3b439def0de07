/* Nonblocking wildcard receives, completed together, in reverse, one by one, without statuses; some
   from nobody; small and large. */
#include "messages.h"

enum { MOST = 64 * ROUNDS };

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int words[MOST];
static int large[16][MOST_WORDS];

static int post(int tag) {
    int count = 0;
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++, count++)
        MPI_Irecv(&words[count], 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[count]);
    return count;
}

static void together(void) {
    int count = post(MPI_ANY_TAG);
    MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++)
        observe_message(&statuses[i], &words[i]);
}

static void without_statuses(void) {
    int count = post(MPI_ANY_TAG);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        observe("word", words[i]);
}

static void reverse(void) {
    int count = post(MPI_ANY_TAG);
    while (count-- > 0) {
        MPI_Wait(&requests[count], count % 2 ? MPI_STATUS_IGNORE : &statuses[count]);
        if (count % 2 == 0)
            observe_message(&statuses[count], &words[count]);
        observe("word", words[count]);
    }
}

/* Null requests and receives from MPI_PROC_NULL between the others. */
static void with_nobody(void) {
    int all = (world_size - 1) * ROUNDS;
    MPI_Request mixed[3 * MOST];
    for (int i = 0; i < all; i++) {
        mixed[3 * i] = MPI_REQUEST_NULL;
        MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &mixed[3 * i + 1]);
        MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &mixed[3 * i + 2]);
    }
    MPI_Waitall(3 * all, mixed, MPI_STATUSES_IGNORE);
    for (int i = 0; i < all; i++)
        observe("word", words[i]);
}

static void rendezvous(void) {
    for (int i = 0; i < world_size - 1; i++)
        MPI_Irecv(large[i], MOST_WORDS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[i]);
    MPI_Waitall(world_size - 1, requests, statuses);
    for (int i = 0; i < world_size - 1; i++)
        observe_message(&statuses[i], large[i]);
}

int main(int argc, char **argv) {
    static void (*const ways[])(void) = {together, without_statuses, reverse, with_nobody,
                                         rendezvous};
    begin(&argc, &argv);
    for (int i = 0; i < 5; i++) {
        phase("way");
        if (world_rank == 0)
            ways[i]();
        else
            send_stream(MPI_COMM_WORLD, 0, i == 4 ? 1 : ROUNDS, i == 4 ? MOST_WORDS : 1,
                        i == 3 ? 1 : 3);
    }
    end();
    return 0;
}
