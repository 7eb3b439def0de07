/* One-sided communication in all ways of synchronising; everything that a rank gets or finds in its
   window is observed. Targets are chosen by who sends first, so it varies. */
#include "somebody.h"

enum { NUMBERS = 64, ROUNDS = 12 };

static MPI_Win window;
static long *memory;

/* The whole window, while nobody writes into it: not before all have looked either. */
static void look(const char *what) {
    observe_data(what, memory, NUMBERS * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void with_fences(int round) {
    long mine[4] = {rank, round, observer.hash & 0xff, 7}, theirs[4] = {0};
    int target = somebody(round);
    MPI_Win_fence(0, window);
    MPI_Put(mine, 4, MPI_LONG, target, 4 * rank, 4, MPI_LONG, window);
    MPI_Win_fence(0, window);
    look("after a fence");
    MPI_Get(theirs, 4, MPI_LONG, target, 4 * ((rank + 1) % ranks), 4, MPI_LONG, window);
    MPI_Accumulate(mine, 4, MPI_LONG, target, 32, 4, MPI_LONG, MPI_SUM, window);
    MPI_Win_fence(0, window);
    observe_data("got", theirs, sizeof theirs);
    look("accumulated");
}

static void with_locks(int round) {
    long one = 1, before = -1, compare = round, swapped = compare, values[3] = {1, 2, 3},
         old[3] = {0};
    int target = somebody(round);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 40, MPI_SUM, window);
    MPI_Win_flush(target, window);
    observe("fetched", before);
#ifndef OPEN_MPI /* whose 4.1 crashes in it when ranks share a host */
    MPI_Compare_and_swap(&one, &compare, &swapped, MPI_LONG, target, 41, window);
#endif
    MPI_Get_accumulate(values, 3, MPI_LONG, old, 3, MPI_LONG, target, 42, 3, MPI_LONG, MPI_SUM,
                       window);
    MPI_Win_unlock(target, window);
    observe("swapped", swapped);
    observe_data("old", old, sizeof old);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    look("at home");
    MPI_Win_unlock(rank, window);
}

static void with_requests(int round) {
    long values[2] = {rank, round}, theirs[2] = {0};
    MPI_Request requests[2];
    int target = somebody(round);
    MPI_Win_lock_all(0, window);
    MPI_Rput(values, 2, MPI_LONG, target, 46 + 2 * (rank % 4), 2, MPI_LONG, window, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_flush_all(window);
    MPI_Rget(theirs, 2, MPI_LONG, target, 46 + 2 * (rank % 4), 2, MPI_LONG, window, &requests[1]);
    MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE);
    observe_data("asked", theirs, sizeof theirs);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    look("after requests");
}

/* Post, start, complete, wait: everybody to the next one. */
static void with_groups(int round) {
    MPI_Group all, next, previous;
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    long value = rank * 1000 + somebody(round);
    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &to, &next);
    MPI_Group_incl(all, 1, &from, &previous);
    MPI_Win_post(previous, 0, window);
    MPI_Win_start(next, 0, window);
    MPI_Put(&value, 1, MPI_LONG, to, 60, 1, MPI_LONG, window);
    MPI_Win_complete(window);
    if (round % 2) {
        MPI_Win_wait(window);
    } else {
        int done = 0;
        while (!done)
            MPI_Win_test(window, &done);
    }
    observe("from the previous one", memory[60]);
    MPI_Group_free(&all);
    MPI_Group_free(&next);
    MPI_Group_free(&previous);
}

#ifndef OPEN_MPI /* it does not notice */
/* Within an epoch: the library refuses that, and what was got comes later. */
static void free_too_early(void) {
    int to = (rank + 1) % ranks;
    long got = -1;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
    MPI_Get(&got, 1, MPI_LONG, to, 0, 1, MPI_LONG, window);
    observe("refused", MPI_Win_free(&window) != MPI_SUCCESS);
    MPI_Win_unlock(to, window);
    observe("got", got);
}
#endif

static void play(void) {
    for (int i = 0; i < NUMBERS; i++)
        memory[i] = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        with_fences(round);
        with_locks(round);
        with_requests(round);
        with_groups(round);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    look("at the end");
#ifndef OPEN_MPI
    free_too_early();
#endif
}

int main(int argc, char **argv) {
    static long own[NUMBERS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    observe_open(rank);
    memory = own;
    MPI_Win_create(own, sizeof own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    play();
    MPI_Win_free(&window);
    MPI_Win_allocate(NUMBERS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    play();
    MPI_Win_free(&window);
    observe_close();
    MPI_Finalize();
    return 0;
}
