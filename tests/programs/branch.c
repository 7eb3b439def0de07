/* The same program, a little different: the argument or PROGRAM_BRANCH says how.
   more      rank 1 sends one message more, rank 0 receives it
   less      rank 1 sends one message less
   tag       rank 1 sends with another tag
   count     rank 0 waits for an array that has one entry more
   function  rank 0 probes before it receives
   receive   rank 0 posts one more wildcard receive, before all others
   endless   rank 0 waits for a message that nobody sends */
#include "messages.h"

static int is(const char *branch, const char *name) {
    return branch && strcmp(branch, name) == 0;
}

static void receive_all(const char *branch) {
    enum { MOST = 64 };
    MPI_Request requests[MOST], extra = MPI_REQUEST_NULL;
    MPI_Status status;
    int words[MOST], others = world_size - 1, word, spare = 0;
    int singles = others * (ROUNDS - 1) + is(branch, "more") - is(branch, "less");
    if (is(branch, "receive"))
        MPI_Irecv(&spare, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &extra);

    for (int i = 0; i < others; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    requests[others] = MPI_REQUEST_NULL;
    for (int i = 0; i < others; i++) {
        int index;
        MPI_Waitany(others + is(branch, "count"), requests, &index, &status);
        observe("index", index);
        observe_message(&status, &words[index]);
    }
    for (int i = 0; i < singles; i++) {
        if (is(branch, "receive") && i == singles - 1)
            MPI_Send(&world_size, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (is(branch, "function"))
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe_message(&status, &word);
    }
    MPI_Wait(&extra, MPI_STATUS_IGNORE);
    if (is(branch, "endless"))
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &status);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const char *branch = argc > 1 ? argv[1] : getenv("PROGRAM_BRANCH");
    /* Even the endless branch ends, should nobody notice. */
    if (is(branch, "endless"))
        alarm(60);
    phase("start");
    if (world_rank == 0) {
        receive_all(branch);
    } else {
        int mine = world_rank == 1;
        for (int i = 0; i < ROUNDS + mine * (is(branch, "more") - is(branch, "less")); i++) {
            int word;
            dawdle();
            fill(&word, 1, i);
            MPI_Send(&word, 1, MPI_INT, 0, mine && is(branch, "tag") ? 7 : i % 3, MPI_COMM_WORLD);
        }
    }
    end();
    return 0;
}
