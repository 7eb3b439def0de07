/* The usual task farm: the next task goes to whoever answers first. */
#include "messages.h"

enum { WORK, STOP, TASKS = 60 };

static void master(void) {
    int next = 0, busy = 0, result;
    MPI_Status status;
    for (int worker = 1; worker < world_size; worker++, next++, busy++)
        MPI_Send(&next, 1, MPI_INT, worker, WORK, MPI_COMM_WORLD);
    while (busy > 0) {
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        observe("worker", status.MPI_SOURCE);
        observe("result", result);
        int tag = next < TASKS ? WORK : STOP;
        MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD);
        next++;
        busy -= tag == STOP;
    }
}

static void worker(void) {
    for (;;) {
        int task, result;
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            break;
        observe("task", task);
        dawdle();
        result = task * task;
        MPI_Send(&result, 1, MPI_INT, 0, task, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("farm");
    if (world_rank == 0)
        master();
    else
        worker();
    end();
    return 0;
}
