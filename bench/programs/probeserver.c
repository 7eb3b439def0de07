/* A server that does not know how long the next request is: it probes, makes room, receives.
   While it has work of its own it looks in between with MPI_Iprobe, later it waits in MPI_Probe.
   Most requests are short; some are long enough that both MPIs send them by rendezvous.
   SIZE is the number of requests of each client. */
#include "bench.h"

enum { TAG_REQUEST = 10, REQUEST_KINDS = 3, TAG_REPLY = 20 };

enum { SHORT_NUMBERS = 16, LONG_NUMBERS = 24 * 1024 };

static void serve(struct bench *bench) {
    long expected = bench->size_argument * (bench->ranks - 1);
    long own_slices = expected; /* the server's own work, done while nobody asks */
    int capacity = SHORT_NUMBERS;
    double *numbers = malloc(sizeof *numbers * (size_t)capacity);
    while (bench->receives < expected) {
        MPI_Status status;
        if (own_slices > 0) {
            int found;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
            if (!found) {
                bench->tally += bench_work((uint64_t)own_slices, 2000);
                own_slices--;
                continue;
            }
        } else {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        }
        int count;
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        if (count > capacity) {
            capacity = count;
            numbers = realloc(numbers, sizeof *numbers * (size_t)capacity);
        }
        if (!numbers)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Recv(numbers, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        bench->receives++;
        double sum = 0;
        for (int number = 0; number < count; number++)
            sum += numbers[number];
        sum += bench_work((uint64_t)count, 1500);
        bench->tally = 0.9999 * bench->tally + sum;
        bench_mix(bench, (uint64_t)status.MPI_SOURCE << 32 | (uint64_t)status.MPI_TAG);
        double reply[2] = {sum, bench->tally};
        MPI_Send(reply, 2, MPI_DOUBLE, status.MPI_SOURCE, TAG_REPLY, MPI_COMM_WORLD);
    }
    /* What is left of the server's own work, so that all runs compute the same amount. */
    for (; own_slices > 0; own_slices--)
        bench->tally += bench_work((uint64_t)own_slices, 2000);
    free(numbers);
}

static void ask(struct bench *bench) {
    uint64_t random = (uint64_t)bench->rank;
    double *numbers = malloc(sizeof *numbers * LONG_NUMBERS);
    if (!numbers)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int number = 0; number < LONG_NUMBERS; number++)
        numbers[number] = bench_uniform(&random);
    for (long request = 0; request < bench->size_argument; request++) {
        uint64_t dice = bench_random(&random);
        int count = dice % 16 == 0 ? LONG_NUMBERS : 1 + (int)(dice >> 8 & 0xffff) % SHORT_NUMBERS;
        int tag = TAG_REQUEST + (int)(dice >> 40 & 0xffff) % REQUEST_KINDS;
        numbers[0] = bench_work(dice, 1000 + (long)(dice >> 20 & 0xfffff) % 4000);
        MPI_Send(numbers, count, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
        double reply[2];
        MPI_Recv(reply, 2, MPI_DOUBLE, 0, TAG_REPLY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bench->receives++;
        /* What the server answers depends on everybody's order, and goes into later requests. */
        numbers[1] = reply[1] * 1e-6;
        bench->tally += reply[0];
    }
    free(numbers);
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_start(&bench, "probeserver", &argc, &argv, 8000);
    if (bench.rank == 0)
        serve(&bench);
    else
        ask(&bench);
    bench_finish(&bench);
    return 0;
}
