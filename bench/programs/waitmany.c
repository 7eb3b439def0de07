/* Everybody sends to everybody; each rank keeps several wildcard receives posted and takes
   finished ones with MPI_Waitany and MPI_Waitsome in turn.
   SIZE is the number of messages from each rank to each other rank. */
#include "bench.h"

enum { TAG_BLOCK = 5, DEPTH = 8, NUMBERS = 32, SENDS = 16 };

struct receiver {
    struct bench *bench;
    long expected, posted;
    double blocks[DEPTH][NUMBERS];
    MPI_Request requests[DEPTH];
};

static void post(struct receiver *receiver, int slot) {
    if (receiver->posted == receiver->expected) {
        receiver->requests[slot] = MPI_REQUEST_NULL;
        return;
    }
    receiver->posted++;
    MPI_Irecv(receiver->blocks[slot], NUMBERS, MPI_DOUBLE, MPI_ANY_SOURCE, TAG_BLOCK,
              MPI_COMM_WORLD, &receiver->requests[slot]);
}

static void take(struct receiver *receiver, int slot, const MPI_Status *status) {
    struct bench *bench = receiver->bench;
    double sum = 0;
    for (int number = 0; number < NUMBERS; number++)
        sum += receiver->blocks[slot][number];
    bench->tally = 0.999 * bench->tally + sum;
    bench_mix(bench, (uint64_t)slot << 32 | (uint64_t)status->MPI_SOURCE);
    bench->tally += bench_work((uint64_t)status->MPI_SOURCE, 1500);
    bench->receives++;
    post(receiver, slot);
}

static void take_some(struct receiver *receiver) {
    MPI_Status statuses[DEPTH];
    if (receiver->bench->receives % 2) {
        int slot;
        MPI_Waitany(DEPTH, receiver->requests, &slot, &statuses[0]);
        take(receiver, slot, &statuses[0]);
    } else {
        int count, slots[DEPTH];
        MPI_Waitsome(DEPTH, receiver->requests, &count, slots, statuses);
        for (int done = 0; done < count; done++)
            take(receiver, slots[done], &statuses[done]);
    }
}

int main(int argc, char **argv) {
    struct bench bench;
    bench_start(&bench, "waitmany", &argc, &argv, 3500);
    struct receiver receiver = {
        .bench = &bench, .expected = bench.size_argument * (bench.ranks - 1), .posted = 0};
    for (int slot = 0; slot < DEPTH; slot++)
        post(&receiver, slot);

    static double blocks[SENDS][NUMBERS];
    MPI_Request sends[SENDS];
    for (int slot = 0; slot < SENDS; slot++)
        sends[slot] = MPI_REQUEST_NULL;
    uint64_t random = (uint64_t)bench.rank;
    for (long sent = 0; sent < receiver.expected; sent++) {
        int slot = (int)(sent % SENDS);
        int target = (bench.rank + 1 + (int)(sent % (bench.ranks - 1))) % bench.ranks;
        MPI_Wait(&sends[slot], MPI_STATUS_IGNORE);
        uint64_t dice = bench_random(&random);
        double value = bench_work(dice, 1000 + (long)(dice >> 32) % 3000);
        for (int number = 0; number < NUMBERS; number++)
            blocks[slot][number] = value + 1e-6 * bench.tally + number;
        MPI_Isend(blocks[slot], NUMBERS, MPI_DOUBLE, target, TAG_BLOCK, MPI_COMM_WORLD,
                  &sends[slot]);
        /* Nobody takes more than was sent so far, or everybody could wait for everybody. */
        if (bench.receives <= sent)
            take_some(&receiver);
    }
    while (bench.receives < receiver.expected)
        take_some(&receiver);
    MPI_Waitall(SENDS, sends, MPI_STATUSES_IGNORE);
    bench_finish(&bench);
    return 0;
}
