/* What the four families of programs share (Elwakil and Yang, section 4.1): nodes that send each
   other small messages and take them in the ways that MCAPI offers.

   Every node prints a hash of all that it saw, in order: contents, who was first in a wait-any, how
   often a test failed. BENCH_TIME names a file for the seconds from the start of the nodes to their
   end and for the largest resident memory in KiB, all processes together. */
#ifndef FAMILY_H
#define FAMILY_H

#include "nodes.h"

#include <sched.h>
#include <stdint.h>

enum { PAYLOAD = 50, LOOKS = 8 };

/* How a node takes a message; a family uses several in turn. */
enum way {
    RECEIVE = 1,       /* blocking */
    RECEIVE_TEST = 2,  /* non-blocking; looks a few times, then waits */
    RECEIVE_WAIT = 4,  /* non-blocking, then waits */
    RECEIVE_EITHER = 8 /* two of them, whichever is first */
};

struct family {
    const char *name;
    unsigned ways;
    size_t size; /* of a message */
    int nodes;
    long messages; /* of the whole program, as far as that is known before */
    long factor;
};

struct member {
    const struct family *family;
    int number;
    mcapi_endpoint_t inbox;
    mcapi_endpoint_t peers[NODES_MOST];
    uint64_t hash;
    long received, sent;
    unsigned turn;
};

static struct family family;

static inline void member_see(struct member *member, uint64_t value) {
    member->hash = (member->hash ^ value) * UINT64_C(1099511628211);
}

static inline void member_see_message(struct member *member, const unsigned char *data,
                                      size_t size) {
    uint64_t word;
    member->received++;
    member_see(member, size);
    for (size_t at = 0; at < size; at += sizeof word) {
        word = 0;
        memcpy(&word, data + at, size - at < sizeof word ? size - at : sizeof word);
        member_see(member, word);
    }
}

/* ---- start and end -------------------------------------------------------------------------- */

static inline void member_start(struct member *member, int number) {
    mcapi_param_t parameters = MCAPI_PARAM_DEFAULTS;
    mcapi_info_t info;
    mcapi_status_t status;
    *member = (struct member){&family, number, .hash = UINT64_C(14695981039346656037)};
    /* One endpoint each. As many can be on the way to a node while the others are ahead of it as
       far as they can get: nodes that block while they send would wait for each other for ever. */
    parameters.endpoints = (mcapi_uint_t)family.nodes;
    parameters.priorities = 1;
    parameters.queue_length = 128;
    while (parameters.queue_length < (mcapi_uint_t)(family.nodes * family.nodes))
        parameters.queue_length *= 2;
    mcapi_initialize(DOMAIN, (mcapi_node_t)number, NULL, &parameters, &info, &status);
    must("mcapi_initialize", status);
    member->inbox = own_endpoint(PORT);
}

static inline void member_meet(struct member *member, int peer) {
    member->peers[peer] = endpoint_of(peer, PORT);
}

static inline void member_end(struct member *member) {
    char line[96];
    int length =
        snprintf(line, sizeof line, "node %d: %016llx received %ld sent %ld\n", member->number,
                 (unsigned long long)member->hash, member->received, member->sent);
    /* One write, so that lines of several nodes do not mix. */
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        exit(1);
    stop(member->inbox);
}

/* ---- sending -------------------------------------------------------------------------------- */

/* Every fourth does not block. */
static inline void member_send_data(struct member *member, int peer, const void *data,
                                    size_t size) {
    mcapi_status_t status;
    mcapi_request_t request;
    size_t sent;
    if (++member->sent % 4 == 0) {
        mcapi_msg_send_i(member->inbox, member->peers[peer], data, size, MCAPI_MAX_PRIORITY,
                         &request, &status);
        if (status == MCAPI_SUCCESS || status == MCAPI_PENDING) {
            mcapi_wait(&request, &sent, MCAPI_TIMEOUT_INFINITE, &status);
            must("mcapi_wait", status);
            return;
        }
        /* No room at this moment: that is an answer like any other. */
        member_see(member, status);
        if (status != MCAPI_ERR_MEM_LIMIT)
            must("mcapi_msg_send_i", status);
    }
    mcapi_msg_send(member->inbox, member->peers[peer], data, size, MCAPI_MAX_PRIORITY, &status);
    must("mcapi_msg_send", status);
}

/* What the node has seen so far is in its messages: one order leads to the next. */
static inline void member_send(struct member *member, int peer, long number) {
    unsigned char data[PAYLOAD] = {0};
    memcpy(data, &member->number, sizeof member->number);
    memcpy(data + 8, &number, sizeof number);
    memcpy(data + 16, &member->hash, sizeof member->hash);
    member_send_data(member, peer, data, family.size);
}

/* ---- receiving ------------------------------------------------------------------------------ */

static inline void member_post(struct member *member, unsigned char *data,
                               mcapi_request_t *request) {
    mcapi_status_t status;
    mcapi_msg_recv_i(member->inbox, data, PAYLOAD, request, &status);
    must("mcapi_msg_recv_i", status);
}

static inline size_t member_wait(mcapi_request_t *request) {
    mcapi_status_t status;
    size_t size = 0;
    mcapi_wait(request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait", status);
    return size;
}

static inline size_t member_receive(struct member *member, unsigned char *data) {
    mcapi_status_t status;
    size_t size = 0;
    mcapi_msg_recv(member->inbox, data, PAYLOAD, &size, &status);
    must("mcapi_msg_recv", status);
    return size;
}

/* A test that fails gives the core to somebody who may send. */
static inline size_t member_look(struct member *member, unsigned char *data) {
    mcapi_status_t status;
    mcapi_request_t request;
    size_t size = 0;
    member_post(member, data, &request);
    for (int looks = 0; looks < LOOKS; looks++) {
        if (mcapi_test(&request, &size, &status)) {
            member_see(member, (uint64_t)looks);
            return size;
        }
        sched_yield();
    }
    member_see(member, LOOKS);
    return member_wait(&request);
}

static inline void member_receive_either(struct member *member) {
    unsigned char data[2][PAYLOAD];
    mcapi_status_t status;
    mcapi_request_t requests[2], *pointers[] = {&requests[0], &requests[1]};
    size_t size;
    for (int i = 0; i < 2; i++)
        member_post(member, data[i], &requests[i]);
    mcapi_uint_t first = mcapi_wait_any(2, pointers, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_wait_any", status);
    member_see(member, first);
    member_see_message(member, data[first], size);
    size = member_wait(&requests[1 - first]);
    member_see_message(member, data[1 - first], size);
}

static inline enum way member_next_way(struct member *member) {
    unsigned way;
    do
        way = 1u << (member->turn++ & 3);
    while (!(family.ways & way));
    return (enum way)way;
}

/* One message, into `data`. */
static inline size_t member_take_one(struct member *member, unsigned char *data) {
    enum way way = member_next_way(member);
    mcapi_request_t request;
    size_t size;
    if (way == RECEIVE_TEST) {
        size = member_look(member, data);
    } else if (way == RECEIVE_WAIT) {
        member_post(member, data, &request);
        size = member_wait(&request);
    } else {
        size = member_receive(member, data);
    }
    member_see_message(member, data, size);
    return size;
}

static inline void member_take(struct member *member, long count) {
    unsigned char data[PAYLOAD];
    while (count > 0)
        if (count > 1 && family.ways & RECEIVE_EITHER && member->turn % 4 == 3) {
            member->turn++;
            member_receive_either(member);
            count -= 2;
        } else {
            member_take_one(member, data);
            count--;
        }
}

/* ---- the program ---------------------------------------------------------------------------- */

static inline double family_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* getrusage would tell the size of whoever started the program, if that was larger. */
static inline long family_peak(void) {
    char line[128];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static inline void family_tell_peak(void) {
    const char *path = getenv("BENCH_TIME");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "kib %ld\n", family_peak());
    fclose(file);
}

static node_program *family_member;

static inline void family_process(int node) {
    family_member(node);
    family_tell_peak();
}

/* NAME [--processes] NODES MESSAGES [FACTOR]. Fills in `family`; returns what main is to return. */
static inline int family_run(int argc, char **argv, const struct family *kind,
                             node_program *program) {
    int apart = nodes_option(&argc, argv, "--processes");
    family = *kind;
    family.nodes = argc > 1 ? atoi(argv[1]) : 0;
    family.messages = argc > 2 ? atol(argv[2]) : 0;
    family.factor = argc > 3 ? atol(argv[3]) : 1;
    if (family.nodes < 2 || family.nodes > NODES_MOST || family.messages < 1 || family.factor < 1) {
        fprintf(stderr, "usage: %s [--processes] NODES MESSAGES [FACTOR]\n", kind->name);
        return 2;
    }
    double begin = family_now();
    family_member = program;
    int code = apart ? nodes_as_processes(family_process, 0, family.nodes)
                     : nodes_as_threads(program, 0, family.nodes);
    double seconds = family_now() - begin;
    if (!apart)
        family_tell_peak();
    const char *path = getenv("BENCH_TIME");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "seconds %.9f\n", seconds);
        fclose(file);
    }
    return code;
}

#endif
