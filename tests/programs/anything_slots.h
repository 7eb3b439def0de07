/* For anything.c: the requests and messages that a rank has in hand, and what is still to come. */
#ifndef ANYTHING_SLOTS_H
#define ANYTHING_SLOTS_H

#include "anything_places.h"

enum {
    FREE_TAGS = 3,
    PREPARED = 4, /* its receives are made before the round begins */
    GIVEN_UP,     /* and these are freed at once */
    NEVER_SENT,
    TAGS,
    SLOTS = 128,
    MOST = 24,    /* messages of a round from or to one rank */
    LONG = 20000, /* words of a message that no library sends before it is asked for */
    UNTOUCHED = 0x5a5a5a5a
};

/* Where the libraries themselves are not up to it: Open MPI 4.1 may let go of a request twice, or
   never, if the call that completes it with an error has others too; MPICH 4.0 with UCX may crash
   when a request that was freed before it was complete is so; MPICH 4.2 completes persistent ones
   that it is only asked about, and does not tell which of several failed. */
#ifdef OPEN_MPI
enum { SHORT_REQUESTS = 0, FREED_REQUESTS = 1, ODD_PERSISTENT = 0 };
#else
enum { SHORT_REQUESTS = 1, FREED_REQUESTS = 0, ODD_PERSISTENT = MPICH_NUMVERSION >= 40200000 };
#endif

struct message {
    int place, to, tag, words;
};

enum kind { UNUSED, RECEIVE, NOTHING, SEND, COLLECTIVE, HELD, FORGOTTEN };

/* A request with its buffer, or a message in hand. */
struct slot {
    enum kind kind;
    MPI_Request request;
    MPI_Message message;
    int active, persistent, cancelled, also_sends;
    int place, source, tag, room;
    int words[LONG];
};

static struct slot slots[SLOTS];
static struct message outgoing[MOST];
static int outgoing_count;
static int expected[PLACES][MOST_RANKS][TAGS];
static int collectives[PLACES];
static char buffer[1 << 20];
static int given_up[2][MOST][64];

static struct slot *new_slot(enum kind kind, int place) {
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].kind == UNUSED) {
            static const char *const kinds[] = {"unused",     "receive", "nothing",  "send",
                                                "collective", "hold",    "forgotten"};
            observe(kinds[kind], i);
            slots[i].kind = kind;
            slots[i].request = MPI_REQUEST_NULL;
            slots[i].active = 1;
            slots[i].persistent = slots[i].cancelled = slots[i].also_sends = 0;
            slots[i].place = place;
            slots[i].room = LONG;
            return &slots[i];
        }
    abort();
}

/* Some that nobody needs for the plan must leave room. */
static int is_crowded(void) {
    int used = 0;
    for (int i = 0; i < SLOTS; i++)
        used += slots[i].kind != UNUSED;
    return used > SLOTS / 2;
}

static struct slot *some_slot(int (*fits)(const struct slot *)) {
    int first = choose(SLOTS);
    for (int i = 0; i < SLOTS; i++)
        if (fits(&slots[(first + i) % SLOTS]))
            return &slots[(first + i) % SLOTS];
    return NULL;
}

/* What is pending, and what is left */

static int is_free(const struct slot *slot) {
    return (slot->kind == RECEIVE || slot->kind == HELD) && slot->active &&
           (slot->tag == MPI_ANY_TAG || slot->tag < FREE_TAGS);
}

static int overlap(int one, int other, int any) {
    return one == any || other == any || one == other;
}

static int left_for(int place, int source, int tag) {
    int left = 0;
    for (int i = 0; i < MOST_RANKS; i++)
        for (int k = 0; k < FREE_TAGS; k++)
            if (overlap(source, i, MPI_ANY_SOURCE) && overlap(tag, k, MPI_ANY_TAG))
                left += expected[place][i][k];
    return left;
}

/* Is there a message for such a receive, whatever those that are pending take? */
static int is_sure(int place, int source, int tag) {
    int rivals = 0;
    for (int i = 0; i < SLOTS; i++)
        rivals += is_free(&slots[i]) && slots[i].place == place &&
                  overlap(slots[i].source, source, MPI_ANY_SOURCE) &&
                  overlap(slots[i].tag, tag, MPI_ANY_TAG);
    return left_for(place, source, tag) > rivals;
}

static int all_begun(void) {
    int left = outgoing_count;
    for (int i = 0; i < PLACES; i++)
        left += collectives[i];
    return left == 0;
}

/* All begun, and a receive for every message that is still to come. */
static int all_posted(void) {
    int left = 0;
    for (int i = 0; i < PLACES; i++)
        left += left_for(i, MPI_ANY_SOURCE, MPI_ANY_TAG);
    for (int i = 0; i < SLOTS; i++)
        left -= is_free(&slots[i]) && !slots[i].cancelled;
    return all_begun() && left == 0;
}

struct pattern {
    int place, source, tag;
};

static int peer(int place) {
    return choose(peers(&places[place]));
}

/* Something to receive or to look for; true if that is sure to come. */
static int draw(struct pattern *pattern) {
    int source, tag;
    do
        pattern->place = choose(PLACES);
    while (!belongs(&places[pattern->place], world_rank) || !peers(&places[pattern->place]));
    source = peer(pattern->place);
    tag = choose(FREE_TAGS);
    pattern->source = choose(3) ? MPI_ANY_SOURCE : source;
    pattern->tag = choose(3) ? MPI_ANY_TAG : tag;
    return is_sure(pattern->place, pattern->source, pattern->tag);
}

static MPI_Comm comm_of(int place) {
    return places[place].comm;
}

/* What comes out */

static void fill_message(int *words, const struct message *message) {
    words[0] = places[message->place].rank[world_rank] << 8 | message->tag;
    for (int i = 1; i < message->words; i++)
        words[i] = (int)(observer.hash >> 32) + i;
}

/* Fields that a call leaves alone are part of what it does. */
static void blank(MPI_Status *status) {
    status->MPI_SOURCE = status->MPI_TAG = status->MPI_ERROR = UNTOUCHED;
}

static void observe_status(const MPI_Status *status) {
    observe("source", status->MPI_SOURCE);
    observe("tag", status->MPI_TAG);
    observe("error", status->MPI_ERROR == UNTOUCHED ? -1 : error_class(status->MPI_ERROR));
}

/* A receive from nobody has none of its own in MPICH 4.0: what it says was left by another. */
static void observe_nobody(const MPI_Status *status) {
#ifdef MPICH
    (void)status;
#else
    observe_status(status);
#endif
}

static void arrived(int place, int source, int tag) {
    if (--expected[place][source][tag] < 0)
        fprintf(stderr, "rank %d: a message that nobody has sent: place %d, source %d, tag %d\n",
                world_rank, place, source, tag);
}

/* A receive that has a message. Without a status the message tells who sent it. */
static void take(int place, const int *words, int room, const MPI_Status *status, int code) {
    if (code != MPI_SUCCESS)
        observe("class", error_class(code));
    if (status == MPI_STATUS_IGNORE) {
        observe_data("words", words, sizeof *words);
        arrived(place, words[0] >> 8, words[0] & 0xff);
        return;
    }
    int count;
    observe_status(status);
    MPI_Get_count(status, MPI_INT, &count);
    if (code == MPI_SUCCESS && count <= room)
        observe_data("data", words, (size_t)count * sizeof *words);
    arrived(place, status->MPI_SOURCE, status->MPI_TAG);
}

static int is_cancelled(const MPI_Status *status) {
    int cancelled;
    MPI_Test_cancelled(status, &cancelled);
    observe("cancelled", cancelled);
    return cancelled;
}

/* The request of a slot is complete. After an error a library may have freed it, or not. */
static void settle(struct slot *slot, const MPI_Status *status, int code) {
    observe("slot", slot - slots);
    if (!slot->active)
        return;
    slot->active = 0;
    /* MPICH 4.0 does not say what such a request has received. */
    if (slot->also_sends)
        status = MPI_STATUS_IGNORE;
    if (slot->kind == RECEIVE && !(slot->cancelled && is_cancelled(status)))
        take(slot->place, slot->words, slot->room, status, code);
    else if (slot->kind == COLLECTIVE)
        observe_data("result", slot->words, (size_t)slot->room * sizeof *slot->words);
    slot->cancelled = 0;
    if (!slot->persistent && slot->request != MPI_REQUEST_NULL) {
        observe("left behind", error_class(code));
        MPI_Request_free(&slot->request);
    }
    if (slot->request == MPI_REQUEST_NULL)
        slot->kind = UNUSED;
}

#endif
