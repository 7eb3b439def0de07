/* BT: a binary tree. Each two nodes send to the same parent; messages go from the leaves to the
   root. The paper's programs have 3, 5, ... 21 nodes and 20, 35, ... 155 messages.

   bt [--processes] NODES MESSAGES [FACTOR] */
#include "family.h"

/* Messages on the edge from a node to its parent. */
static long share(int node) {
    long edges = family.nodes - 1, total = family.messages * family.factor;
    return node == 0 ? 0 : total / edges + (node <= total % edges);
}

static void node_main(int number) {
    struct member member;
    member_start(&member, number);
    long incoming = 0, outgoing = share(number), taken = 0;
    for (int child = 2 * number + 1; child <= 2 * number + 2 && child < family.nodes; child++)
        incoming += share(child);
    if (number > 0)
        member_meet(&member, (number - 1) / 2);
    /* A node has its children's news in what it sends. */
    for (long i = 0; i < outgoing; i++) {
        long due = incoming * (i + 1) / outgoing;
        member_take(&member, due - taken);
        taken = due;
        member_send(&member, (number - 1) / 2, i);
    }
    member_take(&member, incoming - taken);
    member_end(&member);
}

int main(int argc, char **argv) {
    static const struct family kind = {"bt", RECEIVE | RECEIVE_TEST | RECEIVE_EITHER, PAYLOAD, 0, 0,
                                       0};
    return family_run(argc, argv, &kind, node_main);
}
