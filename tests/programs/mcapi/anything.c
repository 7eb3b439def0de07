/* A random program: anything SEED [ROUNDS] [WORD...] [--processes]. Two to eight nodes do whatever
   MCAPI has, at random, and write down all that they are told. Words:
     remake   endpoints are deleted and made again
     again    all nodes end in the middle, and go on as others
     threads  each node has two threads
     narrow   few requests, short queues
   PROGRAM_LATE names a node that sleeps now and then.

   What a node does next depends on all that it was told before: one difference and everything after
   it is another. Only this is planned, from the seed, so that nobody waits in vain: how many
   messages each sends to each endpoint in a round, and which channels there are. As long as a node
   owes something to others it waits for nothing without a limit of time, and what does not succeed
   is tried again, in random order. So whoever waits gets what he waits for. */
#include "anything_worker.h"

/* ---- endpoints ---- */

static mcapi_endpoint_t make(int port) {
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = mcapi_endpoint_create(port_of(me.number, port), &status);
    if (!told("create", status, 0, 0, 0))
        return 0;
    mcapi_timeout_t time = 1 + choose(3);
    mcapi_endpoint_set_attribute(endpoint, MCAPI_ENDP_ATTR_TIMEOUT, &time, sizeof time, &status);
    must("mcapi_endpoint_set_attribute", status);
    return endpoint;
}

static void delete_endpoint(mcapi_endpoint_t *endpoint) {
    mcapi_status_t status;
    if (!*endpoint)
        return;
    mcapi_endpoint_delete(*endpoint, &status);
    told("delete", status, 0, 0, 0);
    *endpoint = 0;
}

static void make_endpoint(void) {
    unsigned which = choose(PORTS + CHANNELS + 1);
    if (which < PORTS && !me.own[which])
        me.own[which] = make((int)which);
    else if (which == PORTS && !me.spare)
        me.spare = make(SPARE_PORT);
    else if (which > PORTS && !me.ends[which - PORTS - 1])
        me.ends[which - PORTS - 1] = make(CHANNEL_PORT + (int)which - PORTS - 1);
}

/* Somebody whom I owe something, if `known` one whose endpoint I have. */
static int somebody(bool known) {
    int first = (int)choose((unsigned)(plan.workers * PORTS));
    for (int i = 0; i < plan.workers * PORTS; i++) {
        int place = (first + i) % (plan.workers * PORTS), to = place / PORTS, port = place % PORTS;
        if (me.owed[to][port] && !me.others[to][port] == !known)
            return place;
    }
    return -1;
}

static mcapi_endpoint_t find(int worker, int port) {
    mcapi_status_t status;
    mcapi_endpoint_t endpoint =
        mcapi_endpoint_get(DOMAIN, node_of(worker), port_of(worker, port), choose(3), &status);
    return told("get", status, MCAPI_TIMEOUT, 0, 0) ? endpoint : 0;
}

static void find_endpoint(void) {
    mcapi_status_t status;
    int place = somebody(false);
    if (place < 0)
        return;
    if (choose(2)) {
        me.others[place / PORTS][place % PORTS] = find(place / PORTS, place % PORTS);
        return;
    }
    for (int i = 0; i < me.count; i++)
        if (me.pending[i]->kind == FOUND && me.pending[i]->place == place)
            return;
    struct pending *pending = new_pending(FOUND, place);
    if (!pending)
        return;
    mcapi_endpoint_get_i(DOMAIN, node_of(place / PORTS), port_of(place / PORTS, place % PORTS),
                         &pending->found, &pending->request, &status);
    if (told("get_i", status, MCAPI_PENDING, 0, 0)) {
        me.others[place / PORTS][place % PORTS] = pending->found;
        pending->kind = AT_ONCE;
    }
    keep_pending(pending, status);
}

/* One that nobody else knows of. */
static void borrow_endpoint(void) {
    mcapi_domain_t domain;
    mcapi_node_t node;
    mcapi_port_t port = 0;
    mcapi_status_t status;
    mcapi_request_t request;
    unsigned char word[8];
    size_t size = 0;
    if (choose(4))
        return;
    mcapi_endpoint_t endpoint = mcapi_endpoint_create(MCAPI_PORT_ANY, &status);
    if (!told("create", status, 0, 0, 0))
        return;
    mcapix_endpoint_name(endpoint, &domain, &node, &port);
    observe("port", (long)port);
    for (unsigned i = choose(4); i > 0; i--) {
        mcapi_msg_send(endpoint, endpoint, &observer.hash, sizeof word, choose(2), &status);
        told("send", status, 0, 0, 0);
    }
    mcapi_msg_recv_i(endpoint, word, choose(9), &request, &status);
    if (status == MCAPI_PENDING && choose(2)) {
        mcapi_test(&request, &size, &status);
        observe("test", (long)status);
        observe_data("word", word, size);
    }
    delete_endpoint(&endpoint);
    if (choose(2)) {
        mcapi_wait(&request, &size, 1, &status);
        observe("wait", (long)status);
    }
}

static void ask_attribute(void) {
    uint64_t value = 0;
    mcapi_status_t status;
    unsigned which = choose(MCAPI_ENDP_ATTR_END + 1);
    mcapi_endpoint_t endpoint = choose(2) ? me.own[choose(PORTS)] : me.spares[choose(WORKERS_MOST)];
    mcapi_endpoint_get_attribute(endpoint, which, &value,
                                 which == MCAPI_ENDP_ATTR_GET_SOURCE ? 8 : 4, &status);
    observe("attribute", (long)status);
    if (status == MCAPI_SUCCESS)
        observe("value", (long)value);
    mcapi_node_attr_type_t type = 0;
    mcapi_node_get_attribute(DOMAIN, node_of((int)choose(WORKERS_MOST)), MCAPI_NODE_ATTR_TYPE,
                             &type, sizeof type, &status);
    observe("node", (long)status);
}

static void set_attribute(void) {
    mcapi_endp_attr_priority_t priority = choose(5);
    mcapi_status_t status;
    mcapi_endpoint_t endpoint =
        plan.threads > 1 || choose(2) ? me.spare : me.spares[choose(WORKERS_MOST)];
    mcapi_endpoint_set_attribute(endpoint, MCAPI_ENDP_ATTR_PRIORITY, &priority, sizeof priority,
                                 &status);
    observe("set", (long)status);
}

/* ---- messages ---- */

/* A difference of one becomes a difference of all. */
static size_t compose(unsigned char data[ROOM]) {
    size_t size = choose(6) ? choose(60) : choose(ROOM);
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)((observer.hash >> i % 8 * 8) + i);
    return size;
}

static void send_to(mcapi_endpoint_t to, const char *what, mcapi_status_t *status) {
    unsigned char data[ROOM];
    size_t size = compose(data);
    mcapi_priority_t priority = choose(2);
    mcapi_endpoint_t from = me.own[choose(PORTS)];
    *status = MCAPI_TIMEOUT;
    if (!from)
        return;
    if (choose(2)) {
        mcapi_msg_send(from, to, data, size, priority, status);
        told(what, *status, MCAPI_TIMEOUT, MCAPI_ERR_ENDP_INVALID, 0);
        return;
    }
    struct pending *pending = new_pending(AT_ONCE, 0);
    if (!pending)
        return;
    mcapi_msg_send_i(from, to, data, size, priority, &pending->request, status);
    told(what, *status, MCAPI_ERR_MEM_LIMIT, MCAPI_ERR_ENDP_INVALID, 0);
    if (choose(2))
        keep_pending(pending, *status);
    else
        free(pending); /* never asked for */
}

static void send_message(void) {
    mcapi_status_t status;
    int place = somebody(true);
    if (place < 0)
        return;
    int *owed = &me.owed[place / PORTS][place % PORTS];
    send_to(me.others[place / PORTS][place % PORTS], "send", &status);
    if (status == MCAPI_ERR_ENDP_INVALID)
        fail("send", status);
    *owed -= status == MCAPI_SUCCESS;
}

static void post_receive(void) {
    mcapi_status_t status;
    int port = (int)choose(PORTS);
    struct pending *pending;
    if (!me.own[port] || me.posted[port] >= me.missing[port] ||
        !(pending = new_pending(RECEIVE, port)))
        return;
    mcapi_msg_recv_i(me.own[port], pending->data, pending->room, &pending->request, &status);
    told("recv_i", status, MCAPI_PENDING, 0, 0);
    me.posted[port] += status == MCAPI_PENDING;
    keep_pending(pending, status);
}

static void limit(mcapi_endpoint_t endpoint, mcapi_timeout_t time) {
    mcapi_status_t status;
    mcapi_endpoint_set_attribute(endpoint, MCAPI_ENDP_ATTR_TIMEOUT, &time, sizeof time, &status);
    must("mcapi_endpoint_set_attribute", status);
}

static void receive_message(void) {
    unsigned char data[ROOM];
    mcapi_status_t status;
    size_t size = 0;
    int port = (int)choose(PORTS);
    if (!me.own[port] || me.posted[port] >= me.missing[port])
        return;
    mcapi_timeout_t time = some_time(true);
    if (time == MCAPI_TIMEOUT_INFINITE)
        limit(me.own[port], time);
    mcapi_msg_recv(me.own[port], data, choose(8) ? sizeof data : choose(30), &size, &status);
    told("recv", status, MCAPI_TIMEOUT, MCAPI_ERR_MSG_TRUNCATED, 0);
    observe_data("message", data, size);
    me.missing[port] -= status != MCAPI_TIMEOUT;
    if (time == MCAPI_TIMEOUT_INFINITE)
        limit(me.own[port], 1 + choose(3));
}

static void count_messages(void) {
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = choose(2) ? me.spare : me.own[choose(PORTS)];
    if (!endpoint)
        return;
    observe("available", (long)mcapi_msg_available(endpoint, &status));
    told("available", status, 0, 0, 0);
}

/* ---- messages that nobody counts, to endpoints that come and go ---- */

static void send_spare(void) {
    mcapi_status_t status;
    int to = (int)choose((unsigned)plan.workers);
    if (!me.spares[to])
        me.spares[to] = find(to, SPARE_PORT);
    if (!me.spares[to])
        return;
    send_to(me.spares[to], "spare", &status);
    if (status == MCAPI_ERR_ENDP_INVALID)
        me.spares[to] = 0;
}

static void post_spare(void) {
    mcapi_status_t status;
    struct pending *pending;
    if (!me.spare || me.spare_posted == SPARE_MOST || !(pending = new_pending(SPARE, 0)))
        return;
    mcapi_msg_recv_i(me.spare, pending->data, pending->room, &pending->request, &status);
    told("recv_i", status, MCAPI_PENDING, 0, 0);
    me.spare_posted += status == MCAPI_PENDING;
    keep_pending(pending, status);
}

static void remake_spare(void) {
    if (plan.remake && me.spare && choose(4) == 0)
        delete_endpoint(&me.spare);
}

/* ---- channels ---- */

static struct channel *some_channel(void) {
    int count = channels(me.round);
    return count ? &me.channels[choose((unsigned)count)] : NULL;
}
static int place_of(const struct channel *channel) {
    return (int)(channel - me.channels);
}

/* May be neither of its ends. */
static void connect_channel(void) {
    struct channel *channel = some_channel();
    mcapi_request_t request;
    mcapi_status_t status;
    if (!channel || !channel->connects)
        return;
    int port = CHANNEL_PORT + place_of(channel);
    for (int i = 0; i < 2; i++) {
        int who = (int)planned(i ? TO : FROM, me.round, place_of(channel), 0);
        if (!channel->ends[i])
            channel->ends[i] = find(who % plan.workers, port);
        if (!channel->ends[i])
            return;
    }
    if (channel->scalars)
        mcapi_sclchan_connect_i(channel->ends[0], channel->ends[1], &request, &status);
    else
        mcapi_pktchan_connect_i(channel->ends[0], channel->ends[1], &request, &status);
    if (told("connect", status, 0, 0, 0))
        channel->connects = false;
}

static void open_channel(void) {
    struct channel *channel = some_channel();
    mcapi_status_t status;
    struct pending *pending;
    if (!channel || channel->state != CLOSED || !(channel->sends || channel->receives) ||
        !me.ends[place_of(channel)] || !(pending = new_pending(OPENED, place_of(channel))))
        return;
    mcapi_endpoint_t end = me.ends[place_of(channel)];
    if (channel->scalars && channel->sends)
        mcapi_sclchan_send_open_i(&channel->handle, end, &pending->request, &status);
    else if (channel->scalars)
        mcapi_sclchan_recv_open_i(&channel->handle, end, &pending->request, &status);
    else if (channel->sends)
        mcapi_pktchan_send_open_i(&channel->handle, end, &pending->request, &status);
    else
        mcapi_pktchan_recv_open_i(&channel->handle, end, &pending->request, &status);
    told("open", status, MCAPI_PENDING, 0, 0);
    if (status == MCAPI_SUCCESS || status == MCAPI_PENDING)
        channel->state = status == MCAPI_SUCCESS ? OPEN : OPENING;
    if (status == MCAPI_PENDING)
        keep_pending(pending, status);
    else
        free(pending);
}

static void send_scalar(uint64_t handle, unsigned width, mcapi_status_t *status) {
    if (width == 0)
        mcapi_sclchan_send_uint8(handle, (mcapi_uint8_t)observer.hash, status);
    else if (width == 1)
        mcapi_sclchan_send_uint16(handle, (mcapi_uint16_t)observer.hash, status);
    else if (width == 2)
        mcapi_sclchan_send_uint32(handle, (mcapi_uint32_t)observer.hash, status);
    else
        mcapi_sclchan_send_uint64(handle, observer.hash, status);
}

static uint64_t receive_scalar(uint64_t handle, unsigned width, mcapi_status_t *status) {
    if (width == 0)
        return mcapi_sclchan_recv_uint8(handle, status);
    if (width == 1)
        return mcapi_sclchan_recv_uint16(handle, status);
    if (width == 2)
        return mcapi_sclchan_recv_uint32(handle, status);
    return mcapi_sclchan_recv_uint64(handle, status);
}

static unsigned width_of(const struct channel *channel) {
    return planned(WIDTH, me.round, place_of(channel), channel->done) % 4;
}

static void send_packet(const struct channel *channel, mcapi_status_t *status) {
    unsigned char data[ROOM];
    mcapi_request_t request;
    size_t size = compose(data);
    if (choose(2))
        mcapi_pktchan_send(channel->handle, data, size, status);
    else
        mcapi_pktchan_send_i(channel->handle, data, size, &request, status);
}

/* It may be open before anybody has asked. */
static bool is_worth_a_try(const struct channel *channel) {
    return channel->state == OPEN || (channel->state == OPENING && choose(3) == 0);
}

/* The receiver may have closed it: then nobody wants the rest. */
static void send_over_channel(void) {
    struct channel *channel = some_channel();
    mcapi_status_t status;
    if (!channel || !channel->sends || channel->done == channel->count || !is_worth_a_try(channel))
        return;
    if (channel->scalars)
        send_scalar(channel->handle, width_of(channel), &status);
    else
        send_packet(channel, &status);
    if (told("channel send", status, MCAPI_TIMEOUT, MCAPI_ERR_MEM_LIMIT, MCAPI_ERR_CHAN_NOTOPEN))
        channel->done++;
    else if (status == MCAPI_ERR_CHAN_NOTOPEN && channel->state == OPEN)
        channel->done = channel->count;
}

static void receive_packet(struct channel *channel) {
    mcapi_status_t status;
    void *packet = NULL;
    size_t size = 0;
    mcapi_pktchan_recv(channel->handle, &packet, &size, &status);
    if (told("packet", status, MCAPI_TIMEOUT, MCAPI_ERR_CHAN_NOTOPEN, 0)) {
        take_packet(packet, size);
        channel->done++;
    }
}

static void post_packet(struct channel *channel) {
    mcapi_status_t status;
    struct pending *pending = new_pending(PACKET, place_of(channel));
    if (!pending)
        return;
    mcapi_pktchan_recv_i(channel->handle, &pending->packet, &pending->request, &status);
    told("packet recv_i", status, MCAPI_PENDING, MCAPI_ERR_CHAN_NOTOPEN, 0);
    channel->posted += status == MCAPI_PENDING;
    keep_pending(pending, status);
}

static void receive_over_channel(void) {
    struct channel *channel = some_channel();
    mcapi_status_t status;
    if (!channel || !channel->receives || channel->done + channel->posted >= channel->limit ||
        !is_worth_a_try(channel))
        return;
    if (channel->scalars) {
        unsigned width = choose(6) ? width_of(channel) : choose(4);
        uint64_t value = receive_scalar(channel->handle, width, &status);
        if (told("scalar", status, MCAPI_TIMEOUT, MCAPI_ERR_SCL_SIZE, MCAPI_ERR_CHAN_NOTOPEN)) {
            observe("value", (long)value);
            channel->done++;
        }
    } else if (choose(2)) {
        receive_packet(channel);
    } else {
        post_packet(channel);
    }
}

static void count_in_channel(void) {
    struct channel *channel = some_channel();
    mcapi_status_t status;
    if (!channel || !channel->receives || channel->state != OPEN)
        return;
    unsigned count = channel->scalars ? mcapi_sclchan_available(channel->handle, &status)
                                      : mcapi_pktchan_available(channel->handle, &status);
    told("available", status, 0, 0, 0);
    observe("available", (long)count);
}

/* Whoever does not want all of it may leave receives behind. */
static bool can_be_closed(const struct channel *channel) {
    if (channel->state != OPEN)
        return false;
    if (channel->sends || channel->limit == channel->count)
        return channel->done == channel->count;
    return channel->done + channel->posted == channel->limit;
}

static void close_channel(void) {
    struct channel *channel = some_channel();
    mcapi_request_t request;
    mcapi_status_t status;
    if (!channel || !can_be_closed(channel))
        return;
    if (channel->scalars && channel->sends)
        mcapi_sclchan_send_close_i(channel->handle, &request, &status);
    else if (channel->scalars)
        mcapi_sclchan_recv_close_i(channel->handle, &request, &status);
    else if (channel->sends)
        mcapi_pktchan_send_close_i(channel->handle, &request, &status);
    else
        mcapi_pktchan_recv_close_i(channel->handle, &request, &status);
    if (told("close", status, 0, 0, 0))
        channel->state = OVER;
}

/* ---- calls that make no sense ---- */

static void talk_nonsense(void) {
    mcapi_endpoint_t mine = me.own[0], other = me.spares[choose(WORKERS_MOST)];
    mcapi_request_t request = 12345, *requests[] = {&request, NULL};
    mcapi_status_t status = MCAPI_SUCCESS;
    size_t size = 0;
    int word = 0;
    void *packet = &word;
    switch (choose(14)) {
    case 0:
        mcapi_msg_send(mine, 0xdead, &word, sizeof word, 0, &status);
        break;
    case 1:
        mcapi_msg_send(mine, mine, &word, sizeof word, 99, &status);
        break;
    case 2:
        mcapi_msg_send_i(mine, mine, &word, 1 << 30, 0, &request, &status);
        break;
    case 3:
        mcapi_wait(&request, &size, choose(2) ? MCAPI_TIMEOUT_INFINITE : 1, &status);
        break;
    case 4:
        mcapi_test(choose(2) ? &request : NULL, &size, &status);
        break;
    case 5:
        mcapi_wait_any(choose(3), requests, &size, 1, &status);
        break;
    case 6:
        mcapi_cancel(&request, &status);
        break;
    case 7:
        mcapi_endpoint_create(port_of(me.number, MEETING_PORT), &status);
        break;
    case 8:
        if (plan.threads == 1 && other != me.spare)
            mcapi_endpoint_delete(other, &status);
        break;
    case 9:
        if (plan.threads == 1 && other != me.spare)
            mcapi_msg_recv(other, &word, sizeof word, &size, &status);
        break;
    case 10:
        mcapi_endpoint_get(DOMAIN, ~0u, 1, 1, &status);
        break;
    case 11:
        mcapi_pktchan_recv(77, &packet, &size, &status);
        break;
    case 12:
        mcapi_pktchan_release(&word, &status);
        break;
    default:
        mcapi_sclchan_available(me.channels[0].handle + 1, &status);
        break;
    }
    observe("nonsense", (long)status);
}

/* ---- rounds ---- */

static const struct {
    void (*act)(void);
    int weight;
} actions[] = {
    {make_endpoint, 4},        {find_endpoint, 4},    {send_message, 8},    {post_receive, 6},
    {receive_message, 5},      {count_messages, 2},   {test_one, 6},        {wait_one, 4},
    {wait_for_any, 4},         {cancel_one, 3},       {borrow_endpoint, 1}, {ask_attribute, 1},
    {set_attribute, 1},        {talk_nonsense, 1},    {send_spare, 3},      {post_spare, 2},
    {remake_spare, 1},         {connect_channel, 4},  {open_channel, 4},    {send_over_channel, 6},
    {receive_over_channel, 6}, {count_in_channel, 1}, {close_channel, 4},
};

static void act(void) {
    int total = 0;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        total += actions[i].weight;
    int chosen = (int)choose((unsigned)total);
    size_t i = 0;
    while ((chosen -= actions[i].weight) >= 0)
        i++;
    actions[i].act();
}

static void begin_channel(int place) {
    int from = (int)planned(FROM, me.round, place, 0) % plan.workers;
    int to = (int)planned(TO, me.round, place, 0) % plan.workers;
    int count = 1 + (int)planned(COUNT, me.round, place, 0) % 9;
    if (from == to)
        return;
    me.channels[place] = (struct channel){
        .scalars = planned(KIND, me.round, place, 0) % 2,
        .sends = from == me.number,
        .receives = to == me.number,
        .connects = (int)planned(CONNECTS, me.round, place, 0) % plan.workers == me.number,
        .count = count,
        .limit = planned(EARLY, me.round, place, 0) % 4 ? count : count / 2};
}

static void begin_round(void) {
    observe("round", me.round);
    for (int place = 0; place < CHANNELS; place++) {
        me.channels[place] = (struct channel){0};
        begin_channel(place);
    }
    for (int other = 0; other < plan.workers; other++)
        for (int port = 0; port < PORTS; port++) {
            me.owed[other][port] += talk(me.round, me.number, other, port);
            me.missing[port] += talk(me.round, other, me.number, port);
        }
}

/* What was looked for may be gone in the next round, and the channels are closed. */
static void end_requests(void) {
    mcapi_status_t status;
    size_t size = 0;
    for (int i = me.count - 1; i >= 0; i--)
        if (me.pending[i]->kind == FOUND) {
            mcapi_cancel(&me.pending[i]->request, &status);
            observe("cancel", (long)status);
            drop_pending(i);
        } else if (me.pending[i]->kind == PACKET) {
            mcapi_wait(&me.pending[i]->request, &size, MCAPI_TIMEOUT_INFINITE, &status);
            told("wait", status, MCAPI_ERR_CHAN_NOTOPEN, 0, 0);
            has_ended(i, size, status);
        }
}

/* Now nobody sends to me before we have met. */
static void end_round(void) {
    end_requests();
    for (int port = 0; port < PORTS; port++) {
        if (is_remade(me.round, me.number, port))
            delete_endpoint(&me.own[port]);
        for (int other = 0; other < plan.workers; other++)
            if (is_remade(me.round, other, port))
                me.others[other][port] = 0;
    }
    for (int place = 0; place < CHANNELS; place++)
        if (is_remade(me.round, me.number, CHANNEL_PORT + place))
            delete_endpoint(&me.ends[place]);
}

static void meet(void) {
    int others = me.number ? 1 : plan.workers - 1;
    if (me.number)
        send_word(me.meeting, endpoint_of((int)node_of(0), (int)port_of(0, MEETING_PORT)),
                  (int)observer.hash);
    for (int i = 0; i < others; i++)
        observe("met", receive_word(me.meeting));
    for (int other = 1; other < plan.workers && me.number == 0; other++)
        send_word(me.meeting, endpoint_of((int)node_of(other), (int)port_of(other, MEETING_PORT)),
                  (int)observer.hash);
}

static void run_rounds(void) {
    int rounds = plan.rounds / plan.epochs;
    me.meeting = own_endpoint((int)port_of(me.number, MEETING_PORT));
    for (me.round = me.epoch * rounds; me.round < (me.epoch + 1) * rounds; me.round++) {
        begin_round();
        while (!is_over()) {
            act();
            be_late();
        }
        end_round();
        if (do_meet(me.round) || me.round + 1 == (me.epoch + 1) * rounds)
            meet();
    }
}

/* ---- nodes ---- */

static void be(int node, int thread, int epoch) {
    while (me.count)
        drop_pending(me.count - 1);
    memset(&me, 0, sizeof me);
    me.node = node;
    me.thread = thread;
    me.epoch = epoch;
    me.number = node * plan.threads + thread;
    observe("begins", (long)(plan.seed << 8) + me.number);
}

struct start {
    int node, epoch;
};

static void *other_thread(void *argument) {
    const struct start *start = argument;
    observe_open(100 + start->epoch * 10 + start->node);
    be(start->node, 1, start->epoch);
    if (!mcapix_node_join(DOMAIN, node_of(me.number)))
        abort();
    run_rounds();
    observe_close();
    return NULL;
}

static void begin_node(void) {
    mcapi_param_t limits = MCAPI_PARAM_DEFAULTS;
    mcapi_status_t status;
    mcapi_info_t info;
    if (plan.narrow) {
        limits.requests = PENDING_MOST;
        limits.queue_length = 4;
    }
    mcapi_initialize(DOMAIN, node_of(me.number), NULL, &limits, &info, &status);
    must("mcapi_initialize", status);
    observe("nodes", (long)info.number_of_nodes);
}

static void node_main(int node) {
    mcapi_status_t status;
    pthread_t other;
    observe_open(node);
    for (int epoch = 0; epoch < plan.epochs; epoch++) {
        struct start start = {node, epoch};
        be(node, 0, epoch);
        begin_node();
        if (plan.threads > 1 && pthread_create(&other, NULL, other_thread, &start))
            abort();
        run_rounds();
        if (plan.threads > 1)
            pthread_join(other, NULL);
        mcapi_finalize(&status);
        must("mcapi_finalize", status);
    }
    observe_close();
}

int main(int argc, char **argv) {
    plan.remake = nodes_option(&argc, argv, "remake");
    plan.narrow = nodes_option(&argc, argv, "narrow");
    plan.epochs += nodes_option(&argc, argv, "again");
    plan.threads += nodes_option(&argc, argv, "threads");
    int apart = nodes_option(&argc, argv, "--processes");
    if (argc < 2)
        return 2;
    plan.seed = strtoull(argv[1], NULL, 10);
    plan.nodes = 2 + (int)planned(NODES, 0, 0, 0) % (WORKERS_MOST / plan.threads - 1);
    plan.workers = plan.nodes * plan.threads;
    plan.rounds = argc > 2 ? atoi(argv[2]) : 4;
    return apart ? nodes_as_processes(node_main, 0, plan.nodes)
                 : nodes_as_threads(node_main, 0, plan.nodes);
}
