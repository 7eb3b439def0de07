#include "trace_streams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* xorshift64*: the same on every machine. */
static uint64_t next_random(struct stream_state *state) {
    uint64_t x = state->random ? state->random : 88172645463325252ull;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state->random = x;
    return x * 2685821657736338717ull;
}

uint32_t stream_random(struct stream_state *state, uint32_t below) {
    return (uint32_t)((next_random(state) >> 32) * below >> 32);
}

static double uniform(struct stream_state *state) {
    return ((double)(next_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

void stream_node(struct rf_node *node) {
    memset(node, 0, sizeof *node);
    node->rank = 0;
    node->size = 4;
    node->thread_level = 1;
    node->pid = 4711;
    node->started_ns = 1700000000000000000;
    snprintf(node->host, sizeof node->host, "somewhere");
    snprintf(node->adapter, sizeof node->adapter, "mpich");
    snprintf(node->library, sizeof node->library, "MPICH Version: 4.0.2");
    snprintf(node->scheme, sizeof node->scheme, "order");
}

void stream_sites(struct rf_recorder *recorder, unsigned count) {
    struct rf_module module = {.path = "/usr/bin/program", .build_id_length = 20};
    for (unsigned i = 1; i <= count; i++) {
        struct rf_site site = {.number = (uint16_t)i, .offset = 0x1000 + 16 * i};
        snprintf(site.function, sizeof site.function, "MPI_Function_%u", i);
        rf_recorder_site(recorder, &site, &module);
    }
}

static unsigned periodic(struct rf_recorder *recorder, struct stream_state *state) {
    (void)state;
    rf_recorder_fold(recorder, rf_pack(RF_RECV, 0, 1), 1, 7);
    rf_recorder_fold(recorder, rf_pack(RF_RECV, 0, 1), 3, 7);
    return 2;
}

/* Posts and tests of a stencil whose neighbours always come in the same order. */
static unsigned stencil(struct rf_recorder *recorder, struct stream_state *state) {
    struct rf_post posts[4];
    for (int i = 0; i < 4; i++)
        rf_recorder_post(recorder, rf_pack(RF_POST, 1, 2), &posts[i]);
    for (int i = 0; i < 4; i++) {
        rf_recorder_fold(recorder, rf_pack(RF_INDEX, 0, 3), (i * 3) % 4, 4);
        rf_recorder_match(recorder, &posts[i], (i * 7) % 5, 10 + i);
    }
    state->step++;
    return 4;
}

/* Test-some in a loop: mostly nothing, then one or two of the requests. */
static unsigned monte_carlo(struct rf_recorder *recorder, struct stream_state *state) {
    static const double mean = 6;
    unsigned failed = (unsigned)(-log(uniform(state)) * mean);
    for (unsigned i = 0; i < failed; i++)
        rf_recorder_fold(recorder, rf_pack(RF_NONE, 0, 1), 6, 0);
    int32_t list[2] = {(int32_t)stream_random(state, 6), 0};
    list[1] = (list[0] + 1 + (int32_t)stream_random(state, 5)) % 6;
    if (list[1] < list[0]) {
        int32_t swap = list[0];
        list[0] = list[1];
        list[1] = swap;
    }
    uint32_t length = stream_random(state, 5) ? 1 : 2;
    rf_recorder_list(recorder, rf_pack(RF_SET, 0, 1), 6, 0, list, length);
    return length;
}

/* The same with long and very uneven waiting. */
static unsigned long_waits(struct rf_recorder *recorder, struct stream_state *state) {
    double spread = uniform(state) < 0.3 ? 2000 : 30;
    uint32_t failed = (uint32_t)(-log(uniform(state)) * spread);
    if (failed)
        rf_recorder_put(recorder, rf_pack(RF_NONE, 0, 1), 1, 0, failed);
    rf_recorder_fold(recorder, rf_pack(RF_FOUND, 0, 2), (int32_t)stream_random(state, 4), 5);
    return 1;
}

static unsigned workers(struct rf_recorder *recorder, struct stream_state *state) {
    rf_recorder_fold(recorder, rf_pack(RF_RECV, 0, 1), 1 + (int32_t)stream_random(state, 15), 3);
    return 1;
}

/* Wait-any over four neighbours: each comes once in every step, in any order. */
static unsigned halo(struct rf_recorder *recorder, struct stream_state *state) {
    int32_t order[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        int other = i + (int)stream_random(state, (uint32_t)(4 - i));
        int32_t swap = order[i];
        order[i] = order[other];
        order[other] = swap;
        rf_recorder_fold(recorder, rf_pack(RF_INDEX, 0, 1), order[i], 4);
    }
    return 4;
}

/* Many sites and channels, late matches, checks and errors: everything at once. */
static unsigned motley(struct rf_recorder *recorder, struct stream_state *state) {
    uint32_t site = 1 + stream_random(state, 30), channel = stream_random(state, 5);
    uint64_t step = state->step++;
    struct rf_post *post = &state->posts[stream_random(state, 8)];
    if (post->entry)
        rf_recorder_match(recorder, post, (int32_t)stream_random(state, 8),
                          (int32_t)stream_random(state, 1000));
    rf_recorder_post(recorder, rf_pack(RF_POST, channel, site), post);
    int32_t list[40];
    uint32_t length = stream_random(state, 40);
    for (uint32_t i = 0; i < length; i++)
        list[i] = (int32_t)(i * 3 + stream_random(state, 3));
    if (stream_random(state, 10) == 0)
        rf_recorder_list(recorder, rf_pack(RF_SET, 0, site), 40, 0, list, length);
    if (step % 64 == 0)
        rf_recorder_put(recorder, rf_pack(RF_CHECK, 0, 0), (int32_t)stream_random(state, 65536),
                        (int32_t)step, 1);
    if (step % 1000 == 0)
        rf_recorder_list(recorder, rf_pack(RF_ERROR, 0, site), 15, (int32_t)step, list, 3);
    rf_recorder_fold(recorder, rf_pack(RF_DONE, 0, site), 1, 0);
    return 1;
}

const struct stream streams[] = {
    {"periodic", periodic},     {"stencil", stencil}, {"monte-carlo", monte_carlo},
    {"long-waits", long_waits}, {"workers", workers}, {"halo", halo},
    {"motley", motley},
};
const size_t stream_count = sizeof streams / sizeof *streams;
