/* What one call costs: loops over messages of a rank to itself, so that nothing but the calls is
   measured. Prints the median time of an iteration over many short batches, and that of batches
   beside them which call the MPI library past everything that stands in front of it.
   usage: micro [LOOP ITERATIONS]
   With LOOP only that loop is run, ITERATIONS times (to count instructions, or for a long run); its
   rate and the largest resident memory are printed. */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>

#include "bench.h"

enum { BATCH = 1000, BATCHES = 400, TESTSOME_REQUESTS = 8, FLOOD_TAGS = 16 };
enum { TAG_ONE = 1, TAG_FLOOD = 10, TAG_NEVER = 99 };

/* What the loops call. */
#define CALLS(X) X(Irecv) X(Wait) X(Recv) X(Test) X(Iprobe) X(Testsome)
#define POINTER(name) __typeof__(&MPI_##name) name;
#define LINKED(name) .name = MPI_##name,
struct calls {
    CALLS(POINTER)
};
static const struct calls linked = {CALLS(LINKED)};
static struct calls library;
static const struct calls *call = &linked;

static MPI_Request requests[BATCH]; /* sends that are received, or receives without a message */
static uint64_t values[BATCH];

/* What a loop needs around it: messages that have arrived, or receives for which none comes. */

static void send_batch(int count) {
    for (int message = 0; message < count; message++)
        MPI_Isend(&values[message], 1, MPI_UINT64_T, 0, TAG_ONE, MPI_COMM_SELF, &requests[message]);
}
static void end_batch(int count) {
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void post_never(int count) {
    (void)count;
    for (int request = 0; request < TESTSOME_REQUESTS; request++)
        MPI_Irecv(&values[request], 1, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_SELF,
                  &requests[request]);
}
static void end_never(int count) {
    (void)count;
    uint64_t last = 0;
    MPI_Status statuses[TESTSOME_REQUESTS];
    for (int request = 0; request < TESTSOME_REQUESTS; request++)
        MPI_Send(&last, 1, MPI_UINT64_T, 0, TAG_NEVER, MPI_COMM_SELF);
    MPI_Waitall(TESTSOME_REQUESTS, requests, statuses);
}

static void send_flood(int count) {
    (void)count;
    for (int tag = 0; tag < FLOOD_TAGS; tag++)
        MPI_Isend(&values[tag], 1, MPI_UINT64_T, 0, TAG_FLOOD + tag, MPI_COMM_SELF, &requests[tag]);
}
static void end_flood(int count) {
    (void)count;
    uint64_t taken;
    for (int tag = 0; tag < FLOOD_TAGS; tag++)
        MPI_Recv(&taken, 1, MPI_UINT64_T, 0, TAG_FLOOD + tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(FLOOD_TAGS, requests, MPI_STATUSES_IGNORE);
}

/* The loops. They are functions of their own, so that an instruction counter can be switched on for
   exactly them. */
#define LOOP(name) static __attribute__((noinline)) void loop_##name(int count)

LOOP(complete) {
    uint64_t in;
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < count; i++) {
        call->Irecv(&in, 1, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_ONE, MPI_COMM_SELF, &request);
        call->Wait(&request, &status);
    }
}

LOOP(receive) {
    uint64_t in;
    for (int i = 0; i < count; i++)
        call->Recv(&in, 1, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_ONE, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

LOOP(test) {
    int flag;
    MPI_Status status;
    for (int i = 0; i < count; i++)
        call->Test(&requests[0], &flag, &status);
}

LOOP(iprobe) {
    int flag;
    MPI_Status status;
    for (int i = 0; i < count; i++)
        call->Iprobe(MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_SELF, &flag, &status);
}

LOOP(testsome) {
    int done, indices[TESTSOME_REQUESTS];
    MPI_Status statuses[TESTSOME_REQUESTS];
    for (int i = 0; i < count; i++)
        call->Testsome(TESTSOME_REQUESTS, requests, &done, indices, statuses);
}

/* Nothing but events: every probe finds a message, in an order of tags that does not repeat. */
LOOP(flood) {
    uint64_t random = 1;
    MPI_Status status;
    for (int i = 0; i < count; i++) {
        int flag, tag = TAG_FLOOD + (int)(bench_random(&random) % FLOOD_TAGS);
        call->Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_SELF, &flag, &status);
    }
}

static void nothing(int count) {
    (void)count;
}

static const struct loop {
    const char *name;
    void (*before)(int count);
    void (*loop)(int count);
    void (*after)(int count);
    int batch; /* at most so many iterations between before and after */
} loops[] = {
    {"complete", send_batch, loop_complete, end_batch, BATCH},
    {"receive", send_batch, loop_receive, end_batch, BATCH},
    {"test", post_never, loop_test, end_never, BATCH},
    {"iprobe", nothing, loop_iprobe, nothing, BATCH},
    {"testsome", post_never, loop_testsome, end_never, BATCH},
    {"flood", send_flood, loop_flood, end_flood, INT_MAX},
};
enum { LOOPS = sizeof loops / sizeof *loops };

/* Seconds spent in the loop itself. */
static double run(const struct loop *loop, long iterations) {
    double elapsed = 0;
    while (iterations > 0) {
        int count = iterations < loop->batch ? (int)iterations : loop->batch;
        loop->before(count);
        double started = bench_now();
        loop->loop(count);
        elapsed += bench_now() - started;
        loop->after(count);
        iterations -= count;
    }
    return elapsed;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The functions of the library itself. */
static bool find_library(void) {
    static const char *const names[] = {"libmpi.so.40", "libmpi.so.80", "libmpich.so.12",
                                        "libmpi.so.12"};
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof names / sizeof *names; i++)
        handle = dlopen(names[i], RTLD_NOLOAD | RTLD_NOW);
#define FIND(name) library.name = handle ? dlsym(handle, "PMPI_" #name) : NULL;
    CALLS(FIND)
#define FOUND(name) &&library.name
    return handle CALLS(FOUND);
}

static double median(double *times) {
    qsort(times, BATCHES, sizeof *times, compare);
    return 1e9 / BATCH * times[BATCHES / 2];
}

/* Batches of all loops take turns, so that a slow moment of the machine falls on all alike. */
static void measure_all(void) {
    static double times[LOOPS][BATCHES], past[LOOPS][BATCHES];
    for (int batch = 0; batch < BATCHES; batch++)
        for (int loop = 0; loop < LOOPS; loop++) {
            times[loop][batch] = run(&loops[loop], BATCH);
            call = &library;
            past[loop][batch] = run(&loops[loop], BATCH);
            call = &linked;
        }
    for (int loop = 0; loop < LOOPS; loop++)
        printf("micro %s ns %.2f %s past %.2f\n", loops[loop].name, median(times[loop]),
               loops[loop].name, median(past[loop]));
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
    if (argc < 3 && !find_library()) {
        fprintf(stderr, "micro: the MPI library is not one of those that are known\n");
        status = 1;
    } else if (argc < 3) {
        measure_all();
    } else {
        int loop = 0;
        while (loop < LOOPS && strcmp(loops[loop].name, argv[1]) != 0)
            loop++;
        long iterations = strtol(argv[2], NULL, 10);
        if (loop < LOOPS && iterations > 0) {
            double elapsed = run(&loops[loop], iterations);
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
