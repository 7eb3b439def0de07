/* Nodes that come later in one run than in another, and what calls tell them then:
   late CASE [--processes]. PROGRAM_LATE names the node that sleeps where it says so. */
#include "nodes.h"

enum { WORD_PORT = 5, OTHER_PORT = 6, PACKETS = 3, FLOOD = 300, MANY = 10000, LATE_US = 100000 };

static void be_late(int node) {
    const char *late = getenv("PROGRAM_LATE");
    if (late && atoi(late) == node)
        usleep(LATE_US);
}

static void tell(int node, const char *what, long value, mcapi_status_t status) {
    char text[MCAPI_MAX_STATUS_SIZE];
    printf("node %d: %s %ld, %s\n", node, what, value,
           mcapi_display_status(status, text, sizeof text));
}

/* What is complete at once need not be waited for. */
static void settle(mcapi_request_t *request, mcapi_status_t status) {
    size_t size;
    if (status == MCAPI_PENDING)
        mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("request", status);
}

/* ---- complete at once, in one of the runs ---- */

/* Until the other side has closed it, too, it cannot be used again. */
static mcapi_pktchan_send_hndl_t open_to(int node, mcapi_endpoint_t mine, mcapi_endpoint_t theirs) {
    mcapi_pktchan_send_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    int tries = 0;
    do {
        mcapi_pktchan_connect_i(mine, theirs, &request, &status);
        usleep(tries++ ? LATE_US / 10 : 0);
    } while (status != MCAPI_SUCCESS);
    tell(node, "connected after", tries, status);
    be_late(node);
    mcapi_pktchan_send_open_i(&handle, mine, &request, &status);
    settle(&request, status);
    return handle;
}

static void *send_packets(void *handle) {
    mcapi_status_t status;
    for (int i = 0; i < PACKETS; i++) {
        mcapi_pktchan_send(*(mcapi_pktchan_send_hndl_t *)handle, &i, sizeof i, &status);
        must("mcapi_pktchan_send", status);
    }
    return handle;
}

static void close_to(mcapi_pktchan_send_hndl_t handle) {
    mcapi_request_t request;
    mcapi_status_t status;
    mcapi_pktchan_send_close_i(handle, &request, &status);
    settle(&request, status);
}

static mcapi_pktchan_recv_hndl_t open_from(int node, mcapi_endpoint_t mine) {
    mcapi_pktchan_recv_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    be_late(node);
    do
        mcapi_pktchan_recv_open_i(&handle, mine, &request, &status);
    while (status == MCAPI_ERR_CHAN_CLOSEPENDING);
    settle(&request, status);
    return handle;
}

static int take_packet(mcapi_pktchan_recv_hndl_t handle, mcapi_status_t *status) {
    void *packet = NULL;
    size_t size;
    mcapi_status_t released;
    mcapi_pktchan_recv(handle, &packet, &size, status);
    int word = packet ? *(int *)packet : -1;
    mcapi_pktchan_release(packet, &released);
    return word;
}

static void close_from(int node, mcapi_pktchan_recv_hndl_t handle) {
    mcapi_request_t request;
    mcapi_status_t status;
    be_late(node);
    mcapi_pktchan_recv_close_i(handle, &request, &status);
    settle(&request, status);
}

static void receive_packets(int node, mcapi_endpoint_t mine, int count) {
    mcapi_pktchan_recv_hndl_t handle = open_from(node, mine);
    mcapi_status_t status;
    for (int i = 0; i < count; i++) {
        int word = take_packet(handle, &status);
        tell(node, "packet", word, status);
    }
    close_from(node, handle);
}

static void channels(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), theirs = endpoint_of(1 - node, WORD_PORT);
    for (int i = 0; i < 2; i++) {
        if (node) {
            receive_packets(node, mine, PACKETS);
            continue;
        }
        mcapi_pktchan_send_hndl_t handle = open_to(node, mine, theirs);
        send_packets(&handle);
        close_to(handle);
    }
}

/* Two threads of a node send over a channel, and over the next one. Its endpoints have had a
   message before. */
static void crowded(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), theirs = endpoint_of(1 - node, WORD_PORT);
    mcapi_endpoint_t other_port = own_endpoint(OTHER_PORT);
    if (node) {
        receive_word(mine);
        send_word(other_port, endpoint_of(0, OTHER_PORT), 1);
    } else {
        send_word(mine, theirs, 1);
        receive_word(other_port);
    }
    for (int i = 0; i < 2; i++) {
        pthread_t other;
        if (node) {
            receive_packets(node, mine, 2 * PACKETS);
            continue;
        }
        mcapi_pktchan_send_hndl_t handle = open_to(node, mine, theirs);
        if (pthread_create(&other, NULL, send_packets, &handle))
            abort();
        send_packets(&handle);
        pthread_join(other, NULL);
        close_to(handle);
    }
}

static void found(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), theirs = 0;
    mcapi_request_t request;
    mcapi_status_t status;
    be_late(node);
    if (node) {
        tell(node, "received", receive_word(own_endpoint(OTHER_PORT)), MCAPI_SUCCESS);
        return;
    }
    mcapi_endpoint_get_i(DOMAIN, 1, OTHER_PORT, &theirs, &request, &status);
    settle(&request, status);
    send_word(mine, theirs, 42);
}

/* ---- requests that end with an error, and calls that make no sense ---- */

static mcapi_request_t post_and_delete(int port) {
    static int word;
    mcapi_request_t request;
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = own_endpoint(port);
    mcapi_msg_recv_i(endpoint, &word, sizeof word, &request, &status);
    mcapi_endpoint_delete(endpoint, &status);
    must("mcapi_endpoint_delete", status);
    return request;
}

static void failed(int node) {
    mcapi_request_t never, request = post_and_delete(WORD_PORT), *both[] = {&never, &request};
    mcapi_status_t status;
    size_t size = 99;
    int word;
    tell(node, "test", mcapi_test(&request, &size, &status), status);
    tell(node, "wait", mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status), status);
    tell(node, "wait", mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status), status);
    tell(node, "bytes", (long)size, status);
    mcapi_msg_recv_i(own_endpoint(OTHER_PORT), &word, sizeof word, &never, &status);
    mcapi_msg_send_i(own_endpoint(WORD_PORT), endpoint_of(0, OTHER_PORT), &word, sizeof word, 0,
                     &request, &status);
    tell(node, "wait", mcapi_wait(&never, &size, MCAPI_TIMEOUT_INFINITE, &status), status);
    tell(node, "wait", mcapi_wait(&never, &size, 1, &status), status);
    mcapi_msg_recv_i(endpoint_of(0, OTHER_PORT), &word, sizeof word, &never, &status);
    mcapi_endpoint_delete(endpoint_of(0, WORD_PORT), &status);
    request = post_and_delete(WORD_PORT);
    tell(node, "wait_any", (int)mcapi_wait_any(2, both, &size, LATE_US, &status), status);
    tell(node, "wait", mcapi_wait(&request, &size, 1, &status), status);
    tell(node, "wait_any", (int)mcapi_wait_any(SIZE_MAX / 16, both, &size, 1, &status), status);
}

/* ---- what attributes show of others ---- */

static void attributes(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT);
    mcapi_endp_attr_get_source_t source;
    mcapi_endp_attr_priority_t priority = 2;
    mcapi_node_attr_type_t type;
    mcapi_status_t status;
    if (node) {
        be_late(node);
        mcapi_endpoint_set_attribute(mine, MCAPI_ENDP_ATTR_PRIORITY, &priority, sizeof priority,
                                     &status);
        send_word(mine, endpoint_of(0, WORD_PORT), node);
        receive_word(mine);
        return;
    }
    mcapi_endpoint_t theirs = endpoint_of(2, WORD_PORT);
    usleep(LATE_US / 2);
    mcapi_endpoint_get_attribute(theirs, MCAPI_ENDP_ATTR_PRIORITY, &priority, sizeof priority,
                                 &status);
    tell(node, "priority", (long)priority, status);
    receive_word(mine);
    receive_word(mine);
    mcapi_endpoint_get_attribute(mine, MCAPI_ENDP_ATTR_GET_SOURCE, &source, sizeof source, &status);
    tell(node, "last found by", (long)source.node_id, status);
    mcapi_node_get_attribute(DOMAIN, 2, MCAPI_NODE_ATTR_TYPE, &type, sizeof type, &status);
    tell(node, "type", (long)type, status);
    for (int other = 1; other <= 2; other++)
        send_word(mine, endpoint_of(other, WORD_PORT), 0);
}

/* ---- after the end ---- */

static void again(int node) {
    mcapi_status_t status;
    mcapi_info_t info;
    own_endpoint(WORD_PORT);
    for (int i = 0; i < 2; i++) {
        mcapi_finalize(&status);
        tell(node, "finalize", i, status);
    }
    tell(node, "id", (int)mcapi_node_id_get(&status), status);
    for (int i = 0; i < 2; i++) { /* another node, and the first one once more */
        mcapi_initialize(DOMAIN, (mcapi_node_t)(node + 10 - i * 10), NULL, NULL, &info, &status);
        tell(node, "initialize", (int)mcapi_node_id_get(&status), status);
        mcapi_endpoint_t mine = own_endpoint(WORD_PORT);
        send_word(mine, mine, i);
        tell(node, "received", receive_word(mine), MCAPI_SUCCESS);
        if (i == 0)
            mcapi_finalize(&status);
    }
}

/* Node 1 waits for nothing: it may have ended before node 0 begins to look for it. */
static void gone(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT);
    if (node) {
        usleep(LATE_US / 2);
    } else {
        be_late(node);
        send_word(mine, endpoint_of(1, WORD_PORT), 1);
        tell(node, "sent", 1, MCAPI_SUCCESS);
    }
}

/* A handle that came in a message, of an endpoint that is gone. */
static void reply(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT);
    mcapi_status_t status;
    int word = 1;
    if (node) {
        send_word(mine, endpoint_of(0, WORD_PORT), (int)own_endpoint(OTHER_PORT));
        return;
    }
    mcapi_endpoint_t theirs = (mcapi_endpoint_t)receive_word(mine);
    usleep(LATE_US);
    mcapi_msg_send(mine, theirs, &word, sizeof word, MCAPI_MAX_PRIORITY, &status);
    tell(node, "answered", 0, status);
}

/* ---- full queues ---- */

/* Node 2 fills a queue into which node 1 puts something before node 0 goes on. */
static void full(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    long sum = 0;
    if (node == 0) {
        tell(node, "first", receive_word(mine), MCAPI_SUCCESS);
        for (int i = 0; i < FLOOD + 1; i++)
            sum += receive_word(other);
        tell(node, "sum", sum, MCAPI_SUCCESS);
        return;
    }
    mcapi_endpoint_t to = endpoint_of(0, OTHER_PORT);
    be_late(node);
    for (int i = 0; i < (node == 1 ? 1 : FLOOD); i++)
        send_word(mine, to, node);
    if (node == 1)
        send_word(mine, endpoint_of(0, WORD_PORT), 1);
}

/* The same with packets: node 1 has posted receives for all of them. */
static void flooded(int node) {
    static void *packets[FLOOD];
    static mcapi_request_t requests[FLOOD];
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    mcapi_endpoint_t theirs = endpoint_of(1 - node, OTHER_PORT);
    mcapi_pktchan_recv_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    size_t size;
    if (node == 0) {
        mcapi_pktchan_send_hndl_t to = open_to(node, mine, endpoint_of(1, WORD_PORT));
        for (int i = 0; i < FLOOD / PACKETS - 1; i++)
            send_packets(&to);
        send_word(other, theirs, 1);
        receive_word(other);
        send_packets(&to);
        return;
    }
    mcapi_pktchan_recv_open_i(&handle, mine, &request, &status);
    settle(&request, status);
    for (int i = 0; i < FLOOD; i++)
        mcapi_pktchan_recv_i(handle, &packets[i], &requests[i], &status);
    while (!mcapi_msg_available(other, &status))
        mcapi_test(&requests[FLOOD - 1], &size, &status);
    send_word(other, theirs, receive_word(other));
    for (int i = 0; i < FLOOD; i++)
        mcapi_wait(&requests[i], &size, MCAPI_TIMEOUT_INFINITE, &status);
    tell(node, "last", *(int *)packets[FLOOD - 1], status);
}

/* ---- endpoints that are made again ---- */

static void remade(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT);
    mcapi_status_t status;
    for (int i = 0; i < 4 && node == 0; i++)
        tell(node, "received", receive_word(mine), MCAPI_SUCCESS);
    for (int i = 0; i < 2 && node == 1; i++) {
        mcapi_endpoint_t other = own_endpoint(OTHER_PORT);
        for (int j = 0; j < 2; j++)
            send_word(other, endpoint_of(0, WORD_PORT), i * 2 + j);
        mcapi_endpoint_delete(other, &status);
    }
}

/* The same at the end that receives: which of the two does node 0 find, when? */
static void reborn(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    mcapi_status_t status;
    int word = 1;
    be_late(node);
    if (node == 0) {
        mcapi_msg_send(mine, endpoint_of(1, OTHER_PORT), &word, sizeof word, 0, &status);
        tell(node, "sent", word, status); /* it may be deleted just now */
        receive_word(mine);
        send_word(mine, endpoint_of(1, OTHER_PORT), 2);
        send_word(mine, endpoint_of(1, WORD_PORT), 0);
        return;
    }
    mcapi_endpoint_delete(other, &status);
    other = own_endpoint(OTHER_PORT);
    send_word(mine, endpoint_of(0, WORD_PORT), 0);
    tell(node, "received", receive_word(other), MCAPI_SUCCESS);
    receive_word(mine); /* until then it must be found */
}

/* Two messages of which each is the first from an endpoint of that name. */
static void twins(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT);
    mcapi_request_t requests[2];
    mcapi_status_t status;
    size_t size = 0;
    int words[2] = {0};
    for (int i = 0; i < 2 && node == 0; i++) {
        mcapi_endpoint_t other = own_endpoint(OTHER_PORT);
        send_word(other, endpoint_of(1, OTHER_PORT), 10 + i);
        mcapi_endpoint_delete(other, &status);
    }
    if (node == 0) {
        send_word(mine, endpoint_of(1, WORD_PORT), 0);
        return;
    }
    mcapi_endpoint_t other = own_endpoint(OTHER_PORT);
    receive_word(mine);
    for (int i = 0; i < 2; i++)
        mcapi_msg_recv_i(other, &words[i], sizeof words[i], &requests[i], &status);
    for (int i = 1; i >= 0; i--) {
        mcapi_wait(&requests[i], &size, MCAPI_TIMEOUT_INFINITE, &status);
        tell(node, i ? "second" : "first", words[i], status);
    }
}

/* What a receive has taken stays, when its endpoint goes. */
static void taken(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    mcapi_request_t requests[3];
    mcapi_status_t status;
    size_t size = 0;
    int words[3] = {0};
    if (node == 0) {
        for (int i = 0; i < 3; i++)
            send_word(i == 1 ? other : mine, endpoint_of(1, OTHER_PORT), 10 + i);
        send_word(mine, endpoint_of(1, WORD_PORT), 0);
        return;
    }
    receive_word(mine);
    for (int i = 0; i < 3; i++)
        mcapi_msg_recv_i(other, &words[i], sizeof words[i], &requests[i], &status);
    mcapi_wait(&requests[0], &size, MCAPI_TIMEOUT_INFINITE, &status);
    mcapi_endpoint_delete(other, &status);
    for (int i = 2; i > 0; i--) {
        mcapi_wait(&requests[i], &size, MCAPI_TIMEOUT_INFINITE, &status);
        tell(node, i == 1 ? "second" : "third", words[i], status);
    }
}

/* ---- channels, and who was first ---- */

static void connect_late(int node, mcapi_endpoint_t from, mcapi_endpoint_t to, int packets) {
    mcapi_request_t request;
    mcapi_status_t status;
    be_late(node);
    mcapi_pktchan_connect_i(from, to, &request, &status);
    must("mcapi_pktchan_connect_i", status);
    receive_packets(node, to, packets);
}

/* Node 0 opens its end, thinks better of it, and opens it after all. */
static void unopened(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), theirs = endpoint_of(1 - node, WORD_PORT);
    mcapi_pktchan_send_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    if (node) {
        connect_late(node, theirs, mine, PACKETS);
        return;
    }
    mcapi_pktchan_send_open_i(&handle, mine, &request, &status);
    tell(node, "opens", 0, status);
    be_late(node);
    mcapi_cancel(&request, &status);
    tell(node, "cancel", 0, status);
    mcapi_pktchan_send_open_i(&handle, mine, &request, &status);
    settle(&request, status);
    send_packets(&handle);
    close_to(handle);
}

/* Nobody asks whether it is open. */
static void hasty(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), theirs = endpoint_of(1 - node, WORD_PORT);
    mcapi_pktchan_send_hndl_t handle;
    mcapi_request_t request;
    mcapi_status_t status;
    if (node) {
        connect_late(node, theirs, mine, 1);
        return;
    }
    mcapi_pktchan_send_open_i(&handle, mine, &request, &status);
    be_late(node);
    do {
        mcapi_pktchan_send(handle, &node, sizeof node, &status);
        usleep(LATE_US / 20);
    } while (status == MCAPI_ERR_CHAN_NOTOPEN);
    tell(node, "sent", 1, status);
}

/* Node 2 sends more than there is room for in the whole job, while node 0 waits for node 1. */
static void ahead(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    mcapi_status_t status;
    if (node) {
        mcapi_pktchan_send_hndl_t to =
            open_to(node, mine, endpoint_of(0, node == 1 ? WORD_PORT : OTHER_PORT));
        for (int i = 0; i < 10; i++)
            be_late(node);
        for (int i = 0; i < (node == 1 ? 1 : MANY); i++) {
            int words[250] = {i};
            mcapi_pktchan_send(to, words, sizeof words, &status);
            must("mcapi_pktchan_send", status);
        }
        close_to(to);
        return;
    }
    mcapi_pktchan_recv_hndl_t second = open_from(node, other), first = open_from(node, mine);
    int word = take_packet(first, &status);
    tell(node, "first", word, status);
    for (int i = 0; i < MANY; i++)
        word += take_packet(second, &status);
    tell(node, "second", word, status);
    close_from(node, first);
    close_from(node, second);
}

/* A receive that is cancelled gives back what it took, and others have taken what came next. One
   that has taken something has it when the channel is closed. */
static void given_back(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    mcapi_endpoint_t theirs = endpoint_of(1 - node, WORD_PORT);
    mcapi_pktchan_recv_hndl_t handle;
    mcapi_request_t requests[3], request;
    mcapi_status_t status;
    void *packets[4] = {NULL};
    size_t size = 0;
    if (node == 0) {
        mcapi_pktchan_send_hndl_t to = open_to(node, mine, theirs);
        send_packets(&to);
        send_word(other, endpoint_of(1, OTHER_PORT), 0);
        return;
    }
    mcapi_pktchan_recv_open_i(&handle, mine, &request, &status);
    settle(&request, status);
    receive_word(other);
    for (int i = 0; i < 2; i++)
        mcapi_pktchan_recv_i(handle, &packets[i], &requests[i], &status);
    tell(node, "available", mcapi_pktchan_available(handle, &status), status);
    mcapi_cancel(&requests[0], &status);
    mcapi_wait(&requests[1], &size, MCAPI_TIMEOUT_INFINITE, &status);
    tell(node, "second", *(int *)packets[1], status);
    mcapi_pktchan_recv(handle, &packets[2], &size, &status);
    tell(node, "third", *(int *)packets[2], status);
    mcapi_pktchan_recv_i(handle, &packets[3], &requests[2], &status);
    tell(node, "available", mcapi_pktchan_available(handle, &status), status);
    mcapi_pktchan_recv_close_i(handle, &request, &status);
    mcapi_wait(&requests[2], &size, MCAPI_TIMEOUT_INFINITE, &status);
    tell(node, "fourth", *(int *)packets[3], status);
}

/* ---- past the end of a recording ---- */

/* PROGRAM_KILL ends the recording in the middle. What follows is then for the library to decide. */
static void cut(int node) {
    mcapi_endpoint_t mine = own_endpoint(WORD_PORT), other = own_endpoint(OTHER_PORT);
    mcapi_timeout_t limit = LATE_US / 10000;
    mcapi_pktchan_recv_hndl_t handle;
    mcapi_request_t request, *one = &request;
    mcapi_status_t status;
    void *packet;
    size_t size;
    int word;
    mcapi_endpoint_set_attribute(mine, MCAPI_ENDP_ATTR_TIMEOUT, &limit, sizeof limit, &status);
    for (int i = 0; i < 2; i++) {
        mcapi_msg_recv(mine, &word, sizeof word, &size, &status);
        tell(node, "recv", 0, status);
        if (i == 0 && getenv("PROGRAM_KILL"))
            raise(SIGKILL);
    }
    mcapi_pktchan_recv_open_i(&handle, mine, &request, &status);
    mcapi_pktchan_recv_i(handle, &packet, &request, &status);
    tell(node, "recv_i", 0, status);
    mcapi_msg_recv_i(other, &word, sizeof word, &request, &status);
    mcapi_endpoint_delete(other, &status);
    word = mcapi_test(&request, &size, &status);
    tell(node, "test", word, status);
    word = (int)mcapi_wait_any(1, &one, &size, limit, &status);
    tell(node, "wait_any", word, status);
}

/* ---- main ---- */

static const struct {
    const char *name;
    node_program *program;
    int nodes;
} cases[] = {{"channels", channels, 2},
             {"found", found, 2},
             {"failed", failed, 1},
             {"attributes", attributes, 3},
             {"again", again, 2},
             {"gone", gone, 2},
             {"reply", reply, 2},
             {"full", full, 3},
             {"remade", remade, 2},
             {"crowded", crowded, 2},
             {"reborn", reborn, 2},
             {"taken", taken, 2},
             {"unopened", unopened, 2},
             {"hasty", hasty, 2},
             {"given_back", given_back, 2},
             {"cut", cut, 1},
             {"flooded", flooded, 2},
             {"twins", twins, 2},
             {"ahead", ahead, 3}};
static node_program *chosen;

static void node_main(int node) {
    mcapi_status_t status;
    start(node);
    chosen(node);
    mcapi_finalize(&status);
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            chosen = cases[i].program;
            return run_nodes(&argc, argv, node_main, 0, cases[i].nodes);
        }
    return 2;
}
