/* Receives of all kinds into datatypes of all kinds: with gaps, in another order, before their
   address, anywhere; with less than was asked for, even a part of an element. Who comes first
   varies, and all that lies around what is received is looked at. */
#include "messages.h"

#include <stddef.h>

enum { ARENA = 1024, START = 400, LARGE = 1 << 20, MOST = 16 };

static int arena[ARENA], outgoing[ARENA];
static int turn;

/* ---- one message ---- */

enum way {
    RECV,
    SENDRECV,
    SENDRECV_REPLACE,
    MRECV,
    IMRECV,
    IRECV_WAIT,
    IRECV_TEST,
    IRECV_WAITALL,
    PERSISTENT,
#ifdef MPICH
    ISENDRECV,
    RECV_LARGE,
    IRECV_LARGE,
#endif
    WAYS
};

static void persistent(void *place, int count, MPI_Datatype type, MPI_Status *status) {
    MPI_Request request;
    MPI_Recv_init(place, count, type, MPI_ANY_SOURCE, turn, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Start(&request);
    MPI_Wait(&request, status);
    MPI_Request_free(&request);
}

/* The type is gone before the message is there, wherever that can be. */
static void receive(enum way way, void *place, int count, MPI_Datatype given, MPI_Status *status) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Datatype type;
    int flag = 0;
    MPI_Type_dup(given, &type);
    switch (way) {
    case RECV:
        MPI_Recv(place, count, type, MPI_ANY_SOURCE, turn, comm, status);
        break;
    case SENDRECV:
        MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, place, count, type, MPI_ANY_SOURCE, turn,
                     comm, status);
        break;
    case SENDRECV_REPLACE:
        MPI_Sendrecv_replace(place, count, type, MPI_PROC_NULL, 0, MPI_ANY_SOURCE, turn, comm,
                             status);
        break;
    case MRECV:
        MPI_Mprobe(MPI_ANY_SOURCE, turn, comm, &message, status);
        observe("probed", status->MPI_SOURCE);
        MPI_Mrecv(place, count, type, &message, status);
        observe("message", message == MPI_MESSAGE_NULL);
        break;
    case IMRECV:
        while (MPI_Improbe(MPI_ANY_SOURCE, turn, comm, &flag, &message, status), !flag)
            usleep(20);
        MPI_Imrecv(place, count, type, &message, &request);
        observe("message", message == MPI_MESSAGE_NULL);
        break;
    case PERSISTENT:
        persistent(place, count, type, status);
        return;
#ifdef MPICH
    case ISENDRECV:
        MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, place, count, type, MPI_ANY_SOURCE, turn,
                      comm, &request);
        break;
    case RECV_LARGE:
        MPI_Recv_c(place, count, type, MPI_ANY_SOURCE, turn, comm, status);
        break;
    case IRECV_LARGE:
        MPI_Irecv_c(place, count, type, MPI_ANY_SOURCE, turn, comm, &request);
        break;
#endif
    default:
        MPI_Irecv(place, count, type, MPI_ANY_SOURCE, turn, comm, &request);
    }
    MPI_Type_free(&type);
    if (request == MPI_REQUEST_NULL)
        return;
    if (way == IRECV_WAITALL)
        MPI_Waitall(1, &request, status);
    else if (way == IRECV_TEST)
        while (MPI_Test(&request, &flag, status), !flag)
            usleep(20);
    else
        MPI_Wait(&request, status);
}

static void observe_all(const MPI_Status *status, MPI_Datatype type) {
    int count;
    observe("source", status->MPI_SOURCE);
    observe("tag", status->MPI_TAG);
    MPI_Get_count(status, type, &count);
    observe("count", count);
    MPI_Get_elements(status, type, &count);
    observe("elements", count);
    MPI_Get_elements(status, MPI_BYTE, &count);
    observe("bytes", count);
    observe_data("arena", arena, sizeof arena);
}

/* ---- everyone sends to everyone ---- */

static MPI_Request sends[MOST];

static void send_all(const void *data, int count, MPI_Datatype type) {
    for (int i = 0; i < world_size; i++) {
        sends[i] = MPI_REQUEST_NULL;
        if (i != world_rank) {
            dawdle();
            MPI_Isend(data, count, type, i, turn, MPI_COMM_WORLD, &sends[i]);
        }
    }
}

static void exchange(enum way way, const void *data, int sent, MPI_Datatype as, void *place,
                     int count, MPI_Datatype type) {
    MPI_Status status;
    turn++;
    for (int i = 0; i < ARENA; i++) {
        arena[i] = -turn * 7919 - i;
        outgoing[i] = world_rank * 1000000 + turn * 1000 + i;
    }
    send_all(data, sent, as);
    for (int i = 1; i < world_size; i++) {
        receive(way, place, count, type, &status);
        observe_all(&status, type);
    }
    MPI_Waitall(world_size, sends, MPI_STATUSES_IGNORE);
}

/* Nothing, one int, a part of the last element, all but one element, all of it. */
static void ints(const char *name, void *place, int count, MPI_Datatype type) {
    int size, whole;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    whole = size / (int)sizeof(int);
    const int lengths[] = {0, 1, whole * count - 1, whole * (count - 1), whole * count};
    observe(name, whole);
    for (int i = 0; i < 15; i++)
        if (lengths[i % 5] >= 0 && lengths[i % 5] <= whole * count)
            exchange(turn % WAYS, outgoing, lengths[i % 5], MPI_INT, place, count, type);
    if (type != MPI_INT)
        MPI_Type_free(&type);
}

static void made_of_ints(void) {
    MPI_Datatype type, inner, middle;
    int *place = arena + START;
    ints("plain", place, 7, MPI_INT);
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    ints("vector", place, 3, type);
    MPI_Type_indexed(3, (int[]){2, 0, 3}, (int[]){4, 0, 10}, MPI_INT, &type);
    ints("indexed", place, 2, type);
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 0}, MPI_INT, &type);
    ints("dense in another order", place, 3, type);
    MPI_Type_indexed(2, (int[]){2, 3}, (int[]){-9, 4}, MPI_INT, &type);
    ints("before its address", place, 2, type);
    MPI_Type_vector(2, 1, 4, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, sizeof(int), &type);
    MPI_Type_free(&inner);
    ints("one within the other", place, 3, type);
    MPI_Type_create_resized(MPI_INT, -(MPI_Aint)sizeof(int), 6 * sizeof(int), &type);
    ints("lower bound", place, 3, type);
    MPI_Type_create_subarray(2, (int[]){5, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_C, MPI_INT,
                             &type);
    ints("subarray", place, 2, type);
    MPI_Type_create_subarray(2, (int[]){5, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_FORTRAN,
                             MPI_INT, &type);
    ints("subarray of Fortran", place, 2, type);
    MPI_Type_indexed(2, (int[]){1, 2}, (int[]){3, 0}, MPI_INT, &inner);
    MPI_Type_create_resized(inner, -8, 9 * sizeof(int), &middle);
    MPI_Type_vector(2, 1, 2, middle, &type);
    MPI_Type_free(&inner);
    MPI_Type_free(&middle);
    ints("nested", place, 2, type);
    MPI_Type_contiguous(2, MPI_INT, &type);
    ints("two", place, 3, type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    ints("none", place, 3, type);
    ints("no elements", place, 0, MPI_INT);
    MPI_Aint places[3];
    MPI_Get_address(arena + 20, &places[0]);
    MPI_Get_address(arena + 900, &places[1]);
    MPI_Get_address(arena + 300, &places[2]);
    MPI_Type_create_hindexed(3, (int[]){2, 3, 1}, places, MPI_INT, &type);
    ints("anywhere", MPI_BOTTOM, 1, type);
    MPI_Type_create_hindexed_block(3, 2, places, MPI_INT, &inner);
    MPI_Type_create_resized(inner, places[0], 4 * sizeof(int), &type);
    MPI_Type_free(&inner);
    ints("twice anywhere", MPI_BOTTOM, 2, type);
}

/* ---- other elements ---- */

struct mixed {
    char letter;
    double number;
    short few[3];
    int last;
};

static void same_on_both_sides(const char *name, MPI_Datatype type) {
    MPI_Type_commit(&type);
    observe(name, 0);
    for (int i = 0; i < 8; i++)
        exchange(turn % WAYS, outgoing, i % 4, type, arena + START, 3, type);
}

static void made_of_others(void) {
    static const MPI_Datatype named[] = {MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_2INT,
                                         MPI_CHAR,       MPI_BYTE,      MPI_DOUBLE};
    MPI_Datatype inner, type, types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
    MPI_Aint places[] = {offsetof(struct mixed, letter), offsetof(struct mixed, number),
                         offsetof(struct mixed, few), offsetof(struct mixed, last)};
    int lengths[] = {1, 1, 3, 1};
    MPI_Type_create_struct(4, lengths, places, types, &inner);
    MPI_Type_create_resized(inner, 0, sizeof(struct mixed), &type);
    MPI_Type_free(&inner);
    same_on_both_sides("struct", type);
    MPI_Type_free(&type);
    MPI_Type_create_hvector(3, 1, 5, MPI_CHAR, &type);
    same_on_both_sides("letters", type);
    MPI_Type_free(&type);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        type = named[i];
        same_on_both_sides("named", type);
    }
    /* A part of a structure: the char, the double and one of the shorts. */
    MPI_Type_create_struct(4, lengths, places, types, &type);
    MPI_Type_commit(&type);
    lengths[2] = 1;
    MPI_Type_create_struct(3, lengths, places, types, &inner);
    MPI_Type_commit(&inner);
    for (int way = 0; way < WAYS; way++)
        exchange(way, outgoing, 1, inner, arena + START, 1, type);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
}

static void packed(void) {
    char box[256];
    double number = 0.5 * world_rank;
    for (int way = 0; way < WAYS; way++) {
        int position = 0, unpacked[5] = {0};
        double other = 0;
        MPI_Pack(outgoing, 5, MPI_INT, box, sizeof box, &position, MPI_COMM_WORLD);
        MPI_Pack(&number, 1, MPI_DOUBLE, box, sizeof box, &position, MPI_COMM_WORLD);
        exchange(way, box, position, MPI_PACKED, arena + START, 200, MPI_PACKED);
        position = 0;
        MPI_Unpack(arena + START, 200, &position, unpacked, 5, MPI_INT, MPI_COMM_WORLD);
        MPI_Unpack(arena + START, 200, &position, &other, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        observe_data("unpacked", unpacked, sizeof unpacked);
        observe_data("number", &other, sizeof other);
        position = 0;
        MPI_Pack(outgoing, 5, MPI_INT, box, sizeof box, &position, MPI_COMM_WORLD);
        exchange(way, box, position, MPI_PACKED, arena + START, 9, MPI_INT);
    }
}

/* ---- more than a few words ---- */

static void large(void) {
    static int wide[2 * LARGE], full[LARGE];
    MPI_Datatype type;
    MPI_Status status;
    MPI_Type_vector(LARGE / 4, 3, 5, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < LARGE; i++)
        full[i] = world_rank + i * 3;
    static const enum way ways[] = {RECV, IRECV_WAIT, MRECV, PERSISTENT};
    for (int i = 0; i < 4; i++) {
        turn++;
        for (int k = 0; k < 2 * LARGE; k++)
            wide[k] = k - turn;
        send_all(full, 3 * (LARGE / 4) - i * 1001, MPI_INT);
        for (int k = 1; k < world_size; k++) {
            receive(ways[i], wide + 5, i % 2 ? 1 : LARGE, i % 2 ? type : MPI_INT, &status);
            observe("source", status.MPI_SOURCE);
            observe_data("wide", wide, sizeof wide);
        }
        MPI_Waitall(world_size, sends, MPI_STATUSES_IGNORE);
    }
    MPI_Type_free(&type);
}

/* Types that are freed while a collective goes on with them, each partner with its own. */
static void freed_in_collective(void) {
    MPI_Datatype types[MOST], copies[MOST];
    int ones[MOST], from[MOST], to[MOST];
    MPI_Datatype plain[MOST];
    MPI_Request request;
    for (int i = 0; i < world_size; i++) {
        MPI_Type_vector(2, 1, 2 + i, MPI_INT, &types[i]);
        MPI_Type_commit(&types[i]);
        copies[i] = types[i];
        plain[i] = MPI_INT;
        ones[i] = 1;
        from[i] = i * 100;
        to[i] = i * 8;
    }
    int twos[MOST];
    for (int i = 0; i < world_size; i++)
        twos[i] = 2;
    MPI_Ialltoallw(outgoing, twos, to, plain, arena + START, ones, from, types, MPI_COMM_WORLD,
                   &request);
    for (int i = 0; i < world_size; i++)
        MPI_Type_free(&copies[i]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    observe_data("alltoallw", arena, sizeof arena);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("ints");
    made_of_ints();
    phase("others");
    made_of_others();
    phase("packed");
    packed();
    phase("collective");
    freed_in_collective();
    phase("large");
    large();
    end();
    return 0;
}
