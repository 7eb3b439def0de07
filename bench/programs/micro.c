/* What one call costs: loops over messages of a rank to itself, so that nothing but the calls is
   measured. Prints the median time of an iteration over many short batches.
   usage: micro [LOOP ITERATIONS]
   With LOOP only that loop is run, ITERATIONS times, without looking at the clock in between (to
   count instructions, or for a long run); its rate and the largest resident memory are printed. */
#include "bench.h"

enum { BATCH = 1000, BATCHES = 400, TESTSOME_REQUESTS = 8, FLOOD_TAGS = 16, TAG_NEVER = 99 };

static MPI_Request never[TESTSOME_REQUESTS]; /* receives without a message while they are tested */
static uint64_t values[TESTSOME_REQUESTS];

static void post_never(void) {
    for (int request = 0; request < TESTSOME_REQUESTS; request++)
        MPI_Irecv(&values[request], 1, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_SELF,
                  &never[request]);
}

static void end_never(void) {
    uint64_t last = 0;
    MPI_Status statuses[TESTSOME_REQUESTS];
    for (int request = 0; request < TESTSOME_REQUESTS; request++)
        MPI_Send(&last, 1, MPI_UINT64_T, 0, TAG_NEVER, MPI_COMM_SELF);
    MPI_Waitall(TESTSOME_REQUESTS, never, statuses);
}

/* Each loop returns the seconds it took; what it needs around it is not counted. */

static double loop_complete(long iterations) {
    double started = bench_now();
    for (long iteration = 0; iteration < iterations; iteration++) {
        uint64_t out = (uint64_t)iteration, in;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&in, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &request);
        MPI_Send(&out, 1, MPI_UINT64_T, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, &status);
    }
    return bench_now() - started;
}

static double loop_receive(long iterations) {
    static MPI_Request sends[BATCH];
    static MPI_Status statuses[BATCH];
    uint64_t out = 1, in;
    double elapsed = 0;
    while (iterations > 0) {
        int batch = iterations < BATCH ? (int)iterations : BATCH;
        for (int message = 0; message < batch; message++)
            MPI_Isend(&out, 1, MPI_UINT64_T, 0, 2, MPI_COMM_SELF, &sends[message]);
        double started = bench_now();
        for (int message = 0; message < batch; message++)
            MPI_Recv(&in, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        elapsed += bench_now() - started;
        MPI_Waitall(batch, sends, statuses);
        iterations -= batch;
    }
    return elapsed;
}

static double loop_test(long iterations) {
    int flag;
    MPI_Status status;
    post_never();
    double started = bench_now();
    for (long iteration = 0; iteration < iterations; iteration++)
        MPI_Test(&never[0], &flag, &status);
    double elapsed = bench_now() - started;
    end_never();
    return elapsed;
}

static double loop_iprobe(long iterations) {
    int flag;
    MPI_Status status;
    double started = bench_now();
    for (long iteration = 0; iteration < iterations; iteration++)
        MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &flag, &status);
    return bench_now() - started;
}

static double loop_testsome(long iterations) {
    int count, indices[TESTSOME_REQUESTS];
    MPI_Status statuses[TESTSOME_REQUESTS];
    post_never();
    double started = bench_now();
    for (long iteration = 0; iteration < iterations; iteration++)
        MPI_Testsome(TESTSOME_REQUESTS, never, &count, indices, statuses);
    double elapsed = bench_now() - started;
    end_never();
    return elapsed;
}

/* Nothing but events: every probe finds a message, in an order of tags that does not repeat. */
static double loop_flood(long iterations) {
    MPI_Request sends[FLOOD_TAGS];
    MPI_Status statuses[FLOOD_TAGS];
    uint64_t value = 0, taken, random = 1;
    for (int tag = 0; tag < FLOOD_TAGS; tag++)
        MPI_Isend(&value, 1, MPI_UINT64_T, 0, 10 + tag, MPI_COMM_SELF, &sends[tag]);
    double started = bench_now();
    for (long iteration = 0; iteration < iterations; iteration++) {
        int flag, tag = 10 + (int)(bench_random(&random) % FLOOD_TAGS);
        MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_SELF, &flag, &statuses[0]);
    }
    double elapsed = bench_now() - started;
    for (int tag = 0; tag < FLOOD_TAGS; tag++)
        MPI_Recv(&taken, 1, MPI_UINT64_T, 0, 10 + tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(FLOOD_TAGS, sends, statuses);
    return elapsed;
}

static const struct {
    const char *name;
    double (*run)(long iterations);
} loops[] = {
    {"complete", loop_complete}, {"receive", loop_receive},   {"test", loop_test},
    {"iprobe", loop_iprobe},     {"testsome", loop_testsome}, {"flood", loop_flood},
};
enum { LOOPS = sizeof loops / sizeof *loops };

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Batches of all loops take turns, so that a slow moment of the machine falls on all alike. */
static void measure_all(void) {
    static double times[LOOPS][BATCHES];
    for (int batch = 0; batch < BATCHES; batch++)
        for (int loop = 0; loop < LOOPS; loop++)
            times[loop][batch] = loops[loop].run(BATCH);
    for (int loop = 0; loop < LOOPS; loop++) {
        qsort(times[loop], BATCHES, sizeof times[loop][0], compare);
        printf("micro %s ns %.2f\n", loops[loop].name, 1e9 / BATCH * times[loop][BATCHES / 2]);
    }
}

static void print_memory(void) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            printf("micro peak kib %ld\n", strtol(line + 6, NULL, 10));
    if (file)
        fclose(file);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = 0;
    if (argc < 3) {
        measure_all();
    } else {
        int loop = 0;
        while (loop < LOOPS && strcmp(loops[loop].name, argv[1]) != 0)
            loop++;
        long iterations = strtol(argv[2], NULL, 10);
        if (loop < LOOPS && iterations > 0) {
            double elapsed = loops[loop].run(iterations);
            printf("micro %s per second %.0f\n", argv[1], (double)iterations / elapsed);
            print_memory();
        } else {
            fprintf(stderr, "usage: micro [complete|receive|test|iprobe|testsome|flood "
                            "ITERATIONS]\n");
            status = 2;
        }
    }
    MPI_Finalize();
    return status;
}
