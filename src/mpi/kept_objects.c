/* Extraction: communicators, groups, infos and messages. Alone they are real objects of the
   library, since Fortran and attributes need that, but each of a single process. */
#include "mpi/kept.h"

/* ---- communicators ---- */

static struct rf_handle_map comm_map;
static struct known_comm {
    struct rf_comm_facts facts;
    bool used;
} * comms;
static uint32_t comm_room;

static struct rf_comm_facts ask(MPI_Comm comm) {
    struct rf_comm_facts facts = {0};
    int topology = MPI_UNDEFINED, other;
    rf_library.Comm_rank(comm, &facts.rank);
    rf_library.Comm_size(comm, &facts.size);
    rf_library.Comm_test_inter(comm, &facts.inter);
    if (facts.inter) {
        rf_library.Comm_remote_size(comm, &facts.remote);
        return facts;
    }
    rf_library.Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        rf_library.Cartdim_get(comm, &facts.neighbours);
        facts.neighbours *= 2;
    } else if (topology == MPI_GRAPH) {
        rf_library.Graph_neighbors_count(comm, facts.rank, &facts.neighbours);
    } else if (topology == MPI_DIST_GRAPH) {
        int outwards;
        rf_library.Dist_graph_neighbors_count(comm, &facts.neighbours, &outwards, &other);
    }
    return facts;
}

static void learn(MPI_Comm comm, const struct rf_comm_facts *facts) {
    rf_facts_forget(comm);
    rf_inheritance_watch(comm);
    uint32_t place = 0;
    while (place < comm_room && comms[place].used)
        place++;
    if (place == comm_room) {
        uint32_t size = comm_room ? comm_room * 2 : 16;
        struct known_comm *grown = rf_kept_room(comms, size * sizeof *comms);
        memset(grown + comm_room, 0, (size - comm_room) * sizeof *grown);
        comms = grown;
        comm_room = size;
    }
    comms[place] = (struct known_comm){*facts, true};
    rf_kept_enter(&comm_map, rf_comm_key(comm), place);
}

void rf_facts_begin(void) {
    struct rf_comm_facts world = {0}, self = {.rank = 0, .size = 1};
    if (!rf_alone())
        world = ask(MPI_COMM_WORLD);
    rf_inheritance_begin();
    rf_through(&world, sizeof world);
    learn(MPI_COMM_WORLD, &world);
    learn(MPI_COMM_SELF, &self);
}

const struct rf_comm_facts *rf_facts(MPI_Comm comm) {
    static struct rf_comm_facts unknown;
    uint32_t place = rf_handle_find(&comm_map, rf_comm_key(comm));
    if (place != RF_NOWHERE)
        return &comms[place].facts;
    /* Made by a function that is not kept; alone it does not get here. */
    if (!rf_alone())
        unknown = ask(comm);
    return &unknown;
}

void rf_facts_forget(MPI_Comm comm) {
    uint32_t place = rf_handle_find(&comm_map, rf_comm_key(comm));
    if (place == RF_NOWHERE)
        return;
    comms[place].used = false;
    rf_handle_remove(&comm_map, rf_comm_key(comm));
}

void rf_through_facts(MPI_Comm comm) {
    struct rf_comm_facts facts = {0};
    if (!rf_alone())
        facts = ask(comm);
    rf_through(&facts, sizeof facts);
    learn(comm, &facts);
}

void rf_through_comm(MPI_Comm *comm, MPI_Comm parent) {
    int32_t none = !rf_alone() && *comm == MPI_COMM_NULL;
    rf_through(&none, sizeof none);
    if (none) {
        *comm = MPI_COMM_NULL;
        return;
    }
    rf_through_attributes(comm, parent, true);
    rf_through_errhandler(*comm, parent);
    rf_through_facts(*comm);
}

void rf_through_no_comm(MPI_Comm *comm) {
    int32_t none = !rf_alone() && comm && *comm == MPI_COMM_NULL;
    rf_through(&none, sizeof none);
    if (none && comm)
        *comm = MPI_COMM_NULL;
}

/* ---- groups ---- */

void rf_through_group(MPI_Group *group) {
    int32_t empty = !rf_alone() && *group == MPI_GROUP_EMPTY;
    rf_through(&empty, sizeof empty);
    if (!rf_alone())
        return;
    /* The program will free it: Open MPI counts who has the empty one, too. */
    MPI_Group self;
    rf_library.Comm_group(MPI_COMM_SELF, &self);
    rf_library.Group_incl(self, empty ? 0 : 1, (const int[]){0}, group);
    rf_library.Group_free(&self);
}

/* ---- infos ---- */

static void through_text(char *text, size_t room) {
    uint32_t size = rf_alone() ? 0 : (uint32_t)strlen(text) + 1;
    rf_through(&size, sizeof size);
    if (size == 0 || size > room)
        rf_cannot_answer("a call that gives an info");
    rf_through(text, size);
}

/* What the library says of an object depends on how the job lies on the machine, and on what all
   its ranks have asked for. */
void rf_through_info(MPI_Info *info) {
    char key[MPI_MAX_INFO_KEY + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
    int32_t count = 0;
    int found;
    if (rf_layer == RF_LAYER_CHECKING)
        return;
    if (rf_alone())
        rf_library.Info_create(info);
    else
        rf_library.Info_get_nkeys(*info, &count);
    rf_through(&count, sizeof count);
    for (int32_t i = 0; i < count; i++) {
        if (!rf_alone()) {
            rf_library.Info_get_nthkey(*info, i, key);
            rf_library.Info_get(*info, key, MPI_MAX_INFO_VAL, value, &found);
        }
        through_text(key, sizeof key);
        through_text(value, sizeof value);
        if (rf_alone())
            rf_library.Info_set(*info, key, value);
    }
}

/* ---- messages ---- */

/* Real ones: empty messages to itself. Their sends are kept until they are received: in MPICH the
   message is the request of its send, and goes if that is freed. */
static struct held {
    MPI_Message message;
    MPI_Request send;
} * held;
static int held_count, held_room, held_lock;

static void hold_send(MPI_Message message, MPI_Request send) {
    rf_lock(&held_lock);
    if (held_count == held_room) {
        held_room = held_room * 2 + 16;
        held = rf_kept_room(held, (size_t)held_room * sizeof *held);
    }
    held[held_count++] = (struct held){message, send};
    rf_unlock(&held_lock);
}

static MPI_Request let_go(MPI_Message message) {
    MPI_Request send = MPI_REQUEST_NULL;
    rf_lock(&held_lock);
    for (int i = 0; i < held_count; i++)
        if (held[i].message == message) {
            send = held[i].send;
            held[i] = held[--held_count];
            break;
        }
    rf_unlock(&held_lock);
    return send;
}

void rf_through_message(MPI_Message *message) {
    int32_t none = !rf_alone() && *message == MPI_MESSAGE_NO_PROC;
    rf_through(&none, sizeof none);
    if (!rf_alone())
        return;
    *message = MPI_MESSAGE_NO_PROC;
    if (!none) {
        MPI_Request send;
        rf_library.Isend(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &send);
        rf_library.Mprobe(0, 0, MPI_COMM_SELF, message, MPI_STATUS_IGNORE);
        hold_send(*message, send);
    }
}

void rf_message_end(MPI_Message *message) {
    if (!rf_alone())
        return;
    MPI_Request send = let_go(*message);
    rf_library.Mrecv(NULL, 0, MPI_BYTE, message, MPI_STATUS_IGNORE);
    rf_library.Wait(&send, MPI_STATUS_IGNORE);
}
