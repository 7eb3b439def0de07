/* Bully: the nodes elect a leader as Garcia-Molina describes it. A node that wants an election asks
   all with a higher number; one of those that is up answers and holds an election of its own; who
   gets no such answer is the leader and tells everybody. Messages have 4 bytes.

   In each election another node is down: it refuses whoever asks, as a transport would that finds
   nobody there, so that nobody needs a clock. The paper's programs have 3 to 12 nodes and 35 to 314
   messages; here MESSAGES tells how many elections there are, and each is held to its end.

   bully [--processes] NODES MESSAGES [FACTOR] */
#include "family.h"

enum kind { ASK, ANSWER, REFUSE, LEADER };

/* Nodes can be in different elections, but never this far apart: nobody gets past an election in
   which the last node is up before that has taken part, and it is down in one of two at most. */
enum { AHEAD = 4 };

struct election {
    int asked;    /* by those below */
    int replies;  /* of those above */
    int answered; /* somebody above is up */
    int holding;
    int leader; /* known */
};

struct voter {
    struct member member;
    struct election elections[AHEAD];
};

static int down_in(long election) {
    return (int)((family.nodes - 1 + election * 2) % family.nodes);
}

static void tell(struct voter *voter, int peer, enum kind kind, long election) {
    uint32_t word =
        (uint32_t)kind << 24 | (uint32_t)(election % 256) << 16 | (uint32_t)voter->member.number;
    member_send_data(&voter->member, peer, &word, sizeof word);
}

static void proclaim(struct voter *voter, long election) {
    for (int peer = 0; peer < family.nodes; peer++)
        if (peer != voter->member.number)
            tell(voter, peer, LEADER, election);
    voter->elections[election % AHEAD].leader = 1;
}

static void hold(struct voter *voter, long election) {
    struct election *mine = &voter->elections[election % AHEAD];
    if (mine->holding || down_in(election) == voter->member.number)
        return;
    mine->holding = 1;
    for (int peer = voter->member.number + 1; peer < family.nodes; peer++)
        tell(voter, peer, ASK, election);
    if (voter->member.number == family.nodes - 1)
        proclaim(voter, election);
}

static void reply(struct voter *voter, long election, int kind) {
    struct election *mine = &voter->elections[election % AHEAD];
    mine->replies++;
    mine->answered |= kind == ANSWER;
    if (mine->replies == family.nodes - 1 - voter->member.number && !mine->answered)
        proclaim(voter, election);
}

/* A message belongs to this election or to one that is near. */
static void act(struct voter *voter, long now) {
    unsigned char data[PAYLOAD];
    uint32_t word;
    member_take_one(&voter->member, data);
    memcpy(&word, data, sizeof word);
    int peer = (int)(word & 0xffff);
    long election = now + (int8_t)((word >> 16 & 255) - (uint32_t)(now % 256));
    switch (word >> 24) {
    case ASK:
        voter->elections[election % AHEAD].asked++;
        tell(voter, peer, down_in(election) == voter->member.number ? REFUSE : ANSWER, election);
        hold(voter, election);
        break;
    case LEADER:
        voter->elections[election % AHEAD].leader = 1;
        break;
    default:
        reply(voter, election, (int)(word >> 24));
        break;
    }
}

static int is_over(const struct voter *voter, long election) {
    const struct election *mine = &voter->elections[election % AHEAD];
    int number = voter->member.number, down = down_in(election);
    int above = number == down ? 0 : family.nodes - 1 - number;
    return mine->leader && mine->replies == above && mine->asked == number - (down < number);
}

/* On average, as it depends on who is down. */
static long messages_of(int nodes) {
    return nodes * (nodes - 1L);
}

static void node_main(int number) {
    struct voter voter = {0};
    long elections = (family.messages + messages_of(family.nodes) / 2) / messages_of(family.nodes);
    elections = (elections > 0 ? elections : 1) * family.factor;
    member_start(&voter.member, number);
    for (int peer = 0; peer < family.nodes; peer++)
        if (peer != number)
            member_meet(&voter.member, peer);
    for (long election = 0; election < elections; election++) {
        /* The lowest that is up notices that there is no leader. */
        if (number == (down_in(election) == 0 ? 1 : 0))
            hold(&voter, election);
        while (!is_over(&voter, election))
            act(&voter, election);
        voter.elections[election % AHEAD] = (struct election){0};
    }
    member_end(&voter.member);
}

int main(int argc, char **argv) {
    static const struct family kind = {
        "bully", RECEIVE | RECEIVE_TEST | RECEIVE_WAIT, PAYLOAD, 0, 0, 0};
    return family_run(argc, argv, &kind, node_main);
}
