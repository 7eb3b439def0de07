/* Extraction: which attributes a new communicator has taken over, for which callbacks of the
   program were called. That is up to the library: Open MPI's MPI_Comm_create_group copies them,
   too; and its communicators between two groups have one within their own group inside, which is a
   copy with attributes of its own. So while keeping every communicator has an attribute of ours,
   whose callback sees what is copied. */
#include "mpi/kept.h"

static int watch = MPI_KEYVAL_INVALID;

/* How often it was copied in this thread's call, and in one that a callback makes inside. */
static _Thread_local __attribute__((tls_model("initial-exec"))) int32_t copied[2];

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)keyval, (void)extra;
    copied[rf_kept_in_callback()]++;
    memcpy(out, &in, sizeof in);
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm, (void)keyval, (void)value, (void)extra;
    return MPI_SUCCESS;
}

void rf_inheritance_begin(void) {
    if (rf_layer == RF_LAYER_KEEPING)
        rf_library.Comm_create_keyval(copy, forget, &watch, NULL);
}

static bool is_watched(MPI_Comm comm) {
    void *value;
    int found = 0;
    rf_library.Comm_get_attr(comm, watch, &value, &found);
    return found;
}

void rf_inheritance_watch(MPI_Comm comm) {
    if (rf_layer == RF_LAYER_KEEPING && !is_watched(comm))
        rf_library.Comm_set_attr(comm, watch, NULL);
}

void rf_inheritance_over(void) {
    copied[rf_kept_in_callback()] = 0;
}

/* ---- alone: communicators with another one inside ---- */

static struct outer {
    MPI_Comm comm;
    MPI_Comm inner;
} * outers;
static int32_t outer_count, outer_room;

static struct outer *find(MPI_Comm comm) {
    for (int32_t i = 0; i < outer_count; i++)
        if (outers[i].comm == comm)
            return &outers[i];
    return NULL;
}

static void put_inside(MPI_Comm comm, MPI_Comm inner) {
    outers = rf_kept_grown(outers, outer_count, &outer_room, sizeof *outers);
    outers[outer_count++] = (struct outer){comm, inner};
}

MPI_Comm rf_inheritance_end(MPI_Comm comm) {
    struct outer *outer = find(comm);
    if (!outer)
        return MPI_COMM_NULL;
    MPI_Comm inner = outer->inner;
    *outer = outers[--outer_count];
    return inner;
}

/* ---- a new communicator ---- */

struct copies {
    int32_t own, inside;
};

/* The one inside comes first, and from the one inside if there is one. A new one that has taken
   over nothing is no copy: the program may have put attributes on MPI_COMM_SELF, too. */
static void make(MPI_Comm *comm, MPI_Comm parent, const struct copies *copies) {
    const struct outer *outer = find(parent);
    MPI_Comm inner;
    if (copies->inside)
        rf_library.Comm_dup(outer ? outer->inner : parent, &inner);
    if (copies->own)
        rf_library.Comm_dup(parent, comm);
    else
        rf_library.Comm_split(MPI_COMM_SELF, 0, 0, comm);
    if (copies->inside)
        put_inside(*comm, inner);
}

/* A handle that is only promised is that of a whole copy. */
void rf_through_attributes(MPI_Comm *comm, MPI_Comm parent, bool complete) {
    struct copies copies = {0};
    if (rf_layer == RF_LAYER_KEEPING) {
        copies.own = !complete || is_watched(*comm);
        copies.inside = copied[rf_kept_in_callback()] > copies.own;
    }
    rf_through(&copies, sizeof copies);
    if (rf_alone())
        make(comm, parent, &copies);
    rf_inheritance_over();
    rf_kept_callbacks(true);
}
