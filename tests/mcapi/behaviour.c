/* What docs/mcapi-runtime.md promises where the specification leaves a choice. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static mcapi_status_t status;
static size_t size;

static int begin(void **unused) {
    (void)unused;
    world_begin(NULL);
    return 0;
}

static int end(void **unused) {
    (void)unused;
    world_end();
    return 0;
}

static mcapi_request_t post(mcapi_endpoint_t at, void *buffer, size_t room) {
    mcapi_request_t request;
    mcapi_msg_recv_i(at, buffer, room, &request, &status);
    assert_status(status, PENDING);
    return request;
}

static void messages_come_by_priority_then_in_order(void **unused) {
    (void)unused;
    must_send(world.mine[0], world.mine[1], "low 1", 3);
    must_send(world.mine[0], world.mine[1], "low 2", 3);
    must_send(world.mine[0], world.mine[1], "high 1", 0);
    must_send(world.mine[0], world.mine[1], "high 2", 0);
    must_receive(world.mine[1], "high 1");
    must_receive(world.mine[1], "high 2");
    must_receive(world.mine[1], "low 1");
    must_receive(world.mine[1], "low 2");
}

static void receives_match_in_the_order_of_posts(void **unused) {
    char first[8], second[8];
    (void)unused;
    mcapi_request_t one = post(world.mine[0], first, 8), two = post(world.mine[0], second, 8);
    must_send(world.mine[1], world.mine[0], "a", 0);
    must_send(world.mine[1], world.mine[0], "b", 0);
    must_send(world.mine[1], world.mine[0], "c", 0);
    must_receive(world.mine[0], "c"); /* the third post gets the third message */
    must_wait(&two);
    must_wait(&one);
    assert_string_equal(first, "a");
    assert_string_equal(second, "b");
}

static void a_cut_message_is_gone(void **unused) {
    char buffer[3];
    (void)unused;
    must_send(world.mine[1], world.mine[0], "longer", 0);
    must_send(world.mine[1], world.mine[0], "next", 0);
    mcapi_msg_recv(world.mine[0], buffer, sizeof buffer, &size, &status);
    assert_status(status, ERR_MSG_TRUNCATED);
    assert_int_equal(size, sizeof buffer);
    assert_memory_equal(buffer, "lon", 3);
    must_receive(world.mine[0], "next");
}

static void a_test_does_not_release(void **unused) {
    char buffer[8];
    (void)unused;
    mcapi_request_t request = post(world.mine[0], buffer, 8);
    must_send(world.mine[1], world.mine[0], "a", 0);
    assert_true(mcapi_test(&request, &size, &status));
    assert_true(mcapi_test(&request, &size, &status));
    must_wait(&request);
    assert_false(mcapi_test(&request, &size, &status));
    assert_status(status, ERR_REQUEST_INVALID);
}

static void a_cancelled_receive_gives_its_message_back(void **unused) {
    char first[2], second[8], third[8];
    (void)unused;
    mcapi_request_t one = post(world.mine[0], first, 2), two = post(world.mine[0], second, 8),
                    three = post(world.mine[0], third, 8);
    must_send(world.mine[1], world.mine[0], "first", 0);
    must_send(world.mine[1], world.mine[0], "second", 0);
    must_send(world.mine[1], world.mine[0], "third", 0);
    must_wait(&three); /* all three have taken theirs */
    mcapi_cancel(&one, &status);
    assert_status(status, SUCCESS);
    mcapi_cancel(&two, &status);
    assert_status(status, SUCCESS);
    must_send(world.mine[1], world.mine[0], "fourth", 0);
    assert_int_equal(mcapi_msg_available(world.mine[0], &status), 3);
    must_receive(world.mine[0], "first"); /* whole, though it had been cut */
    must_receive(world.mine[0], "second");
    must_receive(world.mine[0], "fourth");
}

/* What a test has told is the program's: it has read it, and may have written over it. */
static void what_was_told_is_not_given_back(void **unused) {
    char buffer[8];
    (void)unused;
    mcapi_request_t request = post(world.mine[0], buffer, 8);
    must_send(world.mine[1], world.mine[0], "first", 0);
    assert_true(mcapi_test(&request, &size, &status));
    strcpy(buffer, "mine");
    mcapi_cancel(&request, &status);
    assert_status(status, ERR_REQUEST_INVALID);
    assert_int_equal(mcapi_msg_available(world.mine[0], &status), 0);
    must_wait(&request);
    assert_string_equal(buffer, "mine");
}

static mcapi_request_t contested;
static int rounds_left, tested;

static void *test_contested(void *unused) {
    mcapi_status_t told;
    mcapi_request_t request;
    size_t bytes;
    mcapix_node_join(0, 1);
    while (__atomic_load_n(&rounds_left, __ATOMIC_ACQUIRE)) {
        request = __atomic_load_n(&contested, __ATOMIC_ACQUIRE);
        mcapi_test(&request, &bytes, &told);
        __atomic_add_fetch(&tested, 1, __ATOMIC_ACQ_REL);
    }
    return unused;
}

/* Of two threads one waits for what the other one tests: all requests are there afterwards. */
static void a_request_is_released_once(void **unused) {
    char buffer[8];
    pthread_t tester;
    (void)unused;
    __atomic_store_n(&rounds_left, 500, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&tester, NULL, test_contested, NULL), 0);
    for (; rounds_left > 0; __atomic_sub_fetch(&rounds_left, 1, __ATOMIC_ACQ_REL)) {
        mcapi_request_t request = post(world.mine[0], buffer, 8);
        __atomic_store_n(&contested, request, __ATOMIC_RELEASE);
        for (int seen = __atomic_load_n(&tested, __ATOMIC_ACQUIRE);
             __atomic_load_n(&tested, __ATOMIC_ACQUIRE) < seen + 2;)
            sched_yield();
        must_send(world.mine[1], world.mine[0], "x", 0);
        must_wait(&request);
    }
    pthread_join(tester, NULL);
    for (unsigned i = 0; i < mcapix_requests(); i++)
        post(world.mine[0], buffer, 8);
}

static void wait_any_takes_the_lowest_index(void **unused) {
    char buffers[3][8];
    mcapi_request_t requests[3], *all[3];
    (void)unused;
    for (int i = 0; i < 3; i++) {
        requests[i] = post(world.mine[i], buffers[i], 8);
        all[i] = &requests[i];
    }
    assert_int_equal(mcapi_wait_any(3, all, &size, 1, &status), MCAPI_RETURN_VALUE_INVALID);
    assert_status(status, TIMEOUT);
    must_send(world.mine[0], world.mine[2], "2", 0);
    must_send(world.mine[0], world.mine[1], "1", 0);
    assert_int_equal(mcapi_wait_any(3, all, &size, 1000, &status), 1);
    assert_int_equal(mcapi_wait_any(3, all, &size, 1000, &status), MCAPI_RETURN_VALUE_INVALID);
    assert_status(status, ERR_REQUEST_INVALID); /* it has been taken */
    all[1] = &requests[2];
    assert_int_equal(mcapi_wait_any(2, all, &size, 1000, &status), 1);
    assert_string_equal(buffers[2], "2");
}

/* Sends that nobody waits for do not use up the requests. */
static void sends_need_not_be_waited_for(void **unused) {
    mcapi_request_t request;
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        mcapi_msg_send_i(world.mine[0], world.mine[1], "x", 2, 0, &request, &status);
        assert_status(status, SUCCESS);
        must_receive(world.mine[1], "x");
    }
}

/* Nor do those that somebody waited for together with another one. */
static void sends_need_not_be_waited_for_again(void **unused) {
    mcapi_request_t both[2], *all[2] = {&both[0], &both[1]};
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        for (int j = 0; j < 2; j++) {
            mcapi_msg_send_i(world.mine[0], world.mine[1], "x", 2, 0, &both[j], &status);
            assert_status(status, SUCCESS);
            must_receive(world.mine[1], "x");
        }
        assert_int_equal(mcapi_wait_any(2, all, &size, 1000, &status), 0);
        mcapi_wait_any(2, all, &size, 1000, &status);
        assert_status(status, ERR_REQUEST_INVALID);
    }
}

static void large_messages_are_whole(void **unused) {
    static unsigned char sent[65536], received[65536];
    static const size_t sizes[] = {0, 1, 50, 51, 114, 115, 256, 257, 4096, 4097, 65535, 65536};
    (void)unused;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (unsigned char)(i * 31 + i / 256);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(received, 0, sizeof received);
        mcapi_msg_send(world.mine[0], world.mine[1], sent, sizes[i], 0, &status);
        assert_status(status, SUCCESS);
        mcapi_msg_recv(world.mine[1], received, sizeof received, &size, &status);
        assert_status(status, SUCCESS);
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(sent, received, size);
    }
}

static void handles_do_not_come_again(void **unused) {
    (void)unused;
    mcapi_endpoint_t old = world.mine[2];
    must_send(world.mine[0], old, "lost", 0);
    mcapi_endpoint_delete(old, &status);
    assert_status(status, SUCCESS);
    for (int i = 0; i < 600; i++) { /* every place has been used again */
        mcapi_endpoint_t next = mcapi_endpoint_create(2, &status);
        assert_status(status, SUCCESS);
        assert_int_not_equal(next, old);
        assert_int_equal(mcapi_msg_available(next, &status), 0);
        mcapi_endpoint_delete(next, &status);
    }
    mcapi_msg_send(world.mine[0], old, "x", 1, 0, &status);
    assert_status(status, ERR_ENDP_INVALID);
}

/* ---- channels ------------------------------------------------------------------------------- */

static void send_packets(void *unused) {
    (void)unused;
    for (char i = 'a'; i <= 'e'; i++) {
        mcapi_pktchan_send(world.their_out, &i, 1, &status);
        assert_status(status, SUCCESS);
    }
}

static void packets_are_released_in_any_order(void **unused) {
    void *packets[5];
    (void)unused;
    open_packets();
    as_other(send_packets, NULL);
    assert_int_equal(mcapi_pktchan_available(world.in, &status), 5);
    for (int i = 0; i < 5; i++) {
        mcapi_pktchan_recv(world.in, &packets[i], &size, &status);
        assert_status(status, SUCCESS);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(*(char *)packets[i], 'a' + i);
    static const int order[] = {3, 0, 4, 1, 2};
    for (int i = 0; i < 5; i++) {
        mcapi_pktchan_release(packets[order[i]], &status);
        assert_status(status, SUCCESS);
    }
}

static void close_their_out(void *unused) {
    mcapi_request_t request;
    (void)unused;
    mcapi_pktchan_send_close_i(world.their_out, &request, &status);
    assert_status(status, SUCCESS);
}

static void open_their_out(void *unused) {
    mcapi_request_t request;
    (void)unused;
    mcapi_pktchan_send_open_i(&world.their_out, world.theirs[2], &request, &status);
    assert_status(status, SUCCESS);
}

static void a_channel_can_be_made_again(void **unused) {
    void *packet;
    mcapi_request_t request;
    (void)unused;
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            open_packets();
        as_other(send_packets, NULL);
        mcapi_pktchan_recv(world.in, &packet, &size, &status);
        assert_status(status, SUCCESS);
        assert_int_equal(*(char *)packet, 'a');
        uint64_t old = world.in;
        mcapi_pktchan_recv_close_i(world.in, &request, &status);
        assert_status(status, SUCCESS);
        as_other(close_their_out, NULL);
        mcapi_pktchan_available(old, &status);
        assert_status(status, ERR_CHAN_INVALID);
        mcapi_pktchan_connect_i(world.theirs[2], world.mine[2], &request, &status);
        assert_status(status, SUCCESS);
        mcapi_pktchan_recv_open_i(&world.in, world.mine[2], &request, &status);
        assert_status(status, PENDING);
        mcapi_cancel(&request, &status);
        assert_status(status, SUCCESS);
        mcapi_pktchan_recv_open_i(&world.in, world.mine[2], &request, &status);
        assert_status(status, PENDING);
        as_other(open_their_out, NULL);
        must_wait(&request);
    }
}

/* Closing drops what is queued, also what a cancelled receive has put back. */
static void what_was_put_back_goes_with_the_channel(void **unused) {
    void *packet;
    mcapi_request_t request, opened;
    (void)unused;
    open_packets();
    mcapi_pktchan_recv_i(world.in, &packet, &request, &status);
    as_other(send_packets, NULL);
    assert_int_equal(mcapi_pktchan_available(world.in, &status), 4); /* the receive has the first */
    mcapi_cancel(&request, &status);
    assert_status(status, SUCCESS);
    assert_int_equal(mcapi_pktchan_available(world.in, &status), 5);
    mcapi_pktchan_recv_close_i(world.in, &request, &status);
    as_other(close_their_out, NULL);
    mcapi_pktchan_connect_i(world.theirs[2], world.mine[2], &request, &status);
    mcapi_pktchan_recv_open_i(&world.in, world.mine[2], &opened, &status);
    as_other(open_their_out, NULL);
    must_wait(&opened);
    assert_int_equal(mcapi_pktchan_available(world.in, &status), 0);
    mcapi_pktchan_release(packet, &status);
    assert_status(status, ERR_BUF_INVALID);
}

/* ---- mcapix ---------------------------------------------------------------------------------- */

static void origins_tell_who_sent_what(void **unused) {
    struct mcapix_origin origin;
    char buffer[8];
    (void)unused;
    assert_int_equal(mcapix_version(), MCAPIX_VERSION);
    assert_int_equal(mcapix_requests(), 1024);
    for (uint64_t i = 0; i < 3; i++) {
        must_send_other(world.theirs[1], world.mine[0], "x");
        must_receive(world.mine[0], "x");
        assert_int_equal(mcapix_origin(&origin), 1);
        assert_int_equal(origin.domain, 0);
        assert_int_equal(origin.node, 2);
        assert_int_equal(origin.port, 1);
        assert_int_equal(origin.sequence, i);
        assert_int_equal(origin.receive, i);
        assert_int_equal(origin.stamp, 0);
    }
    mcapix_stamp_matches(1);
    mcapi_request_t one = post(world.mine[0], buffer, 8), two = post(world.mine[0], buffer, 8);
    must_send(world.mine[1], world.mine[0], "y", 2); /* another sender counts for itself, */
    must_send_other(world.theirs[1], world.mine[0], "z");
    must_send(world.mine[1], world.mine[2], "to another", 0); /* and so does another receiver */
    must_wait(&two);
    assert_int_equal(mcapix_origin(&origin), 1);
    assert_int_equal(origin.node, 1); /* "z" had priority and went to the first */
    assert_int_equal(origin.priority, 2);
    assert_int_equal(origin.sequence, 0);
    assert_int_equal(origin.receive, 4);
    assert_int_equal(origin.stamp, 2);
    must_wait(&one);
    assert_int_equal(mcapix_origin(&origin), 1);
    assert_int_equal(origin.node, 2);
    assert_int_equal(origin.sequence, 3);
    assert_int_equal(origin.receive, 3);
    assert_int_equal(origin.stamp, 1);
    assert_false(mcapi_test(&one, &size, &status));
    assert_int_equal(mcapix_origin(&origin), 0);
    mcapix_stamp_matches(0);
    must_receive(world.mine[2], "to another");
    assert_int_equal(mcapix_origin(&origin), 1);
    assert_int_equal(origin.sequence, 0);
    assert_int_equal(origin.stamp, 0);
}

static uint64_t watched[2];
static int watches;

static void watch(uint64_t number) {
    watched[watches++ % 2] = number;
}

static void sends_are_told_before_they_are_received(void **unused) {
    (void)unused;
    must_send(world.mine[1], world.mine[0], "not yet", 0);
    mcapix_watch_sends(watch);
    must_send(world.mine[1], world.mine[0], "second", 0);
    must_send(world.mine[1], world.mine[2], "to another", 0);
    mcapix_watch_sends(NULL);
    must_send(world.mine[1], world.mine[0], "not any more", 0);
    assert_int_equal(watches, 2);
    assert_int_equal(watched[0], 1);
    assert_int_equal(watched[1], 0);
}

static void *join_second(void *result) {
    mcapi_status_t told;
    int *good = result;
    good[0] = mcapix_node_join(0, 7) == 0;
    mcapi_node_id_get(&told); /* there are two nodes, and it is neither */
    good[1] = told == MCAPI_ERR_NODE_NOTINIT;
    good[2] = mcapix_node_join(0, 2) == 1 && mcapi_node_id_get(&told) == 2;
    good[3] = mcapix_node_join(0, 1) == 0 && mcapi_node_id_get(&told) == 2;
    mcapi_msg_send(world.theirs[0], world.mine[0], "joined", 7, 0, &told);
    good[4] = told == MCAPI_SUCCESS;
    return NULL;
}

static void a_thread_can_join_a_node(void **unused) {
    (void)unused;
    pthread_t thread;
    int good[5] = {0};
    assert_int_equal(pthread_create(&thread, NULL, join_second, good), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 5; i++)
        assert_int_equal(good[i], 1);
    must_receive(world.mine[0], "joined");
}

/* More than the queue holds, and one that lies in a buffer. */
enum { UNEXPECTED = 200, LARGE = 200 };

static void *send_unexpected(void *large) {
    mcapi_status_t told = MCAPI_ERR_GENERAL;
    if (mcapix_node_join(0, 2))
        mcapi_msg_send(world.theirs[0], world.mine[0], large, LARGE, 0, &told);
    for (int i = 0; i < UNEXPECTED && told == MCAPI_SUCCESS; i++)
        mcapi_msg_send(world.theirs[0], world.mine[0], "x", 2, 0, &told);
    return told == MCAPI_SUCCESS ? large : NULL;
}

static void finalize_twice(void *unused) {
    mcapi_info_t info;
    (void)unused;
    mcapi_finalize(&status);
    assert_status(status, SUCCESS);
    mcapi_finalize(&status);
    assert_status(status, ERR_NODE_NOTINIT);
    mcapi_initialize(0, 2, NULL, NULL, &info, &status);
    assert_status(status, SUCCESS);
}

/* A thread whose node has ended is not the other one. */
static void a_node_ends_once(void **unused) {
    (void)unused;
    as_other(finalize_twice, NULL);
    assert_int_equal(mcapi_node_id_get(&status), 1);
    assert_status(status, SUCCESS);
}

static void retire_other(void *unused) {
    mcapi_info_t info;
    (void)unused;
    assert_int_equal(mcapix_node_retire(0, 2), 1);
    assert_int_equal(mcapix_node_retire(0, 2), 0);
    mcapi_node_id_get(&status);
    assert_status(status, ERR_NODE_NOTINIT);
    mcapi_initialize(0, 3, NULL, NULL, &info, &status);
    assert_status(status, SUCCESS);
    mcapi_finalize(&status);
}

static void initialize_other(void *unused) {
    mcapi_info_t info;
    (void)unused;
    mcapi_initialize(0, 2, NULL, NULL, &info, &status);
    assert_status(status, SUCCESS);
}

/* Others do not notice that a node has retired, until it comes again. */
static void a_retired_node_is_still_found(void **unused) {
    (void)unused;
    as_other(retire_other, NULL);
    must_send(world.mine[0], world.theirs[0], "for nobody", 0);
    assert_int_equal(mcapi_endpoint_get(0, 2, 1, MCAPI_TIMEOUT_IMMEDIATE, &status),
                     world.theirs[1]);
    assert_status(status, SUCCESS);
    as_other(initialize_other, NULL);
    mcapi_endpoint_get(0, 2, 1, MCAPI_TIMEOUT_IMMEDIATE, &status);
    assert_status(status, TIMEOUT);
    mcapi_msg_send(world.mine[0], world.theirs[0], "x", 2, 0, &status);
    assert_status(status, ERR_ENDP_INVALID);
}

static void what_is_not_expected_comes_too(void **unused) {
    (void)unused;
    pthread_t thread;
    char large[LARGE] = "";
    void *result;
    memset(large, 'a', LARGE - 1);
    mcapix_expect(0, 7, 0); /* nobody */
    assert_int_equal(pthread_create(&thread, NULL, send_unexpected, large), 0);
    must_receive(world.mine[0], large);
    for (int i = 0; i < UNEXPECTED; i++)
        must_receive(world.mine[0], "x");
    pthread_join(thread, &result);
    assert_ptr_equal(result, large);
    mcapix_expect(0, 2, 0);
    must_send_other(world.theirs[0], world.mine[0], "expected");
    must_receive(world.mine[0], "expected");
    mcapix_expect_all();
}

static void endpoints_have_names(void **unused) {
    mcapi_domain_t domain;
    mcapi_node_t node;
    mcapi_port_t port;
    (void)unused;
    assert_int_equal(mcapix_endpoint_name(world.theirs[2], &domain, &node, &port), 1);
    assert_int_equal(domain, 0);
    assert_int_equal(node, 2);
    assert_int_equal(port, 2);
    assert_int_equal(mcapix_endpoint_name(0, &domain, &node, &port), 0);
    assert_int_equal(mcapix_endpoint_name(world.theirs[2] + (1u << 12), &domain, &node, &port), 0);
}

static void endpoints_have_lives(void **unused) {
    struct mcapix_origin origin;
    uint64_t numbers[2];
    mcapi_endpoint_t found;
    mcapi_request_t request;
    (void)unused;
    assert_int_equal(mcapix_lives(0, 1, 77), 0);
    for (unsigned i = 1; i <= 2; i++) {
        mcapi_endpoint_t made = mcapi_endpoint_create(77, &status);
        assert_int_equal(mcapi_endpoint_get(0, 1, 77, 1000, &status), made);
        assert_int_equal(mcapix_life(), i);
        assert_int_equal(mcapix_lives(0, 1, 77), i);
        must_send(made, world.mine[0], "x", 0);
        must_receive(world.mine[0], "x");
        assert_int_equal(mcapix_origin(&origin), 1);
        numbers[i - 1] = origin.sequence;
        mcapi_endpoint_delete(made, &status);
        assert_status(status, SUCCESS);
    }
    assert_int_equal(numbers[0], 0);
    assert_int_not_equal(numbers[1], 0);
    mcapi_endpoint_get_i(0, 1, 77, &found, &request, &status);
    assert_status(status, PENDING);
    mcapi_endpoint_create(77, &status);
    must_wait(&request);
    assert_int_equal(mcapix_life(), 3);
}

static void what_was_taken_is_known(void **unused) {
    struct mcapix_origin origin;
    char buffer[8];
    (void)unused;
    mcapi_request_t request = post(world.mine[0], buffer, 8);
    assert_int_equal(mcapix_taken(request, &origin), 0);
    must_send(world.mine[1], world.mine[0], "x", 0);
    assert_int_equal(mcapi_msg_available(world.mine[0], &status), 0);
    assert_int_equal(mcapix_taken(request, &origin), 1);
    assert_int_equal(origin.node, 1);
    assert_int_equal(origin.sequence, 0);
    mcapi_endpoint_delete(world.mine[0], &status);
    assert_int_equal(mcapix_taken(request, &origin), 1);
    must_wait(&request);
    assert_int_equal(mcapix_taken(request, &origin), 0);
}

/* ---- processes --------------------------------------------------------------------------------
 */

/* A child of a node is no node; it can become one, in the same job. */
static void a_child_is_a_node_of_its_own(void **unused) {
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        mcapi_info_t info;
        mcapi_node_id_get(&status);
        if (status != MCAPI_ERR_NODE_NOTINIT)
            _exit(1);
        mcapi_initialize(0, 1, NULL, NULL, &info, &status);
        if (status != MCAPI_ERR_NODE_INITIALIZED)
            _exit(2);
        mcapi_initialize(0, 3, NULL, NULL, &info, &status);
        if (status != MCAPI_SUCCESS || info.number_of_nodes != 3)
            _exit(3);
        mcapi_endpoint_t mine = mcapi_endpoint_create(0, &status);
        mcapi_msg_send(mine, world.mine[0], "from a child", 13, 0, &status);
        _exit(status == MCAPI_SUCCESS ? 0 : 4); /* without mcapi_finalize */
    }
    int result;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    must_receive(world.mine[0], "from a child"); /* what was sent outlives the sender */
}

/* Nobody has waited for anything since it died. */
static void the_dead_are_not_found(void **unused) {
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        mcapi_info_t info;
        mcapi_initialize(0, 3, NULL, NULL, &info, &status);
        mcapi_endpoint_create(0, &status);
        kill(getpid(), SIGKILL);
    }
    int result;
    waitpid(child, &result, 0);
    assert_true(WIFSIGNALED(result));
    usleep(250000);
    mcapi_endpoint_get(0, 3, 0, MCAPI_TIMEOUT_IMMEDIATE, &status);
    assert_status(status, TIMEOUT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(messages_come_by_priority_then_in_order),
        TEST(receives_match_in_the_order_of_posts),
        TEST(a_cut_message_is_gone),
        TEST(a_test_does_not_release),
        TEST(a_cancelled_receive_gives_its_message_back),
        TEST(what_was_told_is_not_given_back),
        TEST(a_request_is_released_once),
        TEST(wait_any_takes_the_lowest_index),
        TEST(sends_need_not_be_waited_for),
        TEST(sends_need_not_be_waited_for_again),
        TEST(large_messages_are_whole),
        TEST(handles_do_not_come_again),
        TEST(packets_are_released_in_any_order),
        TEST(a_channel_can_be_made_again),
        TEST(what_was_put_back_goes_with_the_channel),
        TEST(origins_tell_who_sent_what),
        TEST(sends_are_told_before_they_are_received),
        TEST(a_thread_can_join_a_node),
        TEST(a_node_ends_once),
        TEST(a_retired_node_is_still_found),
        TEST(what_is_not_expected_comes_too),
        TEST(endpoints_have_names),
        TEST(endpoints_have_lives),
        TEST(what_was_taken_is_known),
        TEST(a_child_is_a_node_of_its_own),
        TEST(the_dead_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
