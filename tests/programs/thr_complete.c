/* Two threads, each of which has several requests, and asks for them in all ways. */
#include "crew.h"

enum { EACH = 6, REQUESTS = 4, MEMBERS = 2, WAYS = 6 };

static void complete(int way, int count, MPI_Request *requests, MPI_Status *statuses) {
    int done = 0, index, some, indices[REQUESTS], flag = 0;
    MPI_Status few[REQUESTS];
    long asked = 0;
    switch (way) {
    case 0:
        for (int i = 0; i < count; i++)
            for (flag = 0; !flag; asked++)
                MPI_Test(&requests[i], &flag, &statuses[i]);
        break;
    case 1:
        for (; !flag; asked++)
            MPI_Testall(count, requests, &flag, statuses);
        break;
    case 2:
    case 3:
        while (done < count) {
            MPI_Status status;
            if (way == 2)
                MPI_Waitany(count, requests, &index, &status);
            for (flag = way == 2; !flag; asked++)
                MPI_Testany(count, requests, &index, &flag, &status);
            observe("index", index);
            statuses[index] = status;
            done++;
        }
        break;
    default:
        while (done < count) {
            some = 0;
            if (way == 4)
                MPI_Waitsome(count, requests, &some, indices, few);
            for (; some == 0; asked++)
                MPI_Testsome(count, requests, &some, indices, few);
            for (int i = 0; i < some; i++) {
                observe("index", indices[i]);
                statuses[indices[i]] = few[i];
            }
            done += some;
        }
    }
    observe("asked", asked);
}

static void work(int number) {
    for (int i = 0; i < EACH * WAYS; i++) {
        int words[REQUESTS][2];
        MPI_Request requests[REQUESTS];
        MPI_Status statuses[REQUESTS];
        for (int j = 0; j < REQUESTS; j++)
            MPI_Irecv(words[j], 2, MPI_INT, j % 2 ? MPI_ANY_SOURCE : 1 + (i + j) % (world_size - 1),
                      j % 2 ? 5 : 10 + number, MPI_COMM_WORLD, &requests[j]);
        complete(i % WAYS, REQUESTS, requests, statuses);
        for (int j = 0; j < REQUESTS; j++)
            observe_message(&statuses[j], words[j]);
    }
}

/* What the threads of rank 0 ask for by name, and as much for anybody. */
static void send(void) {
    for (int i = 0; i < EACH * WAYS; i++)
        for (int number = 0; number < MEMBERS; number++)
            for (int j = 0; j < REQUESTS; j++) {
                int words[2] = {world_rank, i};
                if (1 + (i + j) % (world_size - 1) != world_rank)
                    continue;
                dawdle();
                MPI_Send(words, 2, MPI_INT, 0, j % 2 ? 5 : 10 + number, MPI_COMM_WORLD);
            }
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    phase("complete");
    if (world_rank == 0)
        run_crew(MEMBERS, work);
    else
        send();
    end();
    return 0;
}
