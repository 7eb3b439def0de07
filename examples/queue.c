/* A work queue with a bug that shows only in some orders of messages; docs/debugging.md finds it.

   A task is a range of numbers. Whoever has a long one keeps the first half and sends the second to
   another rank, until the pieces are short; then it does the work. Rank 0 counts what was done and
   says stop. Who gets which piece is always the same; when it comes is not.

   queue [UNITS]: length of the whole range, 4096 unless told otherwise. */
#include <assert.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASK, DONE, STOP };
enum { GRAIN = 16, ROOM = 8 };

struct task {
    int begin, end;
};

struct worker {
    int rank, ranks, total;
    int waiting;
    struct task queue[ROOM]; /* more cannot wait: the others have to work, too */
    long finished;
    double sum;
};

static void put(struct worker *mine, struct task task) {
    mine->queue[mine->waiting++] = task;
}

static struct task take(struct worker *mine) {
    return mine->queue[--mine->waiting];
}

/* Rank 0 does no work. */
static int somebody(const struct worker *mine, struct task task) {
    return 1 + (int)((unsigned)task.begin * 2654435761u >> 8) % (mine->ranks - 1);
}

static double compute(struct task task) {
    double sum = 0;
    for (int i = task.begin; i < task.end; i++)
        for (int k = 1; k < 200; k++)
            sum += sin(i * 1e-3) / k;
    return sum;
}

static void work(struct worker *mine, struct task task) {
    while (task.end - task.begin > GRAIN) {
        int middle = (task.begin + task.end) / 2;
        struct task half = {middle, task.end};
        MPI_Send(&half, 2, MPI_INT, somebody(mine, half), TASK, MPI_COMM_WORLD);
        task.end = middle;
    }
    mine->sum += compute(task);
    mine->finished += task.end - task.begin;
    assert(mine->finished <= mine->total);
    MPI_Send(&task, 2, MPI_INT, 0, DONE, MPI_COMM_WORLD);
}

/* Messages first, so that others do not wait; work when there are none. */
static void serve(struct worker *mine) {
    for (;;) {
        int there = 1;
        if (mine->waiting > 0)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (!there) {
            work(mine, take(mine));
            continue;
        }
        struct task task;
        MPI_Status status;
        MPI_Recv(&task, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            return;
        put(mine, task);
    }
}

static void lead(const struct worker *mine) {
    struct task task = {0, mine->total};
    MPI_Send(&task, 2, MPI_INT, somebody(mine, task), TASK, MPI_COMM_WORLD);
    for (int finished = 0; finished < mine->total; finished += task.end - task.begin)
        MPI_Recv(&task, 2, MPI_INT, MPI_ANY_SOURCE, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int rank = 1; rank < mine->ranks; rank++)
        MPI_Send(&task, 2, MPI_INT, rank, STOP, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    struct worker mine = {.total = argc > 1 ? atoi(argv[1]) : 4096};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &mine.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mine.ranks);
    if (mine.rank == 0)
        lead(&mine);
    else
        serve(&mine);
    double sum = 0;
    MPI_Reduce(&mine.sum, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (mine.rank == 0)
        printf("the sum is %.6f\n", sum);
    MPI_Finalize();
    return 0;
}
