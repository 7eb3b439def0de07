/* Statuses of messages and of the functions for requests. */
#include <pthread.h>

#include "statuses.h"

static mcapi_status_t status;

static void connect(void) {
    mcapi_pktchan_connect_i(world.mine[1], world.theirs[1], &spare_request, &status);
    assert_status(status, SUCCESS);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static mcapi_status_t send_i(mcapi_endpoint_t from, mcapi_endpoint_t to, const void *data,
                             size_t size, mcapi_priority_t priority) {
    mcapi_msg_send_i(from, to, data, size, priority, &spare_request, &status);
    return status;
}

static mcapi_status_t send_it(mcapi_endpoint_t from, mcapi_endpoint_t to, const void *data,
                              size_t size, mcapi_priority_t priority) {
    mcapi_msg_send(from, to, data, size, priority, &status);
    return status;
}

/* What both kinds of send have in common. */
#define SENDS(function, call)                                                                      \
    CASE(function, SUCCESS) {                                                                      \
        assert_int_equal(call(world.mine[0], world.theirs[0], NULL, 0, 0), MCAPI_SUCCESS);         \
        return call(world.mine[0], world.theirs[0], spare_buffer, MESSAGE, 1);                     \
    }                                                                                              \
    CASE(function, ERR_NODE_NOTINIT) {                                                             \
        return call(1, 1, "x", 1, 0);                                                              \
    }                                                                                              \
    CASE(function, ERR_ENDP_INVALID) {                                                             \
        assert_int_equal(call(world.mine[0], 0, "x", 1, 0), MCAPI_ERR_ENDP_INVALID);               \
        assert_int_equal(call(world.mine[0], 0xfffff, "x", 1, 0), MCAPI_ERR_ENDP_INVALID);         \
        assert_int_equal(call(0, world.mine[0], "x", 1, 0), MCAPI_ERR_ENDP_INVALID);               \
        return call(world.theirs[0], world.mine[0], "x", 1, 0);                                    \
    }                                                                                              \
    CASE(function, ERR_MSG_SIZE) {                                                                 \
        return call(world.mine[0], world.theirs[0], spare_buffer, MESSAGE + 1, 0);                 \
    }                                                                                              \
    CASE(function, ERR_PRIORITY) {                                                                 \
        return call(world.mine[0], world.theirs[0], "x", 1, 2);                                    \
    }                                                                                              \
    CASE(function, ERR_PARAMETER) {                                                                \
        return call(world.mine[0], world.theirs[0], NULL, 1, 0);                                   \
    }                                                                                              \
    CASE(function, ERR_CHAN_CONNECTED) {                                                           \
        connect();                                                                                 \
        assert_int_equal(call(world.mine[0], world.theirs[1], "x", 1, 0),                          \
                         MCAPI_ERR_CHAN_CONNECTED);                                                \
        return call(world.mine[1], world.theirs[0], "x", 1, 0);                                    \
    }
SENDS(msg_send_i, send_i)
SENDS(msg_send, send_it)

CASE(msg_send_i, ERR_REQUEST_LIMIT) {
    use_all_requests();
    return send_i(world.mine[0], world.theirs[0], "x", 1, 0);
}
CASE(msg_send_i, ERR_MEM_LIMIT) {
    /* No buffer of any size is left; the queue of the other priority has room. */
    for (int i = 0; i < BUFFERS * (16 + 4 + 1) / QUEUE + 1; i++)
        for (int j = 0; j < QUEUE; j++)
            if (send_i(world.mine[0], i % 2 ? world.theirs[i % 3] : world.mine[i % 3], spare_buffer,
                       MESSAGE, (unsigned)(i / 3) % 2) == MCAPI_ERR_MEM_LIMIT)
                return status;
    return MCAPI_SUCCESS;
}
CASE(msg_send, ERR_MEM_LIMIT) {
    set_attribute(world.mine[0], MCAPI_ENDP_ATTR_MEMORY_TYPE, MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
    fill_queue(world.mine[0], world.theirs[0]);
    return send_it(world.mine[0], world.theirs[0], "x", 1, 0);
}
CASE(msg_send, TIMEOUT) {
    set_attribute(world.mine[0], MCAPI_ENDP_ATTR_TIMEOUT, 20);
    fill_queue(world.mine[0], world.theirs[0]);
    return send_it(world.mine[0], world.theirs[0], "x", 1, 0);
}

/* ---- receiving --------------------------------------------------------------------------------
 */

static mcapi_status_t receive_i(mcapi_endpoint_t at, void *data, size_t size) {
    mcapi_msg_recv_i(at, data, size, &spare_request, &status);
    return status;
}

static mcapi_status_t receive(mcapi_endpoint_t at, void *data, size_t size) {
    mcapi_msg_recv(at, data, size, &spare_size, &status);
    return status;
}

#define RECEIVES(function, call)                                                                   \
    CASE(function, ERR_NODE_NOTINIT) {                                                             \
        return call(1, spare_buffer, 1);                                                           \
    }                                                                                              \
    CASE(function, ERR_ENDP_INVALID) {                                                             \
        assert_int_equal(call(0, spare_buffer, 1), MCAPI_ERR_ENDP_INVALID);                        \
        return call(world.theirs[0], spare_buffer, 1);                                             \
    }                                                                                              \
    CASE(function, ERR_PARAMETER) {                                                                \
        return call(world.mine[0], NULL, 1);                                                       \
    }                                                                                              \
    CASE(function, ERR_CHAN_CONNECTED) {                                                           \
        connect();                                                                                 \
        return call(world.mine[1], spare_buffer, 1);                                               \
    }
RECEIVES(msg_recv_i, receive_i)
RECEIVES(msg_recv, receive)

CASE(msg_recv_i, PENDING) {
    return receive_i(world.mine[0], spare_buffer, 1);
}
CASE(msg_recv_i, ERR_REQUEST_LIMIT) {
    use_all_requests();
    return receive_i(world.mine[0], spare_buffer, 1);
}
CASE(msg_recv, SUCCESS) {
    must_send_other(world.theirs[0], world.mine[0], "hello");
    receive(world.mine[0], spare_buffer, sizeof spare_buffer);
    assert_int_equal(spare_size, 6);
    assert_string_equal(spare_buffer, "hello");
    return status;
}
CASE(msg_recv, ERR_MSG_TRUNCATED) {
    must_send(world.mine[0], world.mine[0], "hello", 0);
    return receive(world.mine[0], spare_buffer, 3);
}
CASE(msg_recv, TIMEOUT) {
    set_attribute(world.mine[0], MCAPI_ENDP_ATTR_TIMEOUT, 20);
    assert_int_equal(receive(world.mine[0], spare_buffer, 3), MCAPI_TIMEOUT);
    set_attribute(world.mine[0], MCAPI_ENDP_ATTR_TIMEOUT, MCAPI_TIMEOUT_IMMEDIATE);
    return receive(world.mine[0], spare_buffer, 3);
}
CASE(msg_available, SUCCESS) {
    must_send(world.mine[0], world.mine[0], "one", 0);
    must_send(world.mine[0], world.mine[0], "two", 1);
    assert_int_equal(mcapi_msg_available(world.mine[0], &status), 2);
    return status;
}
CASE(msg_available, ERR_NODE_NOTINIT) {
    mcapi_msg_available(1, &status);
    return status;
}
CASE(msg_available, ERR_ENDP_INVALID) {
    mcapi_msg_available(world.theirs[0], &status);
    return status;
}
CASE(msg_available, ERR_CHAN_CONNECTED) {
    connect();
    mcapi_msg_available(world.mine[1], &status);
    return status;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static mcapi_status_t wait_any(mcapi_request_t *request, size_t *size, mcapi_timeout_t timeout,
                               mcapi_status_t *out) {
    mcapi_request_t *requests[2] = {request, request};
    mcapi_wait_any(1, requests, size, timeout, out);
    return *out;
}

static mcapi_status_t wait_one(mcapi_request_t *request, size_t *size, mcapi_timeout_t timeout,
                               mcapi_status_t *out) {
    mcapi_wait(request, size, timeout, out);
    return *out;
}

static mcapi_status_t test_one(mcapi_request_t *request, size_t *size, mcapi_timeout_t timeout,
                               mcapi_status_t *out) {
    (void)timeout;
    mcapi_test(request, size, out);
    return *out;
}

/* A request that has been cancelled, not yet waited for. */
static mcapi_request_t cancelled(void) {
    mcapi_request_t request = pending_receive();
    mcapi_cancel(&request, &status);
    assert_status(status, SUCCESS);
    return request;
}

#define COMPLETIONS(function, call)                                                                \
    CASE(function, SUCCESS) {                                                                      \
        mcapi_request_t request = pending_receive();                                               \
        must_send(world.mine[0], world.mine[0], "abc", 0);                                         \
        call(&request, &spare_size, 1000, &status);                                                \
        assert_int_equal(spare_size, 4);                                                           \
        return status;                                                                             \
    }                                                                                              \
    CASE(function, ERR_NODE_NOTINIT) {                                                             \
        return call(&spare_request, &spare_size, 0, &status);                                      \
    }                                                                                              \
    CASE(function, ERR_REQUEST_INVALID) {                                                          \
        mcapi_request_t request = 0;                                                               \
        assert_int_equal(call(&request, &spare_size, 0, &status), MCAPI_ERR_REQUEST_INVALID);      \
        send_i(world.mine[0], world.theirs[0], "x", 1, 0);                                         \
        must_wait(&spare_request);                                                                 \
        return call(&spare_request, &spare_size, 0, &status);                                      \
    }                                                                                              \
    CASE(function, ERR_REQUEST_CANCELLED) {                                                        \
        mcapi_request_t request = cancelled();                                                     \
        return call(&request, &spare_size, 0, &status);                                            \
    }                                                                                              \
    CASE(function, ERR_PARAMETER) {                                                                \
        mcapi_request_t request = pending_receive();                                               \
        assert_int_equal(call(&request, NULL, 0, &status), MCAPI_ERR_PARAMETER);                   \
        return call(NULL, &spare_size, 0, &status);                                                \
    }                                                                                              \
    CASE(function, ERR_MSG_TRUNCATED) {                                                            \
        mcapi_request_t request = pending_receive();                                               \
        must_send(world.mine[0], world.mine[0], "longer", 0);                                      \
        call(&request, &spare_size, 1000, &status);                                                \
        assert_int_equal(spare_size, 4);                                                           \
        return status;                                                                             \
    }
COMPLETIONS(test, test_one)
COMPLETIONS(wait, wait_one)
COMPLETIONS(wait_any, wait_any)

CASE(test, PENDING) {
    mcapi_request_t request = pending_receive();
    return test_one(&request, &spare_size, 0, &status);
}
CASE(wait, TIMEOUT) {
    mcapi_request_t request = pending_receive();
    assert_int_equal(wait_one(&request, &spare_size, 20, &status), MCAPI_TIMEOUT);
    return wait_one(&request, &spare_size, MCAPI_TIMEOUT_IMMEDIATE, &status);
}
CASE(wait_any, TIMEOUT) {
    mcapi_request_t request = pending_receive();
    assert_int_equal(wait_any(&request, &spare_size, 20, &status), MCAPI_TIMEOUT);
    return wait_any(&request, &spare_size, MCAPI_TIMEOUT_IMMEDIATE, &status);
}

static mcapi_request_t of_deleted(void) {
    mcapi_request_t request = pending_receive();
    mcapi_endpoint_delete(world.mine[0], &status);
    assert_status(status, SUCCESS);
    return request;
}

CASE(test, ERR_ENDP_DELETED) {
    mcapi_request_t request = of_deleted();
    return test_one(&request, &spare_size, 0, &status);
}
CASE(wait, ERR_ENDP_DELETED) {
    mcapi_request_t request = of_deleted();
    return wait_one(&request, &spare_size, 0, &status);
}

static void close_theirs(void *unused) {
    (void)unused;
    mcapi_pktchan_send_close_i(world.their_out, &spare_request, &status);
    assert_status(status, SUCCESS);
}

/* The receive of a packet that will not come any more. */
static mcapi_request_t of_closed(void) {
    static void *packet;
    mcapi_request_t request;
    open_packets();
    mcapi_pktchan_recv_i(world.in, &packet, &request, &status);
    assert_status(status, PENDING);
    as_other(close_theirs, NULL);
    return request;
}

CASE(test, ERR_CHAN_NOTOPEN) {
    mcapi_request_t request = of_closed();
    return test_one(&request, &spare_size, 0, &status);
}
CASE(wait, ERR_CHAN_NOTOPEN) {
    mcapi_request_t request = of_closed();
    return wait_one(&request, &spare_size, MCAPI_TIMEOUT_INFINITE, &status);
}

/* ---- two waiters: two threads of the one node there is -----------------------------------------
 */

struct waiter {
    mcapi_request_t request;
    mcapi_status_t status;
};

static void *wait_for_ever(void *argument) {
    struct waiter *waiter = argument;
    do
        mcapi_wait(&waiter->request, &spare_size, MCAPI_TIMEOUT_INFINITE, &waiter->status);
    while (waiter->status == MCAPI_ERR_WAIT_PENDING); /* the other one looked just then */
    return NULL;
}

static void leave(void *unused) {
    mcapi_status_t ignored;
    (void)unused;
    mcapi_finalize(&ignored);
}

static mcapi_status_t second_waiter(mcapi_status_t (*call)(mcapi_request_t *, size_t *,
                                                           mcapi_timeout_t, mcapi_status_t *)) {
    as_other(leave, NULL);
    struct waiter waiter = {.request = pending_receive()};
    mcapi_request_t same = waiter.request;
    pthread_t thread;
    size_t size;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &waiter), 0);
    do
        call(&same, &size, MCAPI_TIMEOUT_IMMEDIATE, &status);
    while (status == MCAPI_TIMEOUT);
    mcapi_status_t result = status;
    mcapi_cancel(&same, &status);
    assert_status(status, SUCCESS);
    pthread_join(thread, NULL);
    assert_status(waiter.status, ERR_REQUEST_CANCELLED);
    return result;
}

CASE(wait, ERR_WAIT_PENDING) {
    return second_waiter(wait_one);
}
CASE(wait_any, ERR_WAIT_PENDING) {
    return second_waiter(wait_any);
}

CASE(cancel, SUCCESS) {
    mcapi_request_t request = pending_receive();
    mcapi_cancel(&request, &status);
    return status;
}
CASE(cancel, ERR_NODE_NOTINIT) {
    mcapi_cancel(&spare_request, &status);
    return status;
}
CASE(cancel, ERR_REQUEST_INVALID) {
    send_i(world.mine[0], world.theirs[0], "x", 1, 0); /* sent is sent */
    mcapi_cancel(&spare_request, &status);
    assert_status(status, ERR_REQUEST_INVALID);
    must_wait(&spare_request);
    mcapi_cancel(&spare_request, &status);
    return status;
}
CASE(cancel, ERR_REQUEST_CANCELLED) {
    mcapi_request_t request = cancelled();
    mcapi_cancel(&request, &status);
    return status;
}
CASE(cancel, ERR_PARAMETER) {
    mcapi_cancel(NULL, &status);
    return status;
}
