/* Statuses of connecting, opening and closing: the same for packets and scalars. */
#include "statuses.h"

static mcapi_status_t status;

typedef void connect_call(mcapi_endpoint_t, mcapi_endpoint_t, mcapi_request_t *, mcapi_status_t *);
typedef void open_call(uint64_t *, mcapi_endpoint_t, mcapi_request_t *, mcapi_status_t *);
typedef void close_call(uint64_t, mcapi_request_t *, mcapi_status_t *);

/* One kind of channel, and the other one to take it for. */
struct kind {
    connect_call *connect;
    open_call *open_send, *open_receive;
    close_call *close_send, *close_receive;
    void (*open_both)(void);
};
static const struct kind packets = {mcapi_pktchan_connect_i,    mcapi_pktchan_send_open_i,
                                    mcapi_pktchan_recv_open_i,  mcapi_pktchan_send_close_i,
                                    mcapi_pktchan_recv_close_i, open_packets};
static const struct kind scalars = {mcapi_sclchan_connect_i,    mcapi_sclchan_send_open_i,
                                    mcapi_sclchan_recv_open_i,  mcapi_sclchan_send_close_i,
                                    mcapi_sclchan_recv_close_i, open_scalars};

static mcapi_status_t connect(const struct kind *kind) {
    kind->connect(world.mine[1], world.theirs[1], &spare_request, &status);
    return status;
}

/* ---- connect ----------------------------------------------------------------------------------
 */

#define CONNECTS(name, ours, others)                                                               \
    CASE(name, SUCCESS) {                                                                          \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_NODE_NOTINIT) {                                                                 \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_PARAMETER) {                                                                    \
        (ours).connect(world.mine[1], world.theirs[1], NULL, &status);                             \
        return status;                                                                             \
    }                                                                                              \
    CASE(name, ERR_ENDP_INVALID) {                                                                 \
        (ours).connect(world.mine[1], world.mine[1], &spare_request, &status);                     \
        assert_status(status, ERR_ENDP_INVALID);                                                   \
        (ours).connect(0, world.mine[1], &spare_request, &status);                                 \
        assert_status(status, ERR_ENDP_INVALID);                                                   \
        (ours).connect(world.mine[1], 0xffffffff, &spare_request, &status);                        \
        return status;                                                                             \
    }                                                                                              \
    CASE(name, ERR_CHAN_CONNECTED) {                                                               \
        assert_int_equal(connect(&(ours)), MCAPI_SUCCESS);                                         \
        (ours).connect(world.mine[0], world.theirs[1], &spare_request, &status);                   \
        assert_status(status, ERR_CHAN_CONNECTED);                                                 \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_CHAN_OPEN) {                                                                    \
        (ours).open_both();                                                                        \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_CHAN_TYPE) {                                                                    \
        (others).open_send(&spare_handle, world.mine[1], &spare_request, &status);                 \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_CHAN_DIRECTION) {                                                               \
        (ours).open_receive(&spare_handle, world.mine[1], &spare_request, &status);                \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_CHAN_CLOSEPENDING) {                                                            \
        (ours).open_both();                                                                        \
        (ours).close_send(world.out, &spare_request, &status);                                     \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_ATTR_INCOMPATIBLE) {                                                            \
        set_attribute(world.mine[1], MCAPI_ENDP_ATTR_PRIORITY, 1);                                 \
        return connect(&(ours));                                                                   \
    }                                                                                              \
    CASE(name, ERR_REQUEST_LIMIT) {                                                                \
        use_all_requests();                                                                        \
        return connect(&(ours));                                                                   \
    }
CONNECTS(pktchan_connect_i, packets, scalars)
CONNECTS(sclchan_connect_i, scalars, packets)

/* ---- open -------------------------------------------------------------------------------------
 */

static mcapi_status_t open_end(open_call *call, mcapi_endpoint_t endpoint) {
    call(&spare_handle, endpoint, &spare_request, &status);
    return status;
}

/* `call` opens one side, `away` the other side; `at` is the endpoint that open_both opens so. */
#define OPENS(name, ours, others, call, away, close, at, handle)                                   \
    CASE(name, SUCCESS) {                                                                          \
        (ours).open_both(); /* looks itself */                                                     \
        return status = MCAPI_SUCCESS;                                                             \
    }                                                                                              \
    CASE(name, PENDING) {                                                                          \
        return open_end((ours).call, world.mine[1]);                                               \
    }                                                                                              \
    CASE(name, ERR_NODE_NOTINIT) {                                                                 \
        return open_end((ours).call, 1);                                                           \
    }                                                                                              \
    CASE(name, ERR_PARAMETER) {                                                                    \
        (ours).call(NULL, world.mine[1], &spare_request, &status);                                 \
        assert_status(status, ERR_PARAMETER);                                                      \
        (ours).call(&spare_handle, world.mine[1], NULL, &status);                                  \
        return status;                                                                             \
    }                                                                                              \
    CASE(name, ERR_ENDP_INVALID) {                                                                 \
        assert_int_equal(open_end((ours).call, 0), MCAPI_ERR_ENDP_INVALID);                        \
        return open_end((ours).call, world.theirs[1]);                                             \
    }                                                                                              \
    CASE(name, ERR_CHAN_TYPE) {                                                                    \
        assert_int_equal(open_end((others).call, world.mine[1]), MCAPI_PENDING);                   \
        return open_end((ours).call, world.mine[1]);                                               \
    }                                                                                              \
    CASE(name, ERR_CHAN_DIRECTION) {                                                               \
        assert_int_equal(open_end((ours).away, world.mine[1]), MCAPI_PENDING);                     \
        return open_end((ours).call, world.mine[1]);                                               \
    }                                                                                              \
    CASE(name, ERR_CHAN_OPEN) {                                                                    \
        (ours).open_both();                                                                        \
        return open_end((ours).call, at);                                                          \
    }                                                                                              \
    CASE(name, ERR_CHAN_OPENPENDING) {                                                             \
        assert_int_equal(open_end((ours).call, world.mine[1]), MCAPI_PENDING);                     \
        return open_end((ours).call, world.mine[1]);                                               \
    }                                                                                              \
    CASE(name, ERR_CHAN_CLOSEPENDING) {                                                            \
        (ours).open_both();                                                                        \
        (ours).close(handle, &spare_request, &status);                                             \
        return open_end((ours).call, at);                                                          \
    }                                                                                              \
    CASE(name, ERR_REQUEST_LIMIT) {                                                                \
        use_all_requests();                                                                        \
        return open_end((ours).call, world.mine[1]);                                               \
    }
OPENS(pktchan_send_open_i, packets, scalars, open_send, open_receive, close_send, world.mine[1],
      world.out)
OPENS(pktchan_recv_open_i, packets, scalars, open_receive, open_send, close_receive, world.mine[2],
      world.in)
OPENS(sclchan_send_open_i, scalars, packets, open_send, open_receive, close_send, world.mine[1],
      world.out)
OPENS(sclchan_recv_open_i, scalars, packets, open_receive, open_send, close_receive, world.mine[2],
      world.in)

/* ---- close ------------------------------------------------------------------------------------
 */

static mcapi_status_t close_end(close_call *call, uint64_t handle) {
    call(handle, &spare_request, &status);
    return status;
}

#define CLOSES(name, ours, others, call, open, handle, wrong)                                      \
    CASE(name, SUCCESS) {                                                                          \
        (ours).open_both();                                                                        \
        return close_end((ours).call, handle);                                                     \
    }                                                                                              \
    CASE(name, ERR_NODE_NOTINIT) {                                                                 \
        return close_end((ours).call, 1);                                                          \
    }                                                                                              \
    CASE(name, ERR_CHAN_INVALID) {                                                                 \
        (ours).open_both();                                                                        \
        assert_int_equal(close_end((ours).call, 0), MCAPI_ERR_CHAN_INVALID);                       \
        assert_int_equal(close_end((ours).call, world.mine[1]), MCAPI_ERR_CHAN_INVALID);           \
        assert_int_equal(close_end((ours).call, world.their_in), MCAPI_ERR_CHAN_INVALID);          \
        return close_end((ours).call, ~UINT64_C(0));                                               \
    }                                                                                              \
    CASE(name, ERR_CHAN_TYPE) {                                                                    \
        (others).open_both();                                                                      \
        return close_end((ours).call, handle);                                                     \
    }                                                                                              \
    CASE(name, ERR_CHAN_DIRECTION) {                                                               \
        (ours).open_both();                                                                        \
        return close_end((ours).call, wrong);                                                      \
    }                                                                                              \
    CASE(name, ERR_CHAN_CLOSEPENDING) {                                                            \
        (ours).open_both();                                                                        \
        assert_int_equal(close_end((ours).call, handle), MCAPI_SUCCESS);                           \
        return close_end((ours).call, handle);                                                     \
    }                                                                                              \
    CASE(name, ERR_CHAN_NOTOPEN) {                                                                 \
        mcapi_request_t request;                                                                   \
        (ours).open(&spare_handle, world.mine[1], &request, &status);                              \
        mcapi_cancel(&request, &status);                                                           \
        assert_status(status, SUCCESS);                                                            \
        return close_end((ours).call, spare_handle);                                               \
    }                                                                                              \
    CASE(name, ERR_PARAMETER) {                                                                    \
        (ours).open_both();                                                                        \
        (ours).call(handle, NULL, &status);                                                        \
        return status;                                                                             \
    }                                                                                              \
    CASE(name, ERR_REQUEST_LIMIT) {                                                                \
        (ours).open_both();                                                                        \
        use_all_requests();                                                                        \
        return close_end((ours).call, handle);                                                     \
    }
CLOSES(pktchan_send_close_i, packets, scalars, close_send, open_send, world.out, world.in)
CLOSES(pktchan_recv_close_i, packets, scalars, close_receive, open_receive, world.in, world.out)
CLOSES(sclchan_send_close_i, scalars, packets, close_send, open_send, world.out, world.in)
CLOSES(sclchan_recv_close_i, scalars, packets, close_receive, open_receive, world.in, world.out)
