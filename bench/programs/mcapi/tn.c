/* TN: ten nodes whatever the number of messages. The paper's programs have 90, 180, ... 900 of
   them, so from each node to each other 1 to 10. A node has receives posted for all that a round
   will bring before it sends, and takes whichever is complete.

   tn [--processes] NODES MESSAGES [FACTOR] */
#include "family.h"

struct window {
    unsigned char data[NODES_MOST][PAYLOAD];
    mcapi_request_t requests[NODES_MOST];
    mcapi_request_t *pending[NODES_MOST];
    int places[NODES_MOST]; /* of the pending ones in `data` */
};

/* The order of the places that complete is seen as well as what is in them. */
static void drain(struct member *member, struct window *window, int count) {
    mcapi_status_t status;
    size_t size;
    for (int left = count; left > 0; left--) {
        mcapi_uint_t index =
            mcapi_wait_any((size_t)left, window->pending, &size, MCAPI_TIMEOUT_INFINITE, &status);
        must("mcapi_wait_any", status);
        member_see(member, index);
        member_see_message(member, window->data[window->places[index]], size);
        window->pending[index] = window->pending[left - 1];
        window->places[index] = window->places[left - 1];
    }
}

static void node_main(int number) {
    struct member member;
    struct window window;
    int others = family.nodes - 1;
    long rounds = family.messages / (family.nodes * (long)others) * family.factor;
    member_start(&member, number);
    for (int peer = 0; peer < family.nodes; peer++)
        if (peer != number)
            member_meet(&member, peer);
    for (long round = 0; round < rounds; round++) {
        int posted = round % 2 ? others : others / 2;
        for (int i = 0; i < posted; i++) {
            member_post(&member, window.data[i], &window.requests[i]);
            window.pending[i] = &window.requests[i];
            window.places[i] = i;
        }
        for (int peer = 0; peer < family.nodes; peer++)
            if (peer != number)
                member_send(&member, peer, round);
        drain(&member, &window, posted);
        member_take(&member, others - posted);
    }
    member_end(&member);
}

int main(int argc, char **argv) {
    static const struct family kind = {"tn", RECEIVE | RECEIVE_TEST | RECEIVE_WAIT, PAYLOAD, 0, 0,
                                       0};
    return family_run(argc, argv, &kind, node_main);
}
