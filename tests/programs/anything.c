/* All that can come out differently from run to run, mixed at random: anything SEED [ROUNDS].

   A round has a plan that all ranks draw together: who sends how many messages to whom, on which
   communicator, with which tags; and collectives. How it is carried out each rank draws for itself,
   from the seed and from all that it has seen so far, so whatever comes in another order changes
   everything after it, in the end even the plans.

   No order can make it stand still:
   - Nobody waits for others before it has begun all its sends and collectives of the round.
   - Sends that may wait for their receiver have a tag of their own (PREPARED), whose receives are
     there before the round begins.
   - A receive or probe is made only if there must be a message left for it, whatever all others
     that are pending take.
   - Nobody waits for a send before it has receives for all messages of the round. */
#include "anything_forms.h"

/* Sends */

static void send_persistent(struct slot *slot, const struct message *message) {
    static int (*const ways[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                               MPI_Request *) = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init};
    int way = choose(message->words < LONG ? 3 : 2);
    ways[way](slot->words, message->words, MPI_INT, message->to, message->tag,
              comm_of(message->place), &slot->request);
    MPI_Start(&slot->request);
    slot->persistent = 1;
}

/* Never waits for anybody. */
static void send_free(const struct message *message) {
    static int (*const ways[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                               MPI_Request *) = {MPI_Isend, MPI_Isend, MPI_Issend, MPI_Ibsend};
    struct slot *slot = new_slot(SEND, message->place);
    MPI_Comm comm = comm_of(message->place);
    fill_message(slot->words, message);
    if (one_in(6)) {
        send_persistent(slot, message);
    } else if (message->words < LONG && one_in(6)) {
        MPI_Bsend(slot->words, message->words, MPI_INT, message->to, message->tag, comm);
        slot->kind = UNUSED;
    } else {
        ways[choose(message->words < LONG ? 4 : 3)](
            slot->words, message->words, MPI_INT, message->to, message->tag, comm, &slot->request);
    }
}

/* Its receive is there. The last send of the round may wait for another message at the same time.
 */
static void send_prepared(const struct message *message) {
    static int (*const ways[])(const void *, int, MPI_Datatype, int, int,
                               MPI_Comm) = {MPI_Send, MPI_Ssend, MPI_Rsend};
    static int words[LONG], room[LONG];
    MPI_Comm comm = comm_of(message->place);
    MPI_Status status;
    struct pattern pattern;
    blank(&status);
    fill_message(words, message);
    if (one_in(4)) {
        struct slot *slot = new_slot(SEND, message->place);
        memcpy(slot->words, words, sizeof words);
        MPI_Irsend(slot->words, message->words, MPI_INT, message->to, message->tag, comm,
                   &slot->request);
    } else if (draw(&pattern) && pattern.place == message->place && all_begun()) {
        MPI_Sendrecv(words, message->words, MPI_INT, message->to, message->tag, room, LONG, MPI_INT,
                     pattern.source, pattern.tag, comm, &status);
        take(pattern.place, room, LONG, &status, MPI_SUCCESS);
    } else if (one_in(4)) {
        MPI_Sendrecv_replace(words, message->words, MPI_INT, message->to, message->tag,
                             MPI_PROC_NULL, MPI_ANY_TAG, comm, &status);
        observe_nobody(&status);
    } else {
        ways[choose(3)](words, message->words, MPI_INT, message->to, message->tag, comm);
    }
}

/* What follows a message cannot overtake it: when that has come, so has the one before, of which
   nobody is told. */
static void send_given_up(const struct message *message) {
    struct message next = {message->place, message->to, PREPARED, 1};
    int words[64];
    fill_message(words, message);
    MPI_Send(words, message->words, MPI_INT, message->to, message->tag, comm_of(message->place));
    send_prepared(&next);
}

#if MPI_VERSION >= 4
/* Both halves in one request; the receive is a free one. */
static int send_and_receive(const struct message *message, const struct pattern *pattern) {
    static int words[MOST][LONG], next;
    struct slot *slot = new_slot(RECEIVE, pattern->place);
    slot->source = pattern->source;
    slot->tag = pattern->tag;
    slot->also_sends = 1;
    next = (next + 1) % MOST;
    fill_message(words[next], message);
    MPI_Isendrecv(words[next], message->words, MPI_INT, message->to, message->tag, slot->words,
                  LONG, MPI_INT, pattern->source, pattern->tag, comm_of(pattern->place),
                  &slot->request);
    return 1;
}
#else
static int send_and_receive(const struct message *message, const struct pattern *pattern) {
    (void)message, (void)pattern;
    return 0;
}
#endif

static void act_send(void) {
    struct pattern pattern;
    if (outgoing_count == 0)
        return;
    int which = choose(outgoing_count);
    struct message message = outgoing[which];
    outgoing[which] = outgoing[--outgoing_count];
    if (message.tag == PREPARED)
        send_prepared(&message);
    else if (message.tag == GIVEN_UP)
        send_given_up(&message);
    else if (!(one_in(5) && draw(&pattern) && pattern.place == message.place &&
               send_and_receive(&message, &pattern)))
        send_free(&message);
}

/* A freed send has gone when its message was received, which is before the round ends. */
static int is_send(const struct slot *slot) {
    return slot->kind == SEND && slot->active && !slot->persistent;
}

static void act_send_and_forget(void) {
    struct slot *slot = FREED_REQUESTS && one_in(4) ? some_slot(is_send) : NULL;
    if (!slot)
        return;
    MPI_Request_free(&slot->request);
    slot->kind = FORGOTTEN;
}

/* Collectives */

static void act_collective(void) {
    int place = choose(PLACES);
    if (collectives[place] == 0)
        return;
    struct slot *slot = new_slot(COLLECTIVE, place);
    MPI_Comm comm = comm_of(place);
    slot->words[LONG / 2] = (int)(observer.hash >> 40);
    slot->room = 0;
    switch (--collectives[place] % 3) {
    case 0:
        MPI_Ibarrier(comm, &slot->request);
        break;
    case 1:
        slot->room = 1;
        MPI_Iallreduce(&slot->words[LONG / 2], slot->words, 1, MPI_INT, MPI_BXOR, comm,
                       &slot->request);
        break;
    default:
        slot->room = peers(&places[place]);
        MPI_Iallgather(&slot->words[LONG / 2], 1, MPI_INT, slot->words, 1, MPI_INT, comm,
                       &slot->request);
    }
}

/* Receives */

static struct slot *post(const struct pattern *pattern, int persistent) {
    struct slot *slot = new_slot(RECEIVE, pattern->place);
    slot->source = pattern->source;
    slot->tag = pattern->tag;
    if (SHORT_REQUESTS && !(persistent && ODD_PERSISTENT) && one_in(8))
        slot->room = 1 + choose(8);
    (persistent ? MPI_Recv_init : MPI_Irecv)(slot->words, slot->room, MPI_INT, slot->source,
                                             slot->tag, comm_of(slot->place), &slot->request);
    slot->persistent = persistent;
    slot->active = !persistent;
    return slot;
}

static void act_post(void) {
    struct pattern pattern;
    if (draw(&pattern))
        post(&pattern, 0);
}

static void act_post_persistent(void) {
    struct pattern pattern;
    draw(&pattern);
    if (!is_crowded() && one_in(3))
        post(&pattern, 1);
}

static int is_inactive(const struct slot *slot) {
    return slot->kind == RECEIVE && slot->persistent && !slot->active &&
           is_sure(slot->place, slot->source, slot->tag);
}

/* One or more, as long as each is sure to get something. */
static void act_start(void) {
    MPI_Request requests[4];
    struct slot *started[4];
    int count = 0, most = 1 + choose(4);
    for (; count < most && (started[count] = some_slot(is_inactive)); count++) {
        requests[count] = started[count]->request;
        started[count]->active = 1;
    }
    if (count == 1)
        MPI_Start(&requests[0]);
    else if (count > 1)
        MPI_Startall(count, requests);
}

static int is_idle(const struct slot *slot) {
    return slot->persistent && !slot->active && slot->kind != UNUSED;
}

static void act_free(void) {
    struct slot *slot = one_in(4) ? some_slot(is_idle) : NULL;
    if (slot) {
        MPI_Request_free(&slot->request);
        slot->kind = UNUSED;
    }
}

static void receive(const struct pattern *pattern, int with_status) {
    static int words[LONG];
    MPI_Status status;
    int room = with_status && one_in(8) ? 1 + choose(8) : LONG;
    blank(&status);
    int code = MPI_Recv(words, room, MPI_INT, pattern->source, pattern->tag,
                        comm_of(pattern->place), with_status ? &status : MPI_STATUS_IGNORE);
    take(pattern->place, words, room, with_status ? &status : MPI_STATUS_IGNORE, code);
}

static void act_receive(void) {
    struct pattern pattern;
    if (all_begun() && draw(&pattern))
        receive(&pattern, choose(2));
}

static void act_exchange_with_nobody(void) {
    static int words[LONG];
    struct pattern pattern;
    MPI_Status status;
    if (!all_begun() || !draw(&pattern) || !one_in(2))
        return;
    blank(&status);
    MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, words, LONG, MPI_INT, pattern.source,
                 pattern.tag, comm_of(pattern.place), &status);
    take(pattern.place, words, LONG, &status, MPI_SUCCESS);
}

/* Probes. What was seen is received at once, or held. */

static void receive_seen(struct pattern pattern, const MPI_Status *status) {
    int count;
    if (status != MPI_STATUS_IGNORE) {
        observe_status(status);
        MPI_Get_count(status, MPI_INT, &count);
        observe("count", count);
        pattern.source = status->MPI_SOURCE;
        pattern.tag = status->MPI_TAG;
    }
    receive(&pattern, choose(2));
}

static void act_probe(void) {
    struct pattern pattern;
    MPI_Status status;
    if (!all_begun() || !draw(&pattern))
        return;
    MPI_Status *wanted = one_in(2) ? MPI_STATUS_IGNORE : &status;
    blank(&status);
    MPI_Probe(pattern.source, pattern.tag, comm_of(pattern.place), wanted);
    receive_seen(pattern, wanted);
}

/* Those for prepared messages are always there before. */
static void act_look(void) {
    struct pattern pattern;
    MPI_Status status;
    int flag = 0;
    draw(&pattern);
    MPI_Status *wanted = one_in(2) ? MPI_STATUS_IGNORE : &status;
    blank(&status);
    for (int tries = 1 + choose(4); tries > 0 && !flag; tries--) {
        MPI_Iprobe(pattern.source, pattern.tag, comm_of(pattern.place), &flag, wanted);
        observe("seen", flag);
    }
    if (flag && one_in(2))
        receive_seen(pattern, wanted);
}

static void hold(const struct pattern *pattern, MPI_Message message, const MPI_Status *status) {
    struct slot *slot = new_slot(HELD, pattern->place);
    slot->source = pattern->source;
    slot->tag = pattern->tag;
    slot->message = message;
    if (status != MPI_STATUS_IGNORE)
        observe_status(status);
}

static void act_matched_probe(void) {
    struct pattern pattern;
    MPI_Message message;
    MPI_Status status;
    if (!all_begun() || !draw(&pattern))
        return;
    MPI_Status *wanted = one_in(2) ? MPI_STATUS_IGNORE : &status;
    blank(&status);
    MPI_Mprobe(pattern.source, pattern.tag, comm_of(pattern.place), &message, wanted);
    hold(&pattern, message, wanted);
}

static void act_matched_look(void) {
    struct pattern pattern;
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    draw(&pattern);
    MPI_Status *wanted = one_in(2) ? MPI_STATUS_IGNORE : &status;
    blank(&status);
    MPI_Improbe(pattern.source, pattern.tag, comm_of(pattern.place), &flag, &message, wanted);
    observe("matched", flag);
    if (flag)
        hold(&pattern, message, wanted);
}

static int is_held(const struct slot *slot) {
    return slot->kind == HELD;
}

static void act_receive_held(void) {
    struct slot *slot = some_slot(is_held);
    MPI_Status status;
    if (!slot)
        return;
    if (one_in(2)) {
        slot->kind = RECEIVE;
        MPI_Imrecv(slot->words, slot->room, MPI_INT, &slot->message, &slot->request);
        return;
    }
    MPI_Status *wanted = one_in(2) ? MPI_STATUS_IGNORE : &status;
    blank(&status);
    int code = MPI_Mrecv(slot->words, slot->room, MPI_INT, &slot->message, wanted);
    slot->kind = UNUSED;
    take(slot->place, slot->words, slot->room, wanted, code);
}

/* Requests */

/* MPICH 4.0 takes a receive from oneself that was cancelled for a message. */
static int may_be_cancelled(int place, int source) {
    const struct place *here = &places[place];
    return peers(here) > 1 && (here->inter || source != here->rank[world_rank]);
}

static int is_wild(const struct slot *slot) {
    return is_free(slot) && may_be_cancelled(slot->place, slot->source) && slot->kind == RECEIVE &&
           !slot->cancelled && !slot->also_sends &&
           (slot->source == MPI_ANY_SOURCE || slot->tag == MPI_ANY_TAG);
}

static void act_cancel(void) {
    struct slot *slot = one_in(3) ? some_slot(is_wild) : NULL;
    if (!slot)
        return;
    MPI_Cancel(&slot->request);
    slot->cancelled = 1;
}

/* A receive from a named source must not race with its cancel. */
static void act_cancel_sure(void) {
    struct pattern pattern;
    draw(&pattern);
    if (is_crowded() || !one_in(3) || !may_be_cancelled(pattern.place, pattern.source))
        return;
    pattern.tag = NEVER_SENT;
    struct slot *slot = post(&pattern, 0);
    MPI_Cancel(&slot->request);
    slot->cancelled = 1;
    if (one_in(3)) {
        MPI_Request_free(&slot->request);
        slot->kind = UNUSED;
    }
}

static void act_nobody(void) {
    struct pattern pattern;
    MPI_Status status;
    int flag = 0, word;
    draw(&pattern);
    if (is_crowded())
        return;
    MPI_Comm comm = comm_of(pattern.place);
    struct slot *slot = new_slot(NOTHING, pattern.place);
    blank(&status);
    switch (choose(4)) {
    case 0:
        MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, pattern.tag, comm, &status);
        observe_nobody(&status);
        slot->kind = UNUSED;
        break;
    case 1:
        MPI_Iprobe(MPI_PROC_NULL, pattern.tag, comm, &flag, &status);
        observe_nobody(&status);
        slot->kind = UNUSED;
        break;
    case 2:
        MPI_Isend(&word, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &slot->request);
        break;
    default:
        MPI_Irecv(slot->words, 1, MPI_INT, MPI_PROC_NULL, pattern.tag, comm, &slot->request);
    }
}

static void act_mistake(void) {
    MPI_Request request;
    struct pattern pattern;
    int word;
    draw(&pattern);
    MPI_Comm comm = comm_of(pattern.place);
    int code = one_in(2) ? MPI_Irecv(&word, 1, MPI_INT, 1000, pattern.tag, comm, &request)
                         : MPI_Recv(&word, -1, MPI_INT, pattern.source, pattern.tag, comm,
                                    MPI_STATUS_IGNORE);
    observe("mistake", error_class(code));
}

/* Rounds */

/* Draws who sends what to whom. A rank keeps what it sends itself, and a count of what it gets. */
static void plan(void) {
    static const int sizes[] = {1, 2, 7, 60, 60, 700, 3000, LONG};
    static const int tags[] = {0, 0, 1, 2, PREPARED, GIVEN_UP};
    int sent[MOST_RANKS] = {0}, received[MOST_RANKS] = {0},
        messages = world_size * (2 + together(12));
    memset(expected, 0, sizeof expected);
    outgoing_count = 0;
    for (; messages > 0; messages--) {
        int place = together(PLACES), from = together(world_size), to = together(world_size);
        int tag = tags[together(6)], words = sizes[together(8)];
        if (tag == GIVEN_UP && words > 60)
            words = 60;
        if (tag == GIVEN_UP && !FREED_REQUESTS)
            tag = PREPARED;
        if (!reaches(&places[place], from, to) || sent[from] == MOST || received[to] >= MOST)
            continue;
        sent[from]++;
        received[to] += 1 + (tag == GIVEN_UP);
        if (from == world_rank)
            outgoing[outgoing_count++] =
                (struct message){place, places[place].rank[to], tag, words};
        if (to == world_rank)
            expected[place][places[place].rank[from]][tag]++;
        if (to == world_rank && tag == GIVEN_UP)
            expected[place][places[place].rank[from]][PREPARED]++;
    }
    for (int i = 0; i < PLACES; i++) {
        collectives[i] = together(4);
        if (!belongs(&places[i], world_rank))
            collectives[i] = 0;
    }
}

static void give_up(int *words, const struct pattern *pattern) {
    MPI_Request request;
    if (one_in(2)) {
        MPI_Irecv(words, 64, MPI_INT, pattern->source, pattern->tag, comm_of(pattern->place),
                  &request);
    } else {
        MPI_Recv_init(words, 64, MPI_INT, pattern->source, pattern->tag, comm_of(pattern->place),
                      &request);
        MPI_Start(&request);
    }
    MPI_Request_free(&request);
}

/* Receives that must be there before the round begins. All of a communicator name their source, or
   none: else one could take what another is there for. */
static void prepare(int round) {
    int gone = 0;
    for (int place = 0; place < PLACES; place++) {
        int any = one_in(2);
        for (int source = 0; source < MOST_RANKS; source++) {
            struct pattern pattern = {place, any ? MPI_ANY_SOURCE : source, PREPARED};
            for (int i = 0; i < expected[place][source][PREPARED]; i++) {
                struct slot *slot = post(&pattern, one_in(3));
                if (slot->persistent)
                    MPI_Start(&slot->request);
                slot->active = 1;
            }
            pattern.tag = GIVEN_UP;
            for (int i = 0; i < expected[place][source][GIVEN_UP]; i++)
                give_up(given_up[round % 2][gone++], &pattern);
        }
    }
}

/* Afterwards nothing of this round is on its way, and all know something of what all have seen. */
static void meet(void) {
    MPI_Request request;
    uint64_t mine = observer.hash, all = 0;
    int done = 0;
    dawdle();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int tries = choose(20); tries > 0 && !done; tries--) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        observe("met", done);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    observe("all", (long)all);
    common ^= all;
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].kind == FORGOTTEN)
            slots[i].kind = UNUSED;
}

static int is_pending(const struct slot *slot) {
    return slot->kind != UNUSED && slot->kind != FORGOTTEN && slot->active;
}

/* Does what is left of the round. */
static void finish(void) {
    struct pattern pattern = {0, MPI_ANY_SOURCE, MPI_ANY_TAG};
    while (!all_begun()) {
        act_send();
        act_collective();
    }
    for (; pattern.place < PLACES; pattern.place++)
        while (is_sure(pattern.place, pattern.source, pattern.tag))
            post(&pattern, 0);
    /* A cancelled one may leave its message to another. */
    while (some_slot(is_pending)) {
        act_receive_held();
        act_complete();
        for (pattern.place = 0; pattern.place < PLACES; pattern.place++)
            if (is_sure(pattern.place, pattern.source, pattern.tag))
                post(&pattern, 0);
    }
}

static void play(void) {
    static void (*const acts[])(void) = {act_send,
                                         act_send,
                                         act_send,
                                         act_post,
                                         act_post,
                                         act_post,
                                         act_complete,
                                         act_complete,
                                         act_complete,
                                         act_look,
                                         act_matched_look,
                                         act_probe,
                                         act_matched_probe,
                                         act_receive_held,
                                         act_receive,
                                         act_start,
                                         act_post_persistent,
                                         act_free,
                                         act_cancel,
                                         act_cancel_sure,
                                         act_nobody,
                                         act_mistake,
                                         act_ask,
                                         act_collective,
                                         act_send_and_forget,
                                         act_exchange_with_nobody,
                                         dawdle};
    for (int steps = 20 + choose(80); steps > 0; steps--) {
        int act = choose(sizeof acts / sizeof *acts);
        observe("act", act);
        acts[act]();
    }
    finish();
}

static int is_at(const struct slot *slot, int place) {
    return slot->kind != UNUSED && slot->place == place;
}

/* Between rounds; persistent requests stay as long as their communicator does. */
static void change(void) {
    int place = 1 + together(PLACES - 1), size;
    void *attached;
    for (int i = 0; i < SLOTS; i++)
        if (is_at(&slots[i], place) || slots[i].kind == SEND) {
            MPI_Request_free(&slots[i].request);
            slots[i].kind = UNUSED;
        }
    remake_place(&places[place]);
    MPI_Buffer_detach(&attached, &size);
    MPI_Buffer_attach(buffer, sizeof buffer);
}

/* Libraries connect two ranks with their first message; so does each of them here, in peace. */
static void greet(void) {
    int words[MOST_RANKS] = {0}, others[MOST_RANKS];
    MPI_Alltoall(words, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
}

static void start(int argc, char **argv) {
    int level = (int)(common % 4), provided;
    if (level == 0) {
        begin(&argc, &argv);
        return;
    }
    static const int levels[] = {0, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    MPI_Init_thread(&argc, &argv, levels[level], &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    observe_open(world_rank);
}

int main(int argc, char **argv) {
    common = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    start(argc, argv);
    observe("seed", (long)common);
    MPI_Buffer_attach(buffer, sizeof buffer);
    greet();
    make_places();
    for (int round = 0; round < rounds; round++) {
        observe("round", round);
        plan();
        prepare(round);
        meet();
        observe_data("given up", given_up[!(round % 2)], sizeof given_up[0]);
        play();
        if (together(2)) {
            meet();
            change();
        }
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].kind != UNUSED)
            MPI_Request_free(&slots[i].request);
    meet();
    observe_data("given up", given_up, sizeof given_up);
    free_places();
    end();
    return 0;
}
