/* Every collective: blocking, nonblocking and completed in every way, persistent, with large
   counts; in place, with gaps and without anything, on communicators of all kinds. What each rank
   gives depends on who came first; what it gets is looked at with all that lies around it. */
#include "messages.h"

enum { MOST = 16, WORDS = 512, AT = 7 };

static int given[WORDS], gotten[WORDS];
static int seed, turn;
static int starts = 1; /* of a persistent request: MPICH 4.0 cannot do all of them again */
static MPI_Datatype spaced, pair; /* an int with a gap behind it; two ints */
static MPI_Op compose;

static void scramble(void) {
    for (int i = 0; i < WORDS; i++) {
        given[i] = seed * 1000 + turn * 31 + i;
        gotten[i] = seed * 77 - turn - i * 3;
    }
}

/* x -> a x + b, one after the other: the order counts. */
static void compose_maps(void *left, void *right, int *count, MPI_Datatype *type) {
    const unsigned *first = left;
    unsigned *second = right;
    int rank;
    (void)type;
    /* Of no use, but operations may ask. */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < *count; i++, first += 2, second += 2) {
        unsigned a = first[0] * second[0], b = first[1] * second[0] + second[1];
        second[0] = a;
        second[1] = b;
    }
}

/* One request among two that are null, completed in each way in turn. */
static void complete(MPI_Request *request, int persistent) {
    MPI_Request requests[3] = {MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    int flag = 0, index = -1, count = 0, indices[3] = {-1, -1, -1};
    /* In MPICH 4.0 only the first four work with persistent collectives. */
    switch (turn++ % (persistent ? 4 : 9)) {
    case 0:
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Wait(&requests[1], &statuses[0]);
        break;
    case 2:
        while (MPI_Test(&requests[1], &flag, &statuses[0]), !flag)
            usleep(20);
        break;
    case 3:
        MPI_Waitall(3, requests, statuses);
        break;
    case 4:
        MPI_Waitany(3, requests, &index, &statuses[0]);
        break;
    case 5:
        while (MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE), !flag)
            usleep(20);
        break;
    case 6:
        while (MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE), !flag)
            usleep(20);
        break;
    case 7:
        MPI_Waitsome(3, requests, &count, indices, statuses);
        break;
    default:
        while (MPI_Testsome(3, requests, &count, indices, MPI_STATUSES_IGNORE), !count)
            usleep(20);
    }
    observe("index", index);
    observe("count", count);
    observe("first", indices[0]);
    observe("null", requests[1] == MPI_REQUEST_NULL);
    *request = requests[1];
}

#define SHOW(name)                                                                                 \
    do {                                                                                           \
        observe_data(name, gotten, sizeof gotten);                                                 \
        observe_data("given", given, sizeof given);                                                \
        scramble();                                                                                \
    } while (0)

#define NOW(function, ...)                                                                         \
    do {                                                                                           \
        scramble();                                                                                \
        observe(#function, MPI_##function(__VA_ARGS__, comm));                                     \
        SHOW(#function);                                                                           \
    } while (0)

#define LATER(function, ...)                                                                       \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        scramble();                                                                                \
        observe(#function, MPI_##function(__VA_ARGS__, comm, &request));                           \
        complete(&request, 0);                                                                     \
        SHOW(#function);                                                                           \
    } while (0)

#define EACH(function, ...)                                                                        \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        scramble();                                                                                \
        observe(#function, MPI_##function(__VA_ARGS__, comm, MPI_INFO_NULL, &request));            \
        for (int i = 0; i < starts; i++) {                                                         \
            MPI_Start(&request);                                                                   \
            complete(&request, 1);                                                                 \
            SHOW(#function);                                                                       \
        }                                                                                          \
        MPI_Request_free(&request);                                                                \
    } while (0)

/* LARGE: the same with counts that are wider; FORMS: arrays of counts are only of one width. */
#ifdef MPICH
#    define FORMS(name, lower, ...)                                                                \
        do {                                                                                       \
            NOW(name, __VA_ARGS__);                                                                \
            LATER(I##lower, __VA_ARGS__);                                                          \
            EACH(name##_init, __VA_ARGS__);                                                        \
        } while (0)
#    define LARGE(name, lower, ...)                                                                \
        do {                                                                                       \
            NOW(name##_c, __VA_ARGS__);                                                            \
            LATER(I##lower##_c, __VA_ARGS__);                                                      \
            EACH(name##_init_c, __VA_ARGS__);                                                      \
        } while (0)
#else
#    define FORMS(name, lower, ...)                                                                \
        do {                                                                                       \
            NOW(name, __VA_ARGS__);                                                                \
            LATER(I##lower, __VA_ARGS__);                                                          \
        } while (0)
#    define LARGE(name, lower, ...)
#endif
#define BOTH(name, lower, ...)                                                                     \
    do {                                                                                           \
        FORMS(name, lower, __VA_ARGS__);                                                           \
        LARGE(name, lower, __VA_ARGS__);                                                           \
    } while (0)

/* ---- counts and places ---- */

struct plan {
    int counts[MOST], displs[MOST], bytes[MOST];
    MPI_Aint addresses[MOST];
    MPI_Datatype types[MOST];
#ifdef MPICH
    MPI_Count large_counts[MOST];
    MPI_Aint large_displs[MOST];
#endif
};

static void put(struct plan *plan, int i, int count) {
    plan->counts[i] = count;
    plan->displs[i] = 1 + 6 * i;
    plan->bytes[i] = (int)sizeof(int) * (2 + 24 * i);
    plan->addresses[i] = plan->bytes[i];
    plan->types[i] = count % 2 ? spaced : MPI_INT;
#ifdef MPICH
    plan->large_counts[i] = count;
    plan->large_displs[i] = plan->displs[i];
#endif
}

/* Partner i gets or gives (i + shift) % 3 elements: with some of them it is nothing, and both sides
   of a pair agree if each takes its own rank for the shift. */
static struct plan plan(int partners, int shift) {
    struct plan plan;
    memset(&plan, 0, sizeof plan);
    for (int i = 0; i < partners; i++)
        put(&plan, i, (i + shift) % 3);
    return plan;
}

/* ---- one group ---- */

static void barriers(MPI_Comm comm) {
    MPI_Request request;
    MPI_Barrier(comm);
    MPI_Ibarrier(comm, &request);
    complete(&request, 0);
#ifdef MPICH
    MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        complete(&request, 1);
    }
    MPI_Request_free(&request);
#endif
}

static void rooted(MPI_Comm comm, int me, int size, int root) {
    struct plan to = plan(size, root);
    int mine = to.counts[me], there = me == root;
    /* What only the root looks at is nowhere for the others. */
    int *place = there ? gotten + AT : NULL;
    const int *source = there ? given + AT : NULL;
    void *out = there ? MPI_IN_PLACE : (void *)given;
    void *in = there ? MPI_IN_PLACE : (void *)(gotten + AT);
    starts = 2;
    BOTH(Bcast, bcast, gotten + AT, 5, MPI_INT, root);
    BOTH(Bcast, bcast, gotten + AT, 3, spaced, root);
    starts = 1;
    BOTH(Bcast, bcast, gotten + AT, 0, spaced, root);
    BOTH(Gather, gather, given, 2, MPI_INT, place, 2, spaced, root);
    BOTH(Gather, gather, out, 2, MPI_INT, place, 2, MPI_INT, root);
    FORMS(Gatherv, gatherv, given, mine, MPI_INT, place, to.counts, to.displs, spaced, root);
    LARGE(Gatherv, gatherv, given, mine, MPI_INT, place, to.large_counts, to.large_displs, spaced,
          root);
    FORMS(Gatherv, gatherv, out, mine, MPI_INT, place, to.counts, to.displs, MPI_INT, root);
    BOTH(Scatter, scatter, source, 2, MPI_INT, gotten + AT, 2, spaced, root);
    BOTH(Scatter, scatter, source, 2, MPI_INT, in, 2, MPI_INT, root);
    FORMS(Scatterv, scatterv, source, to.counts, to.displs, MPI_INT, gotten + AT, mine, spaced,
          root);
    LARGE(Scatterv, scatterv, source, to.large_counts, to.large_displs, MPI_INT, gotten + AT, mine,
          spaced, root);
    FORMS(Scatterv, scatterv, source, to.counts, to.displs, MPI_INT, in, mine, MPI_INT, root);
    BOTH(Reduce, reduce, given, place, 4, MPI_INT, MPI_SUM, root);
    BOTH(Reduce, reduce, given, place, 2, pair, compose, root);
    BOTH(Reduce, reduce, out, place, 3, MPI_INT, MPI_BXOR, root);
}

static void reductions(MPI_Comm comm, int me, int size) {
    (void)me;
    struct plan parts = plan(size, 0);
    for (int i = 0; i < size; i++)
        put(&parts, i, 1 + i % 2);
    int *after = gotten + AT;
#ifdef OPEN_MPI
    /* Rank 0 gets nothing from an exclusive scan; MPICH wants a place nevertheless. */
    if (me == 0)
        after = NULL;
#endif
    starts = 2;
    BOTH(Allreduce, allreduce, given, gotten + AT, 4, MPI_INT, MPI_SUM);
    BOTH(Allreduce, allreduce, given, gotten + AT, 2, pair, compose);
    starts = 1;
    BOTH(Allreduce, allreduce, MPI_IN_PLACE, gotten + AT, 3, MPI_INT, MPI_MAX);
    FORMS(Reduce_scatter, reduce_scatter, given, gotten + AT, parts.counts, MPI_INT, MPI_SUM);
    LARGE(Reduce_scatter, reduce_scatter, given, gotten + AT, parts.large_counts, MPI_INT, MPI_SUM);
    FORMS(Reduce_scatter, reduce_scatter, given, gotten + AT, parts.counts, pair, compose);
    FORMS(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, gotten + AT, parts.counts, MPI_INT,
          MPI_SUM);
    BOTH(Reduce_scatter_block, reduce_scatter_block, given, gotten + AT, 3, MPI_INT, MPI_SUM);
    BOTH(Reduce_scatter_block, reduce_scatter_block, given, gotten + AT, 2, pair, compose);
    BOTH(Scan, scan, given, gotten + AT, 4, MPI_INT, MPI_SUM);
    BOTH(Scan, scan, given, gotten + AT, 2, pair, compose);
    BOTH(Scan, scan, MPI_IN_PLACE, gotten + AT, 2, MPI_INT, MPI_MIN);
    BOTH(Exscan, exscan, given, after, 4, MPI_INT, MPI_SUM);
    BOTH(Exscan, exscan, given, gotten + AT, 2, pair, compose);
    BOTH(Exscan, exscan, MPI_IN_PLACE, gotten + AT, 2, MPI_INT, MPI_SUM);
}

static void one_group(MPI_Comm comm) {
    int me, size;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    observe("one group", size);
    struct plan all = plan(size, 0), own = plan(size, me);
    int mine = all.counts[me];
    barriers(comm);
    for (int root = 0; root < size; root++)
        rooted(comm, me, size, root);
    reductions(comm, me, size);
    BOTH(Allgather, allgather, given, 2, MPI_INT, gotten + AT, 2, spaced);
    BOTH(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gotten + AT, 3, MPI_INT);
    FORMS(Allgatherv, allgatherv, given, mine, MPI_INT, gotten + AT, all.counts, all.displs,
          spaced);
    LARGE(Allgatherv, allgatherv, given, mine, MPI_INT, gotten + AT, all.large_counts,
          all.large_displs, spaced);
    FORMS(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gotten + AT, all.counts,
          all.displs, MPI_INT);
    BOTH(Alltoall, alltoall, given, 2, MPI_INT, gotten + AT, 2, spaced);
    BOTH(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gotten + AT, 2, MPI_INT);
    FORMS(Alltoallv, alltoallv, given, own.counts, own.displs, MPI_INT, gotten + AT, own.counts,
          own.displs, spaced);
    LARGE(Alltoallv, alltoallv, given, own.large_counts, own.large_displs, MPI_INT, gotten + AT,
          own.large_counts, own.large_displs, spaced);
    FORMS(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, gotten + AT,
          own.counts, own.displs, MPI_INT);
    FORMS(Alltoallw, alltoallw, given, own.counts, own.bytes, own.types, gotten + AT, own.counts,
          own.bytes, own.types);
    LARGE(Alltoallw, alltoallw, given, own.large_counts, own.addresses, own.types, gotten + AT,
          own.large_counts, own.addresses, own.types);
    FORMS(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, gotten + AT, own.counts, own.bytes,
          own.types);
}

/* ---- two groups ---- */

/* ROOT, rank NUMBER in its group, as this rank has to name it. */
static void between(MPI_Comm comm, int me, int remote, int number, int root) {
    struct plan to = plan(remote, 0);
    int there = root == MPI_ROOT, mine = me % 3;
    observe("root", number);
    int *place = there ? gotten + AT : NULL, *drop = root >= 0 ? gotten + AT : NULL;
    const int *source = there ? given + AT : NULL;
    NOW(Bcast, gotten + AT, 3, spaced, root);
#ifdef MPICH
    /* In MPICH 4.0 what comes from another root is undefined. */
    if (number == 0)
#endif
        BOTH(Bcast, bcast, gotten + AT, 3, spaced, root);
    BOTH(Gather, gather, given, 2, MPI_INT, place, 2, spaced, root);
    FORMS(Gatherv, gatherv, given, mine, MPI_INT, place, to.counts, to.displs, spaced, root);
    LARGE(Gatherv, gatherv, given, mine, MPI_INT, place, to.large_counts, to.large_displs, spaced,
          root);
    BOTH(Scatter, scatter, source, 2, MPI_INT, drop, 2, spaced, root);
    FORMS(Scatterv, scatterv, source, to.counts, to.displs, MPI_INT, drop, mine, spaced, root);
    LARGE(Scatterv, scatterv, source, to.large_counts, to.large_displs, MPI_INT, drop, mine, spaced,
          root);
    BOTH(Reduce, reduce, given, place, 4, MPI_INT, MPI_SUM, root);
}

static void two_groups(MPI_Comm comm, int first) {
    int me, size, remote;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    MPI_Comm_remote_size(comm, &remote);
    observe("two groups", remote);
    struct plan all = plan(remote, 0), own = plan(remote, me), parts = plan(size, 0);
    int mine = me % 3;
    for (int i = 0; i < size; i++)
        put(&parts, i, remote);
    barriers(comm);
    for (int root = 0; root < (first ? size : remote); root++)
        between(comm, me, remote, root, !first ? root : root == me ? MPI_ROOT : MPI_PROC_NULL);
    for (int root = 0; root < (first ? remote : size); root++)
        between(comm, me, remote, root, first ? root : root == me ? MPI_ROOT : MPI_PROC_NULL);
    BOTH(Allgather, allgather, given, 2, MPI_INT, gotten + AT, 2, spaced);
    FORMS(Allgatherv, allgatherv, given, mine, MPI_INT, gotten + AT, all.counts, all.displs,
          spaced);
    BOTH(Allreduce, allreduce, given, gotten + AT, 4, MPI_INT, MPI_SUM);
    BOTH(Alltoall, alltoall, given, 2, MPI_INT, gotten + AT, 2, spaced);
    FORMS(Alltoallv, alltoallv, given, own.counts, own.displs, MPI_INT, gotten + AT, own.counts,
          own.displs, spaced);
    FORMS(Alltoallw, alltoallw, given, own.counts, own.bytes, own.types, gotten + AT, own.counts,
          own.bytes, own.types);
    FORMS(Reduce_scatter, reduce_scatter, given, gotten + AT, parts.counts, MPI_INT, MPI_SUM);
    BOTH(Reduce_scatter_block, reduce_scatter_block, given, gotten + AT, remote, MPI_INT, MPI_SUM);
}

/* ---- neighbours ---- */

/* From each source comes as much as its rank says, along each edge as both its ends say. */
static struct plan along(const int *ranks, int number, int shift) {
    struct plan plan;
    memset(&plan, 0, sizeof plan);
    for (int i = 0; i < number; i++)
        put(&plan, i, ranks[i] < 0 ? 1 : (ranks[i] + shift) % 3);
    return plan;
}

static void neighbours(MPI_Comm comm, const int *sources, int in, const int *targets, int out) {
    int me;
    MPI_Comm_rank(comm, &me);
    struct plan gather = along(sources, in, 0), from = along(sources, in, me),
                to = along(targets, out, me);
    observe("neighbours", in);
    BOTH(Neighbor_allgather, neighbor_allgather, given, 2, MPI_INT, gotten + AT, 2, spaced);
    FORMS(Neighbor_allgatherv, neighbor_allgatherv, given, me % 3, MPI_INT, gotten + AT,
          gather.counts, gather.displs, spaced);
    LARGE(Neighbor_allgatherv, neighbor_allgatherv, given, me % 3, MPI_INT, gotten + AT,
          gather.large_counts, gather.large_displs, spaced);
    BOTH(Neighbor_alltoall, neighbor_alltoall, given, 2, MPI_INT, gotten + AT, 2, spaced);
    FORMS(Neighbor_alltoallv, neighbor_alltoallv, given, to.counts, to.displs, MPI_INT, gotten + AT,
          from.counts, from.displs, spaced);
    LARGE(Neighbor_alltoallv, neighbor_alltoallv, given, to.large_counts, to.large_displs, MPI_INT,
          gotten + AT, from.large_counts, from.large_displs, spaced);
#ifdef MPICH
    /* In MPICH 4.0 some of it is undefined where more comes in than goes out. */
    int topology;
    MPI_Topo_test(comm, &topology);
    if (topology != MPI_DIST_GRAPH)
#endif
        FORMS(Neighbor_alltoallw, neighbor_alltoallw, given, to.counts, to.addresses, to.types,
              gotten + AT, from.counts, from.addresses, from.types);
    LARGE(Neighbor_alltoallw, neighbor_alltoallw, given, to.large_counts, to.addresses, to.types,
          gotten + AT, from.large_counts, from.addresses, from.types);
}

/* Open at the ends of one dimension, so that some neighbours are missing. */
static void cartesian(void) {
    int dims[2] = {0, 0}, periods[2] = {0, 1}, ranks[4];
    MPI_Comm comm;
    MPI_Dims_create(world_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    for (int i = 0; i < 2; i++)
        MPI_Cart_shift(comm, i, 1, &ranks[2 * i], &ranks[2 * i + 1]);
    neighbours(comm, ranks, 4, ranks, 4);
    MPI_Comm_free(&comm);
}

/* A line; rank 0 at its end has one neighbour. */
static void graph(void) {
    int index[MOST], edges[2 * MOST], number = 0, ranks[2], count;
    MPI_Comm comm;
    for (int i = 0; i < world_size; i++) {
        if (i > 0)
            edges[number++] = i - 1;
        if (i < world_size - 1)
            edges[number++] = i + 1;
        index[i] = number;
    }
    MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &comm);
    MPI_Graph_neighbors_count(comm, world_rank, &count);
    MPI_Graph_neighbors(comm, world_rank, count, ranks);
    neighbours(comm, ranks, count, ranks, count);
    MPI_Comm_free(&comm);
}

/* All to rank 0, and each to the next: who gets more than it gives. */
static void distributed_graph(void) {
    int sources[MOST + 1], targets[2], in = 0, out = 0;
    MPI_Comm comm;
    sources[in++] = (world_rank + world_size - 1) % world_size;
    targets[out++] = (world_rank + 1) % world_size;
    if (world_rank == 0)
        for (int i = 1; i < world_size - 1; i++)
            sources[in++] = i;
    else if (world_rank < world_size - 1)
        targets[out++] = 0;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, targets,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    neighbours(comm, sources, in, targets, out);
    MPI_Comm_free(&comm);
}

/* ---- several at once ---- */

/* Which of them is complete first depends on the others. */
static void at_once(MPI_Comm comm, int way) {
    enum { SEVERAL = 7 };
    MPI_Request requests[SEVERAL];
    MPI_Datatype freed;
    int left = SEVERAL, indices[SEVERAL], root = way % world_size;
    scramble();
    dawdle();
    MPI_Iallreduce(given, gotten + 10, 3, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibcast(gotten + 20, 2, spaced, root, comm, &requests[1]);
    MPI_Ialltoall(given, 1, MPI_INT, gotten + 40, 1, MPI_INT, comm, &requests[2]);
    MPI_Ibarrier(comm, &requests[3]);
    MPI_Igather(given, 1, MPI_INT, gotten + 80, 1, spaced, root, comm, &requests[4]);
    MPI_Iscan(given, gotten + 160, 2, pair, compose, comm, &requests[5]);
    /* The library goes on with a type that is freed. */
    MPI_Type_vector(2, 1, 3, MPI_INT, &freed);
    MPI_Type_commit(&freed);
    MPI_Iallgather(given, 2, MPI_INT, gotten + 200, 1, freed, comm, &requests[6]);
    MPI_Type_free(&freed);
    while (left > 0) {
        int done = 1;
        if (way % 2)
            MPI_Waitany(SEVERAL, requests, &indices[0], MPI_STATUS_IGNORE);
        else
            while (MPI_Testsome(SEVERAL, requests, &done, indices, MPI_STATUSES_IGNORE), !done)
                usleep(20);
        for (int i = 0; i < done; i++)
            observe("index", indices[i]);
        left -= done;
    }
    observe_data("at once", gotten, sizeof gotten);
}

/* Everyone hears from everyone, in any order. */
static void find_seed(void) {
    for (int i = 0; i < world_size; i++)
        if (i != world_rank) {
            MPI_Request request;
            dawdle();
            MPI_Isend(&world_rank, 1, MPI_INT, i, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    for (int i = 1; i < world_size; i++) {
        int word;
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seed = seed * world_size + word;
    }
    observe("seed", seed);
}

int main(int argc, char **argv) {
    MPI_Comm comm, part, inter;
    begin(&argc, &argv);
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spaced);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&spaced);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose_maps, 0, &compose);
    find_seed();

    phase("world");
    one_group(MPI_COMM_WORLD);
    phase("reversed");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
    one_group(comm);
    for (int i = 0; i < ROUNDS; i++)
        at_once(comm, i);
    MPI_Comm_free(&comm);
    phase("self");
    one_group(MPI_COMM_SELF);
    phase("groups");
    int first = world_rank == 0;
    MPI_Comm_split(MPI_COMM_WORLD, first, 0, &part);
    one_group(part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, first ? 1 : 0, 3, &inter);
    two_groups(inter, first);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
    phase("neighbours");
    cartesian();
    graph();
    distributed_graph();

    MPI_Op_free(&compose);
    MPI_Type_free(&pair);
    MPI_Type_free(&spaced);
    end();
    return 0;
}
