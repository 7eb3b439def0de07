/* Packet channels: which of them has something, how many packets wait in it, which receive is
   complete first. */
#include "channels.h"

CHANNELS(pktchan)

static void take(void *packet, size_t size) {
    mcapi_status_t status;
    observe_data("packet", packet, size);
    mcapi_pktchan_release(packet, &status);
    must("mcapi_pktchan_release", status);
}

/* The first half as they are there, looking at one channel after the other. */
static void poll_channels(const mcapi_pktchan_recv_hndl_t *channels) {
    mcapi_status_t status;
    int taken[SENDERS] = {0};
    for (int left = MESSAGES / 2; left > 0;)
        for (int i = 0; i < SENDERS; i++) {
            mcapi_uint_t count = mcapi_pktchan_available(channels[i], &status);
            must("mcapi_pktchan_available", status);
            observe("available", (long)count);
            for (; count > 0 && taken[i] < ROUNDS / 2; count--, taken[i]++, left--) {
                void *packet;
                size_t size;
                mcapi_pktchan_recv(channels[i], &packet, &size, &status);
                must("mcapi_pktchan_recv", status);
                take(packet, size);
            }
            sched_yield();
        }
}

/* The second half with receives under way on all of them. */
static void take_any(const mcapi_pktchan_recv_hndl_t *channels) {
    mcapi_request_t requests[SENDERS], *pointers[SENDERS];
    void *packets[SENDERS];
    int places[SENDERS], left[SENDERS];
    mcapi_status_t status;
    size_t size, count = SENDERS;
    for (int i = 0; i < SENDERS; i++) {
        mcapi_pktchan_recv_i(channels[i], &packets[i], &requests[i], &status);
        must("mcapi_pktchan_recv_i", status);
        pointers[i] = &requests[i];
        places[i] = i;
        left[i] = ROUNDS - ROUNDS / 2 - 1;
    }
    while (count > 0) {
        mcapi_uint_t index =
            mcapi_wait_any(count, pointers, &size, MCAPI_TIMEOUT_INFINITE, &status);
        must("mcapi_wait_any", status);
        int place = places[index];
        observe("channel", place);
        take(packets[place], size);
        if (left[place]-- > 0) {
            mcapi_pktchan_recv_i(channels[place], &packets[place], &requests[place], &status);
            must("mcapi_pktchan_recv_i", status);
            continue;
        }
        count--;
        pointers[index] = pointers[count];
        places[index] = places[count];
    }
}

/* Goes on until the other side has closed the channel. */
static void flood(mcapi_pktchan_send_hndl_t channel, int node) {
    unsigned char data[MOST_BYTES];
    mcapi_request_t request;
    mcapi_status_t status;
    int number = ROUNDS;
    for (;; number++) {
        size_t size = fill(data, node, number);
        mcapi_pktchan_send_i(channel, data, size, &request, &status);
        if (status == MCAPI_SUCCESS || status == MCAPI_PENDING)
            await_request(&request);
        else if (status != MCAPI_ERR_MEM_LIMIT)
            break;
        dawdle();
    }
    observe("sent", number);
    observe("refused", (long)status);
}

static void node_main(int node) {
    mcapi_status_t status;
    mcapi_endpoint_t local = begin(node);
    if (node == 0) {
        mcapi_pktchan_recv_hndl_t channels[SENDERS];
        for (int i = 0; i < SENDERS; i++)
            channels[i] = open_from(i + 1);
        poll_channels(channels);
        take_any(channels);
        for (int i = 0; i < SENDERS; i++)
            close_from(channels[i]);
    } else {
        unsigned char data[MOST_BYTES];
        mcapi_pktchan_send_hndl_t channel = open_to(own_endpoint(CHANNEL_PORT));
        for (int i = 0; i < ROUNDS; i++) {
            dawdle();
            size_t size = fill(data, node, i);
            mcapi_pktchan_send(channel, data, size, &status);
            must("mcapi_pktchan_send", status);
        }
        flood(channel, node);
        close_to(channel);
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
