/* The other ways to send and to receive, from several threads, on communicators of their own and on
   one that they share. */
#include "crew.h"

enum { EACH = 10, MEMBERS = 2 };

static MPI_Comm own[MEMBERS], shared;

/* A ring of all ranks, in which each thread exchanges with whoever answers first. */
static void exchange(int number) {
    int right = (world_rank + 1) % world_size;
    for (int i = 0; i < EACH; i++) {
        int out[2] = {world_rank, 100 * number + i}, in[2];
        MPI_Status status;
        dawdle();
        MPI_Sendrecv(out, 2, MPI_INT, right, 1, in, 2, MPI_INT, MPI_ANY_SOURCE, 1, shared, &status);
        observe_message(&status, in);
        MPI_Sendrecv_replace(out, 2, MPI_INT, right, 2, MPI_ANY_SOURCE, 2, shared, &status);
        observe_message(&status, out);
    }
}

static void gather(int number) {
    MPI_Request request;
    int words[2];
    MPI_Recv_init(words, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own[number], &request);
    for (int i = 0; i < EACH * (world_size - 1); i++) {
        MPI_Status status;
        int flag = i % 2;
        long asked = 0;
        MPI_Start(&request);
        for (; !flag; asked++)
            MPI_Test(&request, &flag, &status);
        if (i % 2)
            MPI_Wait(&request, &status);
        observe("asked", asked);
        observe_message(&status, words);
    }
    MPI_Request_free(&request);
}

/* Both threads send to both communicators of rank 0. */
static void scatter(int number) {
    MPI_Request requests[2];
    for (int i = 0; i < EACH; i++) {
        int words[2] = {number, i};
        int to = (number + i) % MEMBERS;
        dawdle();
        if (i % 3 == 0) {
            MPI_Bsend(words, 2, MPI_INT, 0, number, own[to]);
        } else if (i % 3 == 1) {
            MPI_Send_init(words, 2, MPI_INT, 0, number, own[to], &requests[0]);
            MPI_Startall(1, requests);
            MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
            MPI_Request_free(&requests[0]);
        } else {
            MPI_Issend(words, 2, MPI_INT, 0, number, own[to], &requests[0]);
            MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
        }
    }
}

/* Only the handler of the communicator hears of a message that is too long: the world would end. */
static void too_long(void) {
    MPI_Comm_set_errhandler(shared, MPI_ERRORS_RETURN);
    for (int i = 1; i < world_size; i++) {
        int words[2] = {0};
        if (world_rank == 0)
            observe("class", error_class(MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 3, shared,
                                                  MPI_STATUS_IGNORE)));
        else if (world_rank == i)
            MPI_Send(words, 2, MPI_INT, 0, 3, shared);
    }
}

static void work(int number) {
    exchange(number);
    if (world_rank == 0)
        gather(number);
    else
        scatter(number);
}

int main(int argc, char **argv) {
    static char room[1 << 16];
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < MEMBERS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    too_long();
    phase("calls");
    run_crew(MEMBERS, work);
    for (int i = 0; i < MEMBERS; i++)
        MPI_Comm_free(&own[i]);
    MPI_Comm_free(&shared);
    void *was;
    int size;
    MPI_Buffer_detach(&was, &size);
    end();
    return 0;
}
