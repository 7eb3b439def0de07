/* Everything that makes, asks, names and frees communicators and groups, and what they, windows and
   files say of themselves. Who came first decides on colours and orders; each rank looks at all the
   numbers that it gets. */
#include "messages.h"

enum { MOST = 16 };

static int first; /* who came first to rank 0: everyone knows it */

/* ---- what can be asked of any communicator ---- */

static void ask_group(MPI_Group group) {
    int size, rank, result, own[MOST], world[MOST];
    MPI_Group all;
    MPI_Group_size(group, &size);
    MPI_Group_rank(group, &rank);
    observe("group size", size);
    observe("group rank", rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < size; i++)
        own[i] = i;
    MPI_Group_translate_ranks(group, size, own, all, world);
    observe_data("in the world", world, (size_t)size * sizeof *world);
    MPI_Group_compare(group, all, &result);
    observe("compared", result == MPI_IDENT ? 0 : result == MPI_SIMILAR ? 1 : 2);
    MPI_Group_free(&all);
}

/* What Open MPI 4.1 says of blocking fences depends on whether rank 0 has set it by then. */
static void look_at_info(MPI_Info *info) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int keys, found;
    MPI_Info_get_nkeys(*info, &keys);
    observe("keys", keys);
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(*info, i, key);
        MPI_Info_get(*info, key, MPI_MAX_INFO_VAL, value, &found);
        if (strcmp(key, "blocking_fence") != 0)
            observe_data(key, value, strlen(value));
    }
    MPI_Info_free(info);
}

static void ask_info(MPI_Comm comm) {
    MPI_Info info;
    MPI_Comm_get_info(comm, &info);
    look_at_info(&info);
}

/* One message to the next of them, and all the usual. */
static void ask(const char *name, MPI_Comm comm) {
    int rank, size, inter, topology, length, result, sum = 0, word = -1;
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Group group;
    MPI_Status status;
    observe(name, comm == MPI_COMM_NULL);
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_test_inter(comm, &inter);
    MPI_Topo_test(comm, &topology);
    observe("rank", rank);
    observe("size", size);
    observe("inter", inter);
    observe("topology", topology == MPI_UNDEFINED ? 0 : topology == MPI_CART ? 1 : 2);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    observe("like the world", result == MPI_UNEQUAL);
    memset(text, 'x', sizeof text);
    MPI_Comm_get_name(comm, text, &length);
    observe("length", length);
    observe_data("name", text, (size_t)length + 1);
    MPI_Comm_group(comm, &group);
    ask_group(group);
    MPI_Group_free(&group);
    if (inter) {
        MPI_Comm_remote_size(comm, &size);
        observe("remote size", size);
        MPI_Comm_remote_group(comm, &group);
        ask_group(group);
        MPI_Group_free(&group);
    } else {
        MPI_Sendrecv(&world_rank, 1, MPI_INT, (rank + 1) % size, 1, &word, 1, MPI_INT,
                     MPI_ANY_SOURCE, 1, comm, &status);
        observe("source", status.MPI_SOURCE);
        observe("word", word);
    }
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    observe("sum", sum);
}

/* ---- copies and parts ---- */

static void copies(void) {
    MPI_Comm dup, with_info, idup, of_dup;
    MPI_Request request;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_name(dup, "the copy");
    ask("dup", dup);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mine", "yes");
    MPI_Comm_dup_with_info(dup, info, &with_info);
    MPI_Info_free(&info);
    ask("dup with info", with_info);
    MPI_Comm_idup(with_info, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ask("idup", idup);
#ifdef MPICH
    MPI_Comm_free(&idup);
    MPI_Comm_idup_with_info(with_info, MPI_INFO_NULL, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ask("idup with info", idup);
#endif
    MPI_Comm_free(&dup);
    MPI_Comm_dup(idup, &of_dup);
    MPI_Comm_free(&idup);
    MPI_Comm_free(&with_info);
    ask("of a copy that is gone", of_dup);
    MPI_Comm_free(&of_dup);
    observe("null", of_dup == MPI_COMM_NULL);
    /* A program may see the same handles again. */
    for (int i = 0; i < 40; i++) {
        MPI_Comm one, two;
        MPI_Comm_dup(MPI_COMM_WORLD, &one);
        MPI_Comm_split(one, (world_rank + i) % 2, i % 3 ? world_rank : -world_rank, &two);
        MPI_Comm_free(i % 2 ? &one : &two);
        ask("again", i % 2 ? two : one);
        MPI_Comm_free(i % 2 ? &two : &one);
    }
}

static void parts(void) {
    MPI_Comm comm, of_comm;
    MPI_Group world, group;
    int members[MOST];
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == first ? MPI_UNDEFINED : 1, -world_rank, &comm);
    ask("all but one", comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_split(comm, world_rank % 2, 0, &of_comm);
        ask("part of a part", of_comm);
        MPI_Comm_free(&of_comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -world_rank, MPI_INFO_NULL, &comm);
    ask("one machine", comm);
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, world_rank == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                        MPI_INFO_NULL, &comm);
    ask("without one", comm);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    members[0] = world_size - 1;
    members[1] = first;
    MPI_Group_incl(world, 2, members, &group);
    MPI_Comm_create(MPI_COMM_WORLD, first == members[0] ? world : group, &comm);
    ask("created", comm);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
    ask("of nobody", comm);
    MPI_Group_free(&group);
    members[1] = 0;
    MPI_Group_incl(world, 2, members, &group);
    if (world_rank == 0 || world_rank == world_size - 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 4, &comm);
        ask("created by the group", comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void between(void) {
    int side = world_rank == 0 || world_rank == first;
    MPI_Comm part, inter, copy, merged;
    MPI_Group group, local;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &part);
    int other = 0;
    /* The lowest rank of the other side. */
    if (side)
        for (other = 1; other == first;)
            other++;
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, other, 6, &inter);
    ask("two sides", inter);
    MPI_Comm_dup(inter, &copy);
    ask("copy of two sides", copy);
    for (int high = 0; high < 2; high++) {
        MPI_Intercomm_merge(inter, high ? side : !side, &merged);
        ask("merged", merged);
        MPI_Comm_free(&merged);
    }
    MPI_Comm_split(inter, world_rank < 2, 0, &merged);
    observe("split of two sides", merged == MPI_COMM_NULL);
    if (merged != MPI_COMM_NULL)
        MPI_Comm_free(&merged);
    MPI_Comm_remote_group(inter, &group);
    MPI_Comm_group(inter, &local);
    MPI_Group all;
    MPI_Group_union(local, group, &all);
    ask_group(all);
    MPI_Group_free(&all);
    MPI_Group_free(&local);
    MPI_Group_free(&group);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

/* ---- groups ---- */

static void groups(void) {
    MPI_Group world, even, low, result, reversed, empty;
    int ranks[MOST], number = 0, order, out[4];
    int ranges[2][3] = {{world_size - 1, 0, -1}, {0, 0, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = first % 2; i < world_size; i += 2)
        ranks[number++] = i;
    MPI_Group_incl(world, number, ranks, &even);
    ask_group(even);
    MPI_Group_excl(world, number, ranks, &low);
    ask_group(low);
    MPI_Group_range_incl(world, 1, ranges, &reversed);
    ask_group(reversed);
    MPI_Group_range_excl(world, 1, ranges, &empty);
    ask_group(empty);
    observe("empty", empty == MPI_GROUP_EMPTY);
    MPI_Group_compare(empty, MPI_GROUP_EMPTY, &order);
    observe("compared", order == MPI_IDENT);
    MPI_Group_compare(world, reversed, &order);
    observe("compared", order == MPI_SIMILAR);
    MPI_Group_union(even, low, &result);
    ask_group(result);
    MPI_Group_free(&result);
    MPI_Group_intersection(reversed, even, &result);
    ask_group(result);
    MPI_Group_free(&result);
    MPI_Group_intersection(even, low, &result);
    ask_group(result);
    observe("empty", result == MPI_GROUP_EMPTY);
    if (result != MPI_GROUP_EMPTY)
        MPI_Group_free(&result);
    MPI_Group_difference(reversed, low, &result);
    ask_group(result);
    /* Some of them are not in the other, one is nobody. */
    MPI_Group_translate_ranks(reversed, 4, (int[]){0, MPI_PROC_NULL, 1, 0}, result, out);
    for (int i = 0; i < 4; i++)
        observe("translated", out[i] == MPI_UNDEFINED ? -1 : out[i] == MPI_PROC_NULL ? -2 : out[i]);
    MPI_Group_free(&result);
    MPI_Group_incl(world, 0, ranks, &result);
    ask_group(result);
    if (empty != MPI_GROUP_EMPTY)
        MPI_Group_free(&empty);
    MPI_Group_free(&reversed);
    MPI_Group_free(&low);
    MPI_Group_free(&even);
    MPI_Group_free(&world);
}

/* ---- topologies ---- */

static void ask_cart(MPI_Comm comm, int number) {
    int dims[4], periods[4], coords[4], rank, size, low, high;
    memset(dims, 0x55, sizeof dims);
    memset(periods, 0x55, sizeof periods);
    memset(coords, 0x55, sizeof coords);
    ask("cart", comm);
    MPI_Cartdim_get(comm, &size);
    observe("dimensions", size);
    MPI_Cart_get(comm, number, dims, periods, coords);
    observe_data("dims", dims, sizeof dims);
    observe_data("periods", periods, sizeof periods);
    observe_data("coords", coords, sizeof coords);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        MPI_Cart_coords(comm, i, number, coords);
        observe_data("coords", coords, sizeof coords);
        MPI_Cart_rank(comm, coords, &rank);
        observe("rank", rank);
    }
    for (int i = 0; i < number; i++)
        for (int step = -2; step <= 2; step++) {
            MPI_Cart_shift(comm, i, step, &low, &high);
            observe("low", low);
            observe("high", high);
        }
}

static void cartesian(void) {
    int dims[2] = {0, 0}, periods[2] = {first % 2, 1}, keep[2] = {0, 1}, rank;
    MPI_Comm comm, copy, part;
    MPI_Dims_create(world_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, first % 2, &comm);
    ask_cart(comm, 2);
    MPI_Comm_dup(comm, &copy);
    ask_cart(copy, 2);
    MPI_Comm_free(&comm);
    MPI_Cart_sub(copy, keep, &part);
    ask_cart(part, 1);
    MPI_Comm_free(&part);
    MPI_Cart_map(copy, 2, dims, periods, &rank);
    observe("mapped", rank);
    MPI_Comm_free(&copy);
    /* Not everyone has a place. */
    dims[0] = world_size - 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    observe("left out", comm == MPI_COMM_NULL);
    if (comm != MPI_COMM_NULL) {
        ask_cart(comm, 1);
        MPI_Comm_free(&comm);
    }
}

/* A ring, seen from both sides. */
static void graph(void) {
    int index[MOST], edges[2 * MOST], nodes, count, rank;
    MPI_Comm comm;
    for (int i = 0; i < world_size; i++) {
        edges[2 * i] = (i + world_size - 1) % world_size;
        edges[2 * i + 1] = (i + 1) % world_size;
        index[i] = 2 * (i + 1);
    }
    MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &comm);
    ask("graph", comm);
    MPI_Graphdims_get(comm, &nodes, &count);
    observe("nodes", nodes);
    observe("edges", count);
    memset(index, 0x55, sizeof index);
    memset(edges, 0x55, sizeof edges);
    MPI_Graph_get(comm, nodes, count, index, edges);
    observe_data("index", index, sizeof index);
    observe_data("edges", edges, sizeof edges);
    for (int i = 0; i < nodes; i++) {
        int near[4] = {-7, -7, -7, -7};
        MPI_Graph_neighbors_count(comm, i, &count);
        observe("count", count);
        MPI_Graph_neighbors(comm, i, count, near);
        observe_data("neighbours", near, sizeof near);
    }
    MPI_Graph_map(MPI_COMM_WORLD, world_size, index, edges, &rank);
    observe("mapped", rank);
    MPI_Comm_free(&comm);
}

/* In which order the library has them is its own business, and not recorded. */
static void sort(int *ranks, int *weights, int count) {
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (ranks[k] < ranks[i] || (ranks[k] == ranks[i] && weights[k] < weights[i])) {
                int rank = ranks[i], weight = weights[i];
                ranks[i] = ranks[k];
                weights[i] = weights[k];
                ranks[k] = rank;
                weights[k] = weight;
            }
}

static void ask_dist_graph(MPI_Comm comm) {
    int in, out, weighted, sources[MOST], targets[MOST], from[MOST], to[MOST];
    ask("distributed graph", comm);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    observe("in", in);
    observe("out", out);
    observe("weighted", weighted != 0);
    memset(sources, 0x55, sizeof sources);
    memset(targets, 0x55, sizeof targets);
    memset(from, 0x55, sizeof from);
    memset(to, 0x55, sizeof to);
    MPI_Dist_graph_neighbors(comm, in, sources, weighted ? from : MPI_UNWEIGHTED, out, targets,
                             weighted ? to : MPI_UNWEIGHTED);
    sort(sources, from, in);
    sort(targets, to, out);
    observe_data("sources", sources, sizeof sources);
    observe_data("targets", targets, sizeof targets);
    observe_data("from", from, sizeof from);
    observe_data("to", to, sizeof to);
}

static void distributed_graph(void) {
    int before = (world_rank + world_size - 1) % world_size, after = (world_rank + 1) % world_size;
    int weight = 10 + world_rank, back = 10 + before, degrees[1] = {2}, both[2] = {after, first};
    int weights[2] = {weight, 3};
    MPI_Comm comm, copy;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &back, 1, &after, &weight,
                                   MPI_INFO_NULL, 0, &comm);
    ask_dist_graph(comm);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&comm);
    ask_dist_graph(copy);
    MPI_Comm_free(&copy);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world_rank, degrees, both, weights, MPI_INFO_NULL, 0,
                          &comm);
    ask_dist_graph(comm);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create(MPI_COMM_WORLD, world_rank == first, &world_rank, degrees, both,
                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    ask_dist_graph(comm);
    MPI_Comm_free(&comm);
}

/* ---- attributes and error handlers ---- */

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    int size;
    (void)keyval;
    MPI_Comm_size(comm, &size);
    observe("copied", *(int *)extra * 100 + size);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra) {
    int rank;
    (void)keyval;
    MPI_Comm_rank(comm, &rank);
    observe("rank", rank);
    observe("deleted", (long)(intptr_t)value * 10 + *(int *)extra);
    return MPI_SUCCESS;
}

static int refuse_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

/* What is left in the handle is up to the library. */
static void refused_copy(void) {
    MPI_Comm one, none = MPI_COMM_SELF;
    int key;
    MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(one, key, NULL);
    observe("refused", MPI_Comm_dup(one, &none) != MPI_SUCCESS);
    observe("what is left", none == MPI_COMM_SELF ? 1 : none == MPI_COMM_NULL ? 2 : 3);
    MPI_Comm_free(&one);
    MPI_Comm_free_keyval(&key);
}

static void look(MPI_Comm comm, int key) {
    void *value = NULL;
    int found;
    MPI_Comm_get_attr(comm, key, &value, &found);
    observe("attribute", found ? (long)(intptr_t)value : -1);
}

static void attributes(void) {
    static int extra = 3;
    MPI_Comm one, two, three, split;
    MPI_Request request;
    int key, plain;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &extra);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_set_attr(one, key, (void *)(intptr_t)(100 * first));
    MPI_Comm_set_attr(one, plain, (void *)5);
    MPI_Comm_dup(one, &two);
    look(two, key);
    look(two, plain);
    extra = 4;
    /* The callback is called before the request is complete. */
    MPI_Comm_idup(two, &three, &request);
    observe("asked", 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(three, key);
    MPI_Comm_split(three, 0, 0, &split);
    look(split, key);
    MPI_Comm_delete_attr(two, key);
    look(two, key);
    MPI_Comm_free(&one);
    MPI_Comm_free(&split);
    MPI_Comm_free(&three);
    MPI_Comm_free(&two);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&plain);
}

static void on_error(MPI_Comm *comm, int *code, ...) {
    int size;
    MPI_Comm_size(*comm, &size);
    observe("handled", error_class(*code) * 100 + size);
}

/* What communicators are to hand on: an attribute and an error handler. */
static int handed_on;
static MPI_Errhandler handed_on_too;

static void hand_on(MPI_Comm comm) {
    MPI_Comm_set_attr(comm, handed_on, (void *)(intptr_t)(10 + first));
    MPI_Comm_set_errhandler(comm, handed_on_too);
}

/* A copy of the world that has both. */
static MPI_Comm begin_handing_on(void) {
    static int extra = 6;
    MPI_Comm comm;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &handed_on, &extra);
    MPI_Comm_create_errhandler(on_error, &handed_on_too);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    hand_on(comm);
    return comm;
}

static void end_handing_on(MPI_Comm comm) {
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handed_on_too);
    MPI_Comm_free_keyval(&handed_on);
}

static void look_at_handler(MPI_Comm comm) {
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(comm, &handler);
    observe("handler", handler == MPI_ERRORS_ARE_FATAL ? 0
                       : handler == MPI_ERRORS_RETURN  ? 1
                       : handler == handed_on_too      ? 2
                                                       : 3);
    MPI_Errhandler_free(&handler);
}

static void predefined(void) {
    static const int keys[] = {MPI_TAG_UB,        MPI_WTIME_IS_GLOBAL, MPI_HOST,        MPI_IO,
                               MPI_UNIVERSE_SIZE, MPI_APPNUM,          MPI_LASTUSEDCODE};
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int *value = NULL, found;
        MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &found);
        observe("predefined", found ? *value : -1);
    }
    MPI_Get_processor_name(name, &length);
    observe_data("machine", name, (size_t)length);
    ask("world", MPI_COMM_WORLD);
    ask("self", MPI_COMM_SELF);
}

/* ---- what new communicators get from those that they come from ---- */

static void make_dup(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Comm_dup(parent, comm);
}

static void make_dup_with_info(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(parent, info, comm);
    MPI_Info_free(&info);
}

static void make_idup(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Request request;
    MPI_Comm_idup(parent, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void make_split(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Comm_split(parent, world_rank % 2, -world_rank, comm);
}

static void make_split_type(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, comm);
}

static void make_from_group(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Group group;
    MPI_Comm_group(parent, &group);
    MPI_Comm_create(parent, group, comm);
    MPI_Group_free(&group);
}

static void make_by_group(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Group group;
    MPI_Comm_group(parent, &group);
    MPI_Comm_create_group(parent, group, 7, comm);
    MPI_Group_free(&group);
}

static void make_cart(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Cart_create(parent, 1, &world_size, (int[]){1}, 0, comm);
}

static void make_cart_sub(MPI_Comm parent, MPI_Comm *comm) {
    int dims[2] = {1, world_size}, periods[2] = {0, 0}, keep[2] = {0, 1};
    MPI_Comm whole;
    MPI_Cart_create(parent, 2, dims, periods, 0, &whole);
    hand_on(whole);
    MPI_Cart_sub(whole, keep, comm);
    MPI_Comm_free(&whole);
}

static void make_graph(MPI_Comm parent, MPI_Comm *comm) {
    int index[MOST], edges[MOST];
    for (int i = 0; i < world_size; i++) {
        index[i] = i + 1;
        edges[i] = i;
    }
    MPI_Graph_create(parent, world_size, index, edges, 0, comm);
}

static void make_adjacent(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Dist_graph_create_adjacent(parent, 1, &world_rank, MPI_UNWEIGHTED, 1, &world_rank,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, comm);
}

static void make_dist_graph(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Dist_graph_create(parent, 1, &world_rank, (int[]){1}, &first, MPI_UNWEIGHTED, MPI_INFO_NULL,
                          0, comm);
}

static void make_inter(MPI_Comm parent, MPI_Comm *comm) {
    MPI_Comm side;
    MPI_Comm_split(parent, world_rank % 2, 0, &side);
    hand_on(side);
    MPI_Intercomm_create(side, 0, parent, 1 - world_rank % 2, 8, comm);
    MPI_Comm_free(&side);
}

/* From two sides, that is. */
static void make_of_inter(MPI_Comm parent, MPI_Comm *comm,
                          void make(MPI_Comm inter, MPI_Comm *comm)) {
    MPI_Comm inter;
    make_inter(parent, &inter);
    hand_on(inter);
    make(inter, comm);
    MPI_Comm_free(&inter);
}

static void merge(MPI_Comm inter, MPI_Comm *comm) {
    MPI_Intercomm_merge(inter, world_rank % 2, comm);
}

static void make_merged(MPI_Comm parent, MPI_Comm *comm) {
    make_of_inter(parent, comm, merge);
}

static void make_inter_dup(MPI_Comm parent, MPI_Comm *comm) {
    make_of_inter(parent, comm, make_dup);
}

static void inheritance(void) {
    static void (*const makers[])(MPI_Comm parent, MPI_Comm * comm) = {
        make_dup,        make_dup_with_info, make_idup,  make_split,  make_split_type,
        make_from_group, make_by_group,      make_cart,  make_graph,  make_cart_sub,
        make_adjacent,   make_dist_graph,    make_inter, make_merged, make_inter_dup};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        MPI_Comm parent = begin_handing_on(), comm, copy;
        observe("maker", (long)i);
        makers[i](parent, &comm);
        look(comm, handed_on);
        look_at_handler(comm);
        ask_info(comm);
        /* And so on. */
        MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
        MPI_Comm_dup(comm, &copy);
        look(copy, handed_on);
        look_at_handler(copy);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&comm);
        makers[i](parent, &comm);
        look_at_handler(comm);
        MPI_Comm_free(&comm);
        end_handing_on(parent);
    }
}

/* ---- what windows and files take over, and say of themselves ---- */

static int delete_of_window(MPI_Win window, int keyval, void *value, void *extra) {
    (void)window, (void)keyval, (void)extra;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    observe("deleted", (long)(intptr_t)value * 10 + rank);
    return MPI_SUCCESS;
}

static void end_window(MPI_Win *window) {
    MPI_Info info;
    int key;
    MPI_Win_get_info(*window, &info);
    look_at_info(&info);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_of_window, &key, NULL);
    MPI_Win_set_attr(*window, key, (void *)7);
    MPI_Win_free(window);
    MPI_Win_free_keyval(&key);
}

static void windows(void) {
    long *memory, own[8] = {0};
    const int unit = sizeof *memory;
    MPI_Comm comm = begin_handing_on();
    MPI_Win window;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mine", "yes");
    MPI_Info_set(info, "same_size", "true");
    MPI_Win_allocate(8 * unit, unit, info, comm, &memory, &window);
    end_window(&window);
    MPI_Win_allocate_shared(8 * unit, unit, info, comm, &memory, &window);
    end_window(&window);
    MPI_Win_create(own, sizeof own, unit, info, comm, &window);
    end_window(&window);
    MPI_Win_create_dynamic(info, comm, &window);
    end_window(&window);
    MPI_Info_free(&info);
    end_handing_on(comm);
}

static void files(void) {
    MPI_Comm comm = begin_handing_on();
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);
#ifdef MPICH /* Open MPI 4.1 fails to tell */
    MPI_File_get_info(file, &info);
    look_at_info(&info);
#endif
    MPI_File_close(&file);
    end_handing_on(comm);
}

static void error_handlers(void) {
    MPI_Errhandler handler, got;
    MPI_Comm one, two, part;
    int word = 0;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_set_errhandler(one, handler);
    MPI_Comm_dup(one, &two);
    MPI_Comm_split(two, world_rank % 2, 0, &part);
    MPI_Comm_get_errhandler(part, &got);
    observe("handed on", got == handler);
    MPI_Errhandler_free(&got);
    /* There is no such rank. */
    observe("class", error_class(MPI_Send(&word, 1, MPI_INT, world_size, 0, one)));
    observe("class", error_class(MPI_Send(&word, 1, MPI_INT, world_size, 0, part)));
    observe("class", error_class(MPI_Bcast(&word, 1, MPI_INT, world_size + 3, part)));
    MPI_Comm_call_errhandler(two, MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
    observe("class", error_class(MPI_Send(&word, -1, MPI_INT, 0, 0, part)));
    /* A message that is too long, told by the communicator. */
    MPI_Request request;
    int words[2] = {1, 2};
    MPI_Isend(words, 2, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    observe("class",
            error_class(MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE)));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&one);
    MPI_Comm_free(&part);
    MPI_Comm_free(&two);
    MPI_Errhandler_free(&handler);
}

static void find_first(void) {
    MPI_Status status;
    int word;
    if (world_rank == 0)
        for (int i = 1; i < world_size; i++) {
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            if (i == 1)
                first = status.MPI_SOURCE;
        }
    else
        send_stream(MPI_COMM_WORLD, 0, 1, 1, 1);
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    observe("first", first);
}

int main(int argc, char **argv) {
    static void (*const parts_of_it[])(void) = {
        predefined,        copies,     parts,        between,        groups,      cartesian, graph,
        distributed_graph, attributes, refused_copy, error_handlers, inheritance, windows,   files};
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof parts_of_it / sizeof *parts_of_it; i++) {
        phase("part");
        find_first();
        parts_of_it[i]();
    }
    end();
    return 0;
}
