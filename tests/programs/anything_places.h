/* For anything.c: chance, and communicators that come and go. */
#ifndef ANYTHING_PLACES_H
#define ANYTHING_PLACES_H

#include "messages.h"

enum { MOST_RANKS = 16, PLACES = 5, NOBODY = -1 };

/* A communicator, and what every rank of the world knows of every other: its group (an
   intercommunicator has two, a split one several) and its rank in that. */
struct place {
    MPI_Comm comm;
    int inter;
    int group[MOST_RANKS], rank[MOST_RANKS];
};

static struct place places[PLACES];
static uint64_t common;
static int key = MPI_KEYVAL_INVALID;
static MPI_Errhandler noting;

static inline uint64_t scramble(uint64_t word) {
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

/* The same number in every rank. */
static int together(int below) {
    common += UINT64_C(0x9e3779b97f4a7c15);
    return (int)(scramble(common) % (uint64_t)below);
}

/* The rank's own: it hangs on all that has been observed so far. */
static int choose(int below) {
    static uint64_t drawn;
    drawn += UINT64_C(0x9e3779b97f4a7c15);
    return (int)(scramble(observer.hash ^ drawn) % (uint64_t)below);
}

static int one_in(int times) {
    return choose(times) == 0;
}

static int belongs(const struct place *place, int who) {
    return place->comm != MPI_COMM_NULL && place->group[who] != NOBODY;
}

/* Can one rank of the world send to another there? */
static int reaches(const struct place *place, int from, int to) {
    if (place->group[from] == NOBODY || place->group[to] == NOBODY)
        return 0;
    return (place->group[from] == place->group[to]) != place->inter;
}

/* How many ranks the calling one can receive from. */
static int peers(const struct place *place) {
    int count = 0;
    for (int i = 0; i < world_size; i++)
        count += reaches(place, i, world_rank);
    return count;
}

static void on_error(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    observe("handler", error_class(*code));
}

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *value, void *copy,
                          int *flag) {
    (void)comm, (void)keyval, (void)extra;
    observe("copied", *(int *)value);
    memcpy(copy, &value, sizeof value);
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm, (void)keyval, (void)extra;
    observe("deleted", *(int *)value);
    return MPI_SUCCESS;
}

/* Ranks of a group are in the order of their keys, those with the same one in that of the world. */
static void set_groups(struct place *place, const int *colours, const int *keys) {
    for (int i = 0; i < world_size; i++) {
        place->group[i] = colours[i];
        place->rank[i] = 0;
        for (int k = 0; k < world_size; k++)
            place->rank[i] +=
                colours[k] == colours[i] && (keys[k] < keys[i] || (keys[k] == keys[i] && k < i));
    }
}

static void everybody(struct place *place) {
    int colours[MOST_RANKS] = {0}, keys[MOST_RANKS] = {0};
    set_groups(place, colours, keys);
}

static void make_duplicate(struct place *place) {
    const struct place *other = &places[together(PLACES)];
    int hinted = together(2);
    if (other == place)
        other = &places[0];
    memcpy(place->group, other->group, sizeof place->group);
    memcpy(place->rank, other->rank, sizeof place->rank);
    place->inter = other->inter;
    if (!belongs(other, world_rank))
        return;
    if (hinted)
        MPI_Comm_dup_with_info(other->comm, MPI_INFO_NULL, &place->comm);
    else
        MPI_Comm_dup(other->comm, &place->comm);
}

static void make_duplicate_later(struct place *place) {
    MPI_Request request;
    int done = 0;
    everybody(place);
    MPI_Comm_idup(MPI_COMM_WORLD, &place->comm, &request);
    for (int tries = choose(4); tries > 0 && !done; tries--) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        observe("duplicated", done);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void make_split(struct place *place) {
    int colours[MOST_RANKS], keys[MOST_RANKS];
    for (int i = 0; i < world_size; i++) {
        colours[i] = together(5) - 1;
        colours[i] = colours[i] > 0 ? colours[i] % 2 : colours[i];
        keys[i] = together(3);
    }
    set_groups(place, colours, keys);
    int colour = colours[world_rank];
    MPI_Comm_split(MPI_COMM_WORLD, colour == NOBODY ? MPI_UNDEFINED : colour, keys[world_rank],
                   &place->comm);
}

/* Both sides have a leader: the first and the last rank of the world. */
static void make_inter(struct place *place) {
    int colours[MOST_RANKS], keys[MOST_RANKS], last = world_size - 1;
    MPI_Comm side;
    for (int i = 0; i < world_size; i++) {
        colours[i] = i == 0 ? 0 : i == last ? 1 : together(2);
        keys[i] = i == 0 || i == last ? 0 : 1;
    }
    set_groups(place, colours, keys);
    place->inter = 1;
    MPI_Comm_split(MPI_COMM_WORLD, colours[world_rank], keys[world_rank], &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, colours[world_rank] == 0 ? last : 0, 31,
                         &place->comm);
    MPI_Comm_free(&side);
}

static void make_merged(struct place *place) {
    int colours[MOST_RANKS] = {0}, keys[MOST_RANKS];
    struct place inter;
    make_inter(&inter);
    for (int i = 0; i < world_size; i++)
        keys[i] = inter.group[i] * world_size + inter.rank[i];
    set_groups(place, colours, keys);
    MPI_Intercomm_merge(inter.comm, inter.group[world_rank], &place->comm);
    MPI_Comm_free(&inter.comm);
}

/* Some of the world, the other way round. */
static void make_from_group(struct place *place) {
    int colours[MOST_RANKS], keys[MOST_RANKS], ranks[MOST_RANKS], count = 0;
    MPI_Group all, some;
    for (int i = world_size; i-- > 0;) {
        colours[i] = i == 0 || together(3) ? 0 : NOBODY;
        keys[i] = -i;
        if (colours[i] == 0)
            ranks[count++] = i;
    }
    set_groups(place, colours, keys);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, ranks, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &place->comm);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
}

static void make_ring(struct place *place) {
    int periodic = 1;
    everybody(place);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &place->comm);
}

/* All ranks of the world make it, even if some of them do not belong to it afterwards. */
static void make_place(struct place *place) {
    static void (*const ways[])(struct place *) = {
        make_duplicate, make_duplicate_later, make_split, make_inter,
        make_merged,    make_from_group,      make_ring};
    static int values[8];
    int way = together(sizeof ways / sizeof *ways), returning = together(2);
    place->comm = MPI_COMM_NULL;
    place->inter = 0;
    observe("made", way);
    ways[way](place);
    if (place->comm == MPI_COMM_NULL)
        return;
    MPI_Comm_set_errhandler(place->comm, returning ? MPI_ERRORS_RETURN : noting);
    if (one_in(2)) {
        int *value = &values[choose(8)];
        *value = choose(100);
        MPI_Comm_set_attr(place->comm, key, value);
    }
}

/* What is left of a communicator goes when the library has let go of all that was sent there. So
   the attribute goes first: when that happens can be told. */
static void free_place(struct place *place) {
    void *value;
    int there;
    if (place->comm == MPI_COMM_NULL)
        return;
    MPI_Comm_get_attr(place->comm, key, &value, &there);
    observe("attribute", there ? *(int *)value : -1);
    if (there)
        MPI_Comm_delete_attr(place->comm, key);
    MPI_Comm_free(&place->comm);
}

static void remake_place(struct place *place) {
    free_place(place);
    make_place(place);
}

static void make_places(void) {
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_create_errhandler(on_error, &noting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    places[0].comm = MPI_COMM_WORLD;
    everybody(&places[0]);
    for (int i = 1; i < PLACES; i++) {
        places[i].comm = MPI_COMM_NULL;
        for (int k = 0; k < world_size; k++)
            places[i].group[k] = NOBODY;
    }
    for (int i = 1; i < PLACES; i++)
        make_place(&places[i]);
}

static void free_places(void) {
    for (int i = 1; i < PLACES; i++)
        free_place(&places[i]);
    MPI_Comm_free_keyval(&key);
    MPI_Errhandler_free(&noting);
}

#endif
