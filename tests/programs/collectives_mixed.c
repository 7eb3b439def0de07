/* Collectives, a nonblocking duplicate, sends and wildcard receives in one array, completed by
   wait-any, test-some and the others. */
#include "messages.h"

enum { MOST = 256 };

static MPI_Request requests[MOST];
static int words[MOST], indices[MOST];

/* MPICH 4.0 reports a persistent collective again after it has completed; it is taken out of the
   array, as the handle is kept elsewhere. */
static void completed(int index) {
    observe("index", index);
    observe("word", words[index]);
    requests[index] = MPI_REQUEST_NULL;
}

static void by_waitany(int count) {
    for (;;) {
        int index;
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        if (index == MPI_UNDEFINED)
            break;
        completed(index);
    }
}

static void by_testsome(int count) {
    long failed = 0;
    for (;;) {
        int some;
        MPI_Testsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
        failed += some == 0;
        if (some == MPI_UNDEFINED)
            break;
        for (int i = 0; i < some; i++) {
            observe("failed", failed);
            completed(indices[i]);
        }
    }
}

static void by_testany(int count) {
    long failed = 0;
    for (;;) {
        int index, flag;
        MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
        failed += !flag;
        if (flag && index == MPI_UNDEFINED)
            break;
        if (flag) {
            observe("failed", failed);
            completed(index);
        }
    }
}

static void by_waitsome(int count) {
    for (;;) {
        int some;
        MPI_Waitsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
        if (some == MPI_UNDEFINED)
            break;
        observe("some", some);
        for (int i = 0; i < some; i++)
            completed(indices[i]);
    }
}

int main(int argc, char **argv) {
    static void (*const ways[])(int) = {by_waitany, by_testsome, by_testany, by_waitsome};
    MPI_Comm first, second;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
#if MPI_VERSION >= 4
    int total = 0;
    MPI_Request reduction;
    MPI_Allreduce_init(&world_rank, &total, 1, MPI_INT, MPI_SUM, first, MPI_INFO_NULL, &reduction);
#endif
    for (int i = 0; i < 2 * ROUNDS; i++) {
        MPI_Comm duplicate;
        int count = 0, sum = 0, outgoing[64];
        phase("round");
        for (int k = 1; k < world_size; k++, count++)
            MPI_Irecv(&words[count], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &requests[count]);
        dawdle();
        MPI_Iallreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, first, &requests[count++]);
#if MPI_VERSION >= 4
        MPI_Start(&reduction);
        requests[count++] = reduction;
#endif
        dawdle();
        MPI_Ibarrier(second, &requests[count++]);
        dawdle();
        MPI_Comm_idup(MPI_COMM_WORLD, &duplicate, &requests[count++]);
        for (int k = 1; k < world_size; k++) {
            dawdle();
            fill(&outgoing[k], 1, i);
            MPI_Isend(&outgoing[k], 1, MPI_INT, (world_rank + k) % world_size, k, MPI_COMM_WORLD,
                      &requests[count++]);
        }
        ways[i % 4](count);
        observe("sum", sum);
#if MPI_VERSION >= 4
        observe("total", total);
#endif
        MPI_Comm_free(&duplicate);
    }
#if MPI_VERSION >= 4
    MPI_Request_free(&reduction);
#endif
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    end();
    return 0;
}
