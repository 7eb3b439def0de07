/* A master hands out tasks of uneven size and takes results from whoever is done first.
   SIZE is the number of tasks. */
#include "bench.h"

enum { TAG_TASK = 1, TAG_RESULT = 2, TAG_STOP = 3 };

struct result {
    int64_t task;
    double value;
};

/* Task sizes are spread exponentially around 80 microseconds, as in many a parameter study. */
static double perform(int64_t task) {
    uint64_t seed = (uint64_t)task;
    double spread = -log(1.0 - bench_uniform(&seed));
    return bench_work(seed, 500 + (long)(7500.0 * spread));
}

static void master(struct bench *bench) {
    int64_t next = 0;
    int working = 0;
    double sum = 0;
    for (int worker = 1; worker < bench->ranks; worker++) {
        if (next < bench->size_argument) {
            MPI_Send(&next, 1, MPI_INT64_T, worker, TAG_TASK, MPI_COMM_WORLD);
            next++;
            working++;
        } else {
            MPI_Send(&next, 1, MPI_INT64_T, worker, TAG_STOP, MPI_COMM_WORLD);
        }
    }
    while (working > 0) {
        struct result result;
        MPI_Status status;
        MPI_Recv(&result, sizeof result, MPI_BYTE, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD,
                 &status);
        bench->receives++;
        /* A running mean with forgetting: order matters far beyond rounding. */
        sum = 0.999 * sum + result.value;
        bench_mix(bench, (uint64_t)result.task << 16 | (uint64_t)status.MPI_SOURCE);
        int more = next < bench->size_argument;
        MPI_Send(&next, 1, MPI_INT64_T, status.MPI_SOURCE, more ? TAG_TASK : TAG_STOP,
                 MPI_COMM_WORLD);
        next += more;
        working -= !more;
    }
    bench->tally = sum;
}

static void worker(struct bench *bench) {
    for (;;) {
        int64_t task;
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_INT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        bench->receives++;
        if (status.MPI_TAG == TAG_STOP)
            return;
        struct result result = {task, perform(task)};
        bench->tally += result.value;
        bench_mix(bench, (uint64_t)task);
        MPI_Send(&result, sizeof result, MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_start(&bench, "masterworker", &argc, &argv, 30000);
    if (bench.rank == 0)
        master(&bench);
    else
        worker(&bench);
    bench_finish(&bench);
    return 0;
}
