/* The synthetic benchmark of Gioachin, Zheng and Kalé (Robust Non-Intrusive Record-Replay with
   Processor Extraction, section 8.1): the ranks are a ring. In each iteration every rank sends a
   message to the K nearest ranks on each side and one to itself, takes as many as they come in,
   reads all of their data, and computes.
   SIZE is the number of iterations, BYTES the length of a message, WORK the rounds of computation
   in an iteration (100 are about a microsecond).

   Every rank prints a line of its own, and writes the seconds between MPI_Init and MPI_Finalize,
   those of the clock and those of the processor, to the file BENCH_TIME-RANK. */
#include "bench.h"

enum { K = 2, MESSAGES = 2 * K + 1 };
enum { TAGS = 1024 }; /* a neighbour can be one iteration ahead, so they must differ */

struct ring {
    struct bench *bench;
    long work;
    int words;         /* of a message */
    uint64_t *sending; /* one for all neighbours */
    uint64_t *message;
    uint64_t random;
    double processor_started;
};

static double processor_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Nothing repeats in it, so a copy of it can be neither compressed nor found to be known. */
static void fill(struct ring *ring) {
    for (int word = 0; word < ring->words; word++)
        ring->sending[word] = bench_random(&ring->random);
}

static void send_all(struct ring *ring, int tag, MPI_Request *requests) {
    const struct bench *bench = ring->bench;
    for (int step = -K; step <= K; step++) {
        int neighbour = (bench->rank + step + K * bench->ranks) % bench->ranks;
        MPI_Isend(ring->sending, ring->words, MPI_UINT64_T, neighbour, tag, MPI_COMM_WORLD,
                  &requests[step + K]);
    }
}

static void receive_all(struct ring *ring, int tag) {
    struct bench *bench = ring->bench;
    for (int number = 0; number < MESSAGES; number++) {
        MPI_Status status;
        uint64_t sum = 0;
        MPI_Recv(ring->message, ring->words, MPI_UINT64_T, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                 &status);
        for (int word = 0; word < ring->words; word++)
            sum += ring->message[word];
        bench->receives++;
        bench_mix(bench, sum ^ (uint64_t)status.MPI_SOURCE);
    }
}

static void iterate(struct ring *ring, long iteration) {
    MPI_Request requests[MESSAGES];
    int tag = (int)(iteration % TAGS);
    fill(ring);
    send_all(ring, tag, requests);
    receive_all(ring, tag);
    ring->bench->tally += bench_work(ring->bench->hash, ring->work);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

/* One write, so that the lines of ranks do not mix. */
static void report(const struct ring *ring) {
    const struct bench *bench = ring->bench;
    double elapsed = bench_now() - bench->started;
    double processor = processor_now() - ring->processor_started;
    printf("kneighbor rank %d of %d size %ld receives %ld tally %.17g hash %016llx\n", bench->rank,
           bench->ranks, bench->size_argument, bench->receives, bench->tally,
           (unsigned long long)bench->hash);
    fflush(stdout);
    if (!getenv("BENCH_TIME"))
        return;
    char path[4096];
    snprintf(path, sizeof path, "%s-%d", getenv("BENCH_TIME"), bench->rank);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "%.9f %.9f\n", elapsed, processor);
        fclose(file);
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_start(&bench, "kneighbor", &argc, &argv, 100);
    long bytes = argc > 2 ? strtol(argv[2], NULL, 10) : 256;
    struct ring ring = {.bench = &bench,
                        .work = argc > 3 ? strtol(argv[3], NULL, 10) : 50000,
                        .words = (int)(bytes / (long)sizeof(uint64_t)),
                        .random = (uint64_t)bench.rank << 32,
                        .processor_started = processor_now()};
    ring.sending = calloc((size_t)ring.words + 1, sizeof(uint64_t));
    ring.message = calloc((size_t)ring.words + 1, sizeof(uint64_t));
    if (!ring.sending || !ring.message)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long iteration = 0; iteration < bench.size_argument; iteration++)
        iterate(&ring, iteration);
    report(&ring);
    free(ring.sending);
    free(ring.message);
    MPI_Finalize();
    return 0;
}
