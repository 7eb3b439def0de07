/* Statuses of what is sent over channels: packets and scalars. */
#include "statuses.h"

static mcapi_status_t status;
static void *packet;

/* ---- ways to send and to receive, so that all can be asked the same -----------------------------
 */

static mcapi_status_t packet_send_i(uint64_t handle) {
    mcapi_pktchan_send_i(handle, "abc", 4, &spare_request, &status);
    return status;
}
static mcapi_status_t packet_send(uint64_t handle) {
    mcapi_pktchan_send(handle, "abc", 4, &status);
    return status;
}
static mcapi_status_t packet_receive_i(uint64_t handle) {
    mcapi_pktchan_recv_i(handle, &packet, &spare_request, &status);
    return status;
}
static mcapi_status_t packet_receive(uint64_t handle) {
    mcapi_pktchan_recv(handle, &packet, &spare_size, &status);
    return status;
}
static mcapi_status_t packet_available(uint64_t handle) {
    spare_size = mcapi_pktchan_available(handle, &status);
    return status;
}
static mcapi_status_t scalar_available(uint64_t handle) {
    spare_size = mcapi_sclchan_available(handle, &status);
    return status;
}
#define SCALAR_WAYS(bits)                                                                          \
    static mcapi_status_t scalar_send_##bits(uint64_t handle) {                                    \
        mcapi_sclchan_send_uint##bits(handle, 0x5a, &status);                                      \
        return status;                                                                             \
    }                                                                                              \
    static uint64_t scalar_value_##bits;                                                           \
    static mcapi_status_t scalar_receive_##bits(uint64_t handle) {                                 \
        scalar_value_##bits = mcapi_sclchan_recv_uint##bits(handle, &status);                      \
        return status;                                                                             \
    }
SCALAR_WAYS(64)
SCALAR_WAYS(32)
SCALAR_WAYS(16)
SCALAR_WAYS(8)

static void close_their_in(void *scalar) {
    (scalar ? mcapi_sclchan_recv_close_i : mcapi_pktchan_recv_close_i)(world.their_in,
                                                                       &spare_request, &status);
    assert_status(status, SUCCESS);
}
static void close_their_out(void *scalar) {
    (scalar ? mcapi_sclchan_send_close_i : mcapi_pktchan_send_close_i)(world.their_out,
                                                                       &spare_request, &status);
    assert_status(status, SUCCESS);
}

/* ---- what all have in common --------------------------------------------------------------------
 */

/* `before` opens the right channels, `wrong` those of the other kind. */
#define HANDLES(name, call, before, wrong, handle, opposite, opening)                              \
    CASE(name, ERR_NODE_NOTINIT) {                                                                 \
        return call(1);                                                                            \
    }                                                                                              \
    CASE(name, ERR_CHAN_INVALID) {                                                                 \
        before();                                                                                  \
        assert_int_equal(call(0), MCAPI_ERR_CHAN_INVALID);                                         \
        assert_int_equal(call(~UINT64_C(0)), MCAPI_ERR_CHAN_INVALID);                              \
        assert_int_equal(call((handle) ^ UINT64_C(1) << 33), MCAPI_ERR_CHAN_INVALID);              \
        return call(world.their_out);                                                              \
    }                                                                                              \
    CASE(name, ERR_CHAN_TYPE) {                                                                    \
        wrong();                                                                                   \
        return call(handle);                                                                       \
    }                                                                                              \
    CASE(name, ERR_CHAN_DIRECTION) {                                                               \
        before();                                                                                  \
        return call(opposite);                                                                     \
    }

#define SENDS(name, call, before, wrong, opening, close, scalar)                                   \
    HANDLES(name, call, before, wrong, world.out, world.in, opening)                               \
    CASE(name, SUCCESS) {                                                                          \
        before();                                                                                  \
        return call(world.out);                                                                    \
    }                                                                                              \
    CASE(name, ERR_CHAN_NOTOPEN) {                                                                 \
        opening(&spare_handle, world.mine[0], &spare_request, &status);                            \
        assert_int_equal(call(spare_handle), MCAPI_ERR_CHAN_NOTOPEN);                              \
        before();                                                                                  \
        as_other(close_their_in, scalar);                                                          \
        return call(world.out);                                                                    \
    }                                                                                              \
    CASE(name, ERR_CHAN_CLOSEPENDING) {                                                            \
        before();                                                                                  \
        close(world.out, &spare_request, &status);                                                 \
        return call(world.out);                                                                    \
    }
/* A full queue. */
#define SEND_LIMITS(name, call, before)                                                            \
    CASE(name, ERR_MEM_LIMIT) {                                                                    \
        set_attribute(world.mine[1], MCAPI_ENDP_ATTR_MEMORY_TYPE,                                  \
                      MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);                                          \
        as_other(fail_on_limit, &world.theirs[1]);                                                 \
        before();                                                                                  \
        for (int i = 0; i < QUEUE; i++)                                                            \
            assert_int_equal(call(world.out), MCAPI_SUCCESS);                                      \
        return call(world.out);                                                                    \
    }
#define SEND_TIMEOUT(name, call, before)                                                           \
    CASE(name, TIMEOUT) {                                                                          \
        before();                                                                                  \
        set_attribute(world.mine[1], MCAPI_ENDP_ATTR_TIMEOUT, 5);                                  \
        for (int i = 0; i < QUEUE; i++)                                                            \
            assert_int_equal(call(world.out), MCAPI_SUCCESS);                                      \
        return call(world.out);                                                                    \
    }

static void fail_on_limit(void *endpoint) {
    set_attribute(*(mcapi_endpoint_t *)endpoint, MCAPI_ENDP_ATTR_MEMORY_TYPE,
                  MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT);
}

#define RECEIVES(name, call, before, wrong, opening, scalar)                                       \
    HANDLES(name, call, before, wrong, world.in, world.out, opening)                               \
    CASE(name, ERR_CHAN_NOTOPEN) {                                                                 \
        opening(&spare_handle, world.mine[0], &spare_request, &status);                            \
        return call(spare_handle);                                                                 \
    }
/* Receives that wait. */
#define BLOCKING(name, call, before, close, send, scalar)                                          \
    static void name##_feed(void *unused) {                                                        \
        (void)unused;                                                                              \
        assert_int_equal(send(world.their_out), MCAPI_SUCCESS);                                    \
    }                                                                                              \
    CASE(name, SUCCESS) {                                                                          \
        before();                                                                                  \
        as_other(name##_feed, NULL);                                                               \
        as_other(close_their_out, scalar); /* what was sent before stays */                        \
        assert_int_equal(call(world.in), MCAPI_SUCCESS);                                           \
        mcapi_status_t first = status;                                                             \
        assert_int_equal(call(world.in), MCAPI_ERR_CHAN_NOTOPEN);                                  \
        return first;                                                                              \
    }                                                                                              \
    CASE(name, ERR_CHAN_CLOSEPENDING) {                                                            \
        before();                                                                                  \
        close(world.in, &spare_request, &status);                                                  \
        return call(world.in);                                                                     \
    }                                                                                              \
    CASE(name, TIMEOUT) {                                                                          \
        before();                                                                                  \
        set_attribute(world.mine[2], MCAPI_ENDP_ATTR_TIMEOUT, 5);                                  \
        return call(world.in);                                                                     \
    }

/* ---- packets ------------------------------------------------------------------------------------
 */

SENDS(pktchan_send_i, packet_send_i, open_packets, open_scalars, mcapi_pktchan_send_open_i,
      mcapi_pktchan_send_close_i, NULL)
SENDS(pktchan_send, packet_send, open_packets, open_scalars, mcapi_pktchan_send_open_i,
      mcapi_pktchan_send_close_i, NULL)
SEND_LIMITS(pktchan_send_i, packet_send_i, open_packets)
SEND_LIMITS(pktchan_send, packet_send, open_packets)
SEND_TIMEOUT(pktchan_send, packet_send, open_packets)
CASE(pktchan_send_i, ERR_PKT_SIZE) {
    open_packets();
    mcapi_pktchan_send_i(world.out, spare_buffer, MESSAGE + 1, &spare_request, &status);
    return status;
}
CASE(pktchan_send, ERR_PKT_SIZE) {
    open_packets();
    mcapi_pktchan_send(world.out, spare_buffer, MESSAGE + 1, &status);
    return status;
}
CASE(pktchan_send_i, ERR_PARAMETER) {
    open_packets();
    mcapi_pktchan_send_i(world.out, "x", 1, NULL, &status);
    assert_status(status, ERR_PARAMETER);
    mcapi_pktchan_send_i(world.out, NULL, 1, &spare_request, &status);
    return status;
}
CASE(pktchan_send, ERR_PARAMETER) {
    open_packets();
    mcapi_pktchan_send(world.out, NULL, 1, &status);
    return status;
}
CASE(pktchan_send_i, ERR_REQUEST_LIMIT) {
    open_packets();
    use_all_requests();
    return packet_send_i(world.out);
}

RECEIVES(pktchan_recv_i, packet_receive_i, open_packets, open_scalars, mcapi_pktchan_recv_open_i,
         NULL)
RECEIVES(pktchan_recv, packet_receive, open_packets, open_scalars, mcapi_pktchan_recv_open_i, NULL)
RECEIVES(pktchan_available, packet_available, open_packets, open_scalars, mcapi_pktchan_recv_open_i,
         NULL)
BLOCKING(pktchan_recv, packet_receive, open_packets, mcapi_pktchan_recv_close_i, packet_send, NULL)
CASE(pktchan_recv_i, PENDING) {
    open_packets();
    return packet_receive_i(world.in);
}
CASE(pktchan_recv_i, ERR_CHAN_CLOSEPENDING) {
    open_packets();
    mcapi_pktchan_recv_close_i(world.in, &spare_request, &status);
    return packet_receive_i(world.in);
}
CASE(pktchan_recv_i, ERR_REQUEST_LIMIT) {
    open_packets();
    use_all_requests();
    return packet_receive_i(world.in);
}
CASE(pktchan_recv_i, ERR_PARAMETER) {
    open_packets();
    mcapi_pktchan_recv_i(world.in, NULL, &spare_request, &status);
    assert_status(status, ERR_PARAMETER);
    mcapi_pktchan_recv_i(world.in, &packet, NULL, &status);
    return status;
}
CASE(pktchan_recv, ERR_PARAMETER) {
    open_packets();
    mcapi_pktchan_recv(world.in, NULL, &spare_size, &status);
    assert_status(status, ERR_PARAMETER);
    mcapi_pktchan_recv(world.in, &packet, NULL, &status);
    return status;
}
CASE(pktchan_available, SUCCESS) {
    open_packets();
    as_other(pktchan_recv_feed, NULL);
    as_other(pktchan_recv_feed, NULL);
    packet_available(world.in);
    assert_int_equal(spare_size, 2);
    return status;
}

static void receive_one(void) {
    open_packets();
    as_other(pktchan_recv_feed, NULL);
    assert_int_equal(packet_receive(world.in), MCAPI_SUCCESS);
    assert_int_equal(spare_size, 4);
    assert_string_equal(packet, "abc");
}
CASE(pktchan_release, SUCCESS) {
    receive_one();
    mcapi_pktchan_release(packet, &status);
    return status;
}
CASE(pktchan_release, ERR_NODE_NOTINIT) {
    mcapi_pktchan_release(spare_buffer, &status);
    return status;
}
CASE(pktchan_release, ERR_BUF_INVALID) {
    void *const wrong[] = {NULL, spare_buffer, (void *)8, (void *)UINTPTR_MAX};
    receive_one();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mcapi_pktchan_release(wrong[i], &status);
        assert_status(status, ERR_BUF_INVALID);
    }
    mcapi_pktchan_release((char *)packet + 1, &status);
    assert_status(status, ERR_BUF_INVALID);
    mcapi_pktchan_release(packet, &status);
    assert_status(status, SUCCESS);
    mcapi_pktchan_release(packet, &status); /* once is enough */
    return status;
}
CASE(pktchan_release_test, SUCCESS) {
    receive_one();
    mcapi_pktchan_release(packet, &status);
    assert_true(mcapi_pktchan_release_test(packet, &status));
    return status;
}
CASE(pktchan_release_test, PENDING) {
    receive_one();
    assert_false(mcapi_pktchan_release_test(packet, &status));
    return status;
}
CASE(pktchan_release_test, ERR_NODE_NOTINIT) {
    mcapi_pktchan_release_test(spare_buffer, &status);
    return status;
}
CASE(pktchan_release_test, ERR_BUF_INVALID) {
    mcapi_pktchan_release_test(NULL, &status);
    assert_status(status, ERR_BUF_INVALID);
    mcapi_pktchan_release_test(spare_buffer, &status);
    return status;
}

/* ---- scalars ------------------------------------------------------------------------------------
 */

#define SCALAR(bits, other_bits)                                                                   \
    SENDS(sclchan_send_uint##bits, scalar_send_##bits, open_scalars, open_packets,                 \
          mcapi_sclchan_send_open_i, mcapi_sclchan_send_close_i, &world)                           \
    SEND_LIMITS(sclchan_send_uint##bits, scalar_send_##bits, open_scalars)                         \
    SEND_TIMEOUT(sclchan_send_uint##bits, scalar_send_##bits, open_scalars)                        \
    RECEIVES(sclchan_recv_uint##bits, scalar_receive_##bits, open_scalars, open_packets,           \
             mcapi_sclchan_recv_open_i, &world)                                                    \
    BLOCKING(sclchan_recv_uint##bits, scalar_receive_##bits, open_scalars,                         \
             mcapi_sclchan_recv_close_i, scalar_send_##bits, &world)                               \
    CASE(sclchan_recv_uint##bits, ERR_SCL_SIZE) {                                                  \
        open_scalars();                                                                            \
        as_other(sclchan_recv_uint##bits##_feed, NULL);                                            \
        scalar_receive_##other_bits(world.in);                                                     \
        mcapi_status_t result = status;                                                            \
        assert_int_equal(scalar_receive_##bits(world.in), MCAPI_SUCCESS); /* it has stayed */      \
        assert_int_equal(scalar_value_##bits, 0x5a);                                               \
        return result;                                                                             \
    }
SCALAR(64, 32)
SCALAR(32, 16)
SCALAR(16, 8)
SCALAR(8, 64)

RECEIVES(sclchan_available, scalar_available, open_scalars, open_packets, mcapi_sclchan_recv_open_i,
         &world)
CASE(sclchan_available, SUCCESS) {
    open_scalars();
    as_other(sclchan_recv_uint8_feed, NULL);
    scalar_available(world.in);
    assert_int_equal(spare_size, 1);
    return status;
}
