/* CG: a complete graph. In every round each node sends one message to each other node, and takes as
   many. The paper's programs have 2 to 11 nodes and 10 messages from each to each: 20 to 1100.

   cg [--processes] NODES MESSAGES [FACTOR] */
#include "family.h"

static void node_main(int number) {
    struct member member;
    int others = family.nodes - 1;
    long rounds = family.messages / (family.nodes * (long)others) * family.factor;
    member_start(&member, number);
    for (int peer = 0; peer < family.nodes; peer++)
        if (peer != number)
            member_meet(&member, peer);
    for (long round = 0; round < rounds; round++) {
        for (int peer = 0; peer < family.nodes; peer++)
            if (peer != number)
                member_send(&member, peer, round);
        member_take(&member, others);
    }
    member_end(&member);
}

int main(int argc, char **argv) {
    static const struct family kind = {
        "cg", RECEIVE | RECEIVE_TEST | RECEIVE_WAIT | RECEIVE_EITHER, PAYLOAD, 0, 0, 0};
    return family_run(argc, argv, &kind, node_main);
}
