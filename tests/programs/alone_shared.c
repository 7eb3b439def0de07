/* Windows of shared memory: ranks load and store there, in their own part and in those of others,
   with all ways of synchronising. What is stored depends on who sends first, so it varies. */
#include "somebody.h"

enum { NUMBERS = 700, ROUNDS = 6 };

static MPI_Win window;
static long *parts[64];
static MPI_Aint sizes[64];

/* Everything, while nobody stores. */
static void look(const char *what) {
    for (int i = 0; i < ranks; i++)
        observe_data(what, parts[i], (size_t)sizes[i]);
}

/* Rank 1 has no part of its own. */
static long *place(int owner, int number) {
    return &parts[owner == 1 ? 0 : owner][number];
}

static void store(int round) {
    int other = somebody(round);
    *place(other, 10 + rank) = rank * 100 + round;
    for (int i = 0; i < 8; i++)
        *place(rank, 100 + 8 * rank + i) += observer.hash & 0xff;
}

static void with_fences(int round) {
    MPI_Win_fence(0, window);
    store(round);
    MPI_Win_fence(0, window);
    look("after a fence");
    MPI_Win_fence(0, window);
}

static void with_barriers(int round) {
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    store(round);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    look("after a barrier");
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each in its turn adds to what the one before has stored; a message tells that it is its turn. */
static void with_messages(int round) {
    int word = round, before = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    if (rank > 0)
        MPI_Recv(&word, 1, MPI_INT, before, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_sync(window);
    observe("before", *place(0, 200));
    *place(0, 200) = *place(0, 200) * 3 + (long)(observer.hash & 0xff);
    MPI_Win_sync(window);
    if (next > 0)
        MPI_Send(&word, 1, MPI_INT, next, 99, MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The library may write as well. */
static void with_puts(int round) {
    long values[3] = {rank, round, 7}, theirs[3] = {0};
    int target = somebody(round) == 1 ? 0 : 2;
    MPI_Win_fence(0, window);
    MPI_Put(values, 3, MPI_LONG, target, 300 + 3 * rank, 3, MPI_LONG, window);
    MPI_Win_fence(0, window);
    MPI_Get(theirs, 3, MPI_LONG, 2, 300 + 3 * ((rank + 1) % ranks), 3, MPI_LONG, window);
    MPI_Win_fence(0, window);
    observe_data("got", theirs, sizeof theirs);
    look("after puts");
    MPI_Win_fence(0, window);
}

static void find_parts(void) {
    for (int i = 0; i < ranks; i++) {
        int unit;
        MPI_Win_shared_query(window, i, &sizes[i], &unit, &parts[i]);
        observe("size", (long)sizes[i]);
        observe("unit", unit);
        /* They lie to one another as they do in every run. */
        observe("distance", i > 1 ? (long)(parts[i] - parts[0]) : 0);
    }
}

static void look_at_attributes(const long *own) {
    int *flavour, flag;
    long *base;
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavour, &flag);
    observe("shared", flag && *flavour == MPI_WIN_FLAVOR_SHARED);
    if (rank == 1)
        return;
    MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
    observe("its own", base == own && own == parts[rank]);
}

static void play(MPI_Info info) {
    MPI_Aint size = rank == 1 ? 0 : (MPI_Aint)sizeof(long) * (NUMBERS + rank);
    long *own;
    MPI_Win_allocate_shared(size, sizeof(long), info, MPI_COMM_WORLD, &own, &window);
    find_parts();
    look_at_attributes(own);
    for (int i = 0; i < (int)(size / (MPI_Aint)sizeof(long)); i++)
        own[i] = rank + i;
    MPI_Barrier(MPI_COMM_WORLD);
    look("at first");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        with_fences(round);
        with_barriers(round);
        with_messages(round);
        with_puts(round);
    }
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    MPI_Info apart;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    observe_open(rank);
    play(MPI_INFO_NULL);
    MPI_Info_create(&apart);
    MPI_Info_set(apart, "alloc_shared_noncontig", "true");
    play(apart);
    MPI_Info_free(&apart);
    observe_close();
    MPI_Finalize();
    return 0;
}
