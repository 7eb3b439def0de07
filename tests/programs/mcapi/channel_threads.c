/* Two threads of one node send packets over one channel, two of the other node receive them. */
#include "channels.h"
#include "threads.h"

CHANNELS(pktchan)

static mcapi_pktchan_recv_hndl_t incoming;
static mcapi_pktchan_send_hndl_t outgoing;

static void receive(int node, int thread, mcapi_endpoint_t endpoint) {
    (void)node;
    (void)thread;
    (void)endpoint;
    for (int i = 0; i < ROUNDS; i++) {
        mcapi_status_t status;
        void *packet;
        size_t size = 0;
        if (i % 2) {
            mcapi_request_t request;
            mcapi_pktchan_recv_i(incoming, &packet, &request, &status);
            must("mcapi_pktchan_recv_i", status);
            mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status);
        } else {
            mcapi_pktchan_recv(incoming, &packet, &size, &status);
        }
        must("packet", status);
        observe_message(status, packet, size);
        mcapi_pktchan_release(packet, &status);
        must("mcapi_pktchan_release", status);
        dawdle();
    }
}

static void transmit(int node, int thread, mcapi_endpoint_t endpoint) {
    (void)endpoint;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char data[MOST_BYTES];
        mcapi_status_t status;
        dawdle();
        mcapi_pktchan_send(outgoing, data, fill(data, node, thread * ROUNDS + i), &status);
        must("mcapi_pktchan_send", status);
    }
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0) {
        incoming = open_from(1);
        run_threads(receive, node, local);
        close_from(incoming);
    } else {
        outgoing = open_to(own_endpoint(CHANNEL_PORT));
        run_threads(transmit, node, local);
        close_to(outgoing);
    }
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, 2);
}
