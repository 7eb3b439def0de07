#include "mcapi/pairs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "mcapi/adapter.h"

enum {
    SLOTS = 1 << 16,
    UNDER_WAY =
        1024, /* messages of a pair; the runtime's own queues are shorter, if not made longer */
    /* Then so many must have been taken that to wait was worth it. */
    UNDER_WAY_AGAIN = UNDER_WAY / 2,
    FIRST_PAUSE_NS = 30000,
    LONGEST_PAUSE_NS = 500000,
    PAUSES_NS = 20000000, /* in all: a receive whose match nobody saw may have taken some */
};

void rf_pairs_open(struct rf_pairs *pairs, const char *run) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/taken", run ? run : "");
    int file = run ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        return;
    void *memory = MAP_FAILED;
    if (ftruncate(file, SLOTS * sizeof *pairs->taken) == 0)
        memory =
            mmap(NULL, SLOTS * sizeof *pairs->taken, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    pairs->taken = memory == MAP_FAILED ? NULL : memory;
}

void rf_pairs_close(struct rf_pairs *pairs) {
    if (pairs->taken)
        munmap(pairs->taken, SLOTS * sizeof *pairs->taken);
    while (pairs->list) {
        struct rf_pair *pair = pairs->list;
        pairs->list = pair->next;
        free(pair);
    }
    *pairs = (struct rf_pairs){0};
}

/* Two pairs in one slot only make both wait less. */
static uint32_t slot_of(int32_t source, uint32_t port, int32_t to, uint32_t to_port) {
    uint64_t one = (uint64_t)(uint32_t)source << 32 | port;
    uint64_t other = (uint64_t)(uint32_t)to << 32 | to_port;
    return (uint32_t)(rf_handle_hash(rf_handle_hash(one) ^ other) >> 48);
}

/* With the tables' lock. */
static struct rf_pair *add(struct rf_mcapi_node *node, mcapi_endpoint_t from, mcapi_endpoint_t to) {
    struct rf_pair *pair = rf_room(NULL, sizeof *pair);
    *pair = (struct rf_pair){.from = from, .to = to};
    mcapi_domain_t domain, to_domain;
    mcapi_node_t number, to_number;
    mcapi_port_t port, to_port;
    if (rf_reals.endpoint_name && rf_reals.endpoint_name(from, &domain, &number, &port) &&
        rf_reals.endpoint_name(to, &to_domain, &to_number, &to_port)) {
        pair->slot = slot_of(rf_node_name(domain, number), port, rf_node_name(to_domain, to_number),
                             to_port);
        rf_turn_find(&node->turns, pair, port, to_domain, to_number, to_port);
    }
    pair->next = node->pairs.list;
    return node->pairs.list = pair;
}

struct rf_pair *rf_pair_of(struct rf_mcapi_node *node, mcapi_endpoint_t from, mcapi_endpoint_t to) {
    rf_tables_lock(node);
    struct rf_pair *pair = node->pairs.list;
    while (pair && (pair->from != from || pair->to != to))
        pair = pair->next;
    if (!pair)
        pair = add(node, from, to);
    rf_tables_unlock(node);
    return pair;
}

static bool is_under_way(const struct rf_mcapi_node *node, const struct rf_pair *pair,
                         int32_t count) {
    uint32_t taken = __atomic_load_n(&node->pairs.taken[pair->slot], __ATOMIC_RELAXED);
    return (int32_t)(pair->sent - taken) >= count;
}

void rf_pair_wait(struct rf_mcapi_node *node, const struct rf_pair *pair) {
    if (!node->pairs.taken || rf_free(node) || !is_under_way(node, pair, UNDER_WAY))
        return;
    long pause = FIRST_PAUSE_NS;
    for (long waited = 0; waited < PAUSES_NS && is_under_way(node, pair, UNDER_WAY_AGAIN);
         waited += pause) {
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        if (pause < LONGEST_PAUSE_NS)
            pause *= 2;
    }
}

void rf_pair_took(struct rf_mcapi_node *node, uint32_t channel,
                  const struct rf_message_name *name) {
    if (!node->pairs.taken)
        return;
    uint32_t slot =
        slot_of(name->first, (uint32_t)name->second & 0x0fffffff,
                rf_node_name(node->domain, node->node), rf_endpoint_at(node, channel)->port);
    __atomic_fetch_add(&node->pairs.taken[slot], 1, __ATOMIC_RELAXED);
}
