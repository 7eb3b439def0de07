/* Scalar channels of all widths: how many values wait in each at the moment of the question. */
#include "channels.h"

CHANNELS(sclchan)

static long receive_one(mcapi_sclchan_recv_hndl_t channel, int number) {
    mcapi_status_t status;
    long value;
    if (number % 4 == 0)
        value = (long)mcapi_sclchan_recv_uint64(channel, &status);
    else if (number % 4 == 1)
        value = (long)mcapi_sclchan_recv_uint32(channel, &status);
    else if (number % 4 == 2)
        value = (long)mcapi_sclchan_recv_uint16(channel, &status);
    else
        value = (long)mcapi_sclchan_recv_uint8(channel, &status);
    must("mcapi_sclchan_recv", status);
    return value;
}

static void send_value(mcapi_sclchan_send_hndl_t channel, int number, unsigned value) {
    mcapi_status_t status;
    if (number % 4 == 0)
        mcapi_sclchan_send_uint64(channel, value, &status);
    else if (number % 4 == 1)
        mcapi_sclchan_send_uint32(channel, value, &status);
    else if (number % 4 == 2)
        mcapi_sclchan_send_uint16(channel, (mcapi_uint16_t)value, &status);
    else
        mcapi_sclchan_send_uint8(channel, (mcapi_uint8_t)value, &status);
    must("mcapi_sclchan_send", status);
}

static void receive_all(void) {
    mcapi_sclchan_recv_hndl_t channels[SENDERS];
    mcapi_status_t status;
    int taken[SENDERS] = {0};
    for (int i = 0; i < SENDERS; i++)
        channels[i] = open_from(i + 1);
    for (int left = MESSAGES; left > 0;)
        for (int i = 0; i < SENDERS; i++) {
            mcapi_uint_t count = mcapi_sclchan_available(channels[i], &status);
            must("mcapi_sclchan_available", status);
            observe("available", (long)count);
            for (; count > 0; count--, left--)
                observe("value", receive_one(channels[i], taken[i]++));
            sched_yield();
        }
    for (int i = 0; i < SENDERS; i++)
        close_from(channels[i]);
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0) {
        receive_all();
    } else {
        mcapi_sclchan_send_hndl_t channel = open_to(own_endpoint(CHANNEL_PORT));
        for (int i = 0; i < ROUNDS; i++) {
            dawdle();
            send_value(channel, i, (unsigned)(node * 10 + i));
        }
        close_to(channel);
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
