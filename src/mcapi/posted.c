/* Record: requests whose outcome is not known yet. */
#include "mcapi/posted.h"

#include <stdlib.h>

/* A receive of a packet, or of a message. */
struct rf_posted {
    struct rf_post post;
    const void *buffer;
    void *const *packet;
    uint64_t handle; /* of its channel */
    uint64_t order;  /* among those of packets */
    const struct rf_mcapi_thread *thread;
    bool named;                    /* what it took is known, though nobody was told */
    const mcapi_endpoint_t *found; /* no receive, but an endpoint that was asked for, */
    int32_t sign;                  /* and the number of its name */
    bool told;                     /* of it */
    uint32_t next;                 /* among the unused */
};

static void more_posted(struct rf_mcapi_node *node) {
    uint32_t first = node->posted_room;
    node->posted_room = first ? first * 2 : 64;
    node->posted = rf_room(node->posted, node->posted_room * sizeof *node->posted);
    for (uint32_t i = first; i < node->posted_room; i++)
        node->posted[i].next = i + 1;
}

static void drop(struct rf_mcapi_node *node, mcapi_request_t request) {
    uint32_t slot = rf_handle_slot_of(&node->posted_map, request + 1);
    if (slot == RF_NOWHERE)
        return;
    uint32_t place = node->posted_map.slots[slot].value;
    node->posted[place].next = node->posted_free;
    node->posted_free = place;
    rf_handle_remove_at(&node->posted_map, slot);
}

static struct rf_posted *posted_new(struct rf_mcapi_node *node, mcapi_request_t request) {
    /* A library may give out a handle again that we believe to be in use. */
    drop(node, request);
    if (__builtin_expect(node->posted_free == node->posted_room, 0))
        more_posted(node);
    uint32_t place = node->posted_free;
    struct rf_posted *posted = &node->posted[place];
    node->posted_free = posted->next;
    posted->packet = NULL;
    posted->found = NULL;
    posted->thread = rf_this_thread;
    posted->named = false;
    if (!rf_handle_add(&node->posted_map, request + 1, place))
        abort();
    return posted;
}

void rf_record_post(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_request_t request,
                    uint32_t channel, const void *buffer) {
    struct rf_session *session = &node->session;
    rf_answered = true;
    rf_session_append(session);
    if (session->recorder.on) {
        struct rf_posted *posted = posted_new(node, request);
        posted->buffer = buffer;
        rf_recorder_post(&session->recorder, rf_here_pack(session, here, RF_POST, channel),
                         &posted->post);
    }
    rf_session_unlock(session);
}

void rf_record_filled(struct rf_mcapi_node *node, mcapi_request_t request,
                      const mcapi_endpoint_t *found, int32_t sign, bool told) {
    rf_session_lock(&node->session);
    struct rf_posted *posted = posted_new(node, request);
    posted->found = found;
    posted->sign = sign;
    posted->told = told;
    rf_session_unlock(&node->session);
}

void rf_record_packet(struct rf_mcapi_node *node, mcapi_request_t request, void *const *packet,
                      uint64_t channel) {
    rf_session_lock(&node->session);
    struct rf_posted *posted = posted_new(node, request);
    posted->packet = packet;
    posted->handle = channel;
    posted->order = node->packets_posted++;
    rf_session_unlock(&node->session);
}

/* What is it, and which message has it got? */
static void recognize(struct rf_mcapi_node *node, struct rf_completion *completion) {
    completion->place = rf_handle_find(&node->posted_map, completion->request + 1);
    completion->named = completion->found = false;
    completion->handle = 0;
    if (completion->place == RF_NOWHERE)
        return;
    const struct rf_posted *posted = &node->posted[completion->place];
    if (posted->found || posted->packet || posted->named)
        return;
    completion->named = true;
    completion->name = rf_delivered(posted->buffer, completion->size, completion->cut);
    completion->channel = rf_packed_channel(posted->post.what);
    completion->back = (uint32_t)(node->session.recorder.posts - posted->post.ordinal);
}

/* Whoever asks again for what a test has left as it is gets its size again, like that of a send:
   nothing need be remembered of it. */
static void record_match_alone(struct rf_mcapi_node *node, struct rf_completion *completion) {
    if (completion->place == RF_NOWHERE) {
        rf_keep_size(node, completion->size);
        return;
    }
    struct rf_posted *posted = &node->posted[completion->place];
    if (posted->found) {
        rf_endpoint_learn(node, *posted->found, posted->sign);
        rf_keep_size(node, completion->size);
        rf_keep(node, posted->found, sizeof *posted->found, false);
        completion->found = !posted->told;
        posted->told = true;
    } else if (posted->packet) {
        completion->name = rf_delivered(NULL, 0, false);
        completion->handle = posted->named ? 0 : posted->handle;
        rf_keep(node, *posted->packet, completion->size, false);
    } else {
        if (completion->named)
            rf_recorder_match(&node->session.recorder, &posted->post, completion->name.first,
                              completion->name.second);
        rf_keep(node, posted->buffer, completion->size, completion->cut);
    }
    if (completion->released || !posted->found)
        drop(node, completion->request);
}

/* Another thread may have posted the request, or post others meanwhile. */
void rf_record_match(struct rf_mcapi_node *node, const struct rf_here *here,
                     struct rf_completion *completion) {
    rf_session_lock(&node->session);
    recognize(node, completion);
    rf_session_unlock(&node->session);
    if (completion->named)
        rf_record_sequence(node, here, completion->channel, &completion->name);
    rf_session_lock(&node->session);
    record_match_alone(node, completion);
    rf_session_unlock(&node->session);
}

static bool is_posted_at(const struct rf_posted *posted, const struct rf_place *place) {
    if (posted->found || posted->thread != rf_this_thread || !posted->packet != !place->handle)
        return false;
    return place->handle ? posted->handle == place->handle
                         : rf_packed_channel(posted->post.what) == place->endpoint;
}

static uint64_t order_of(const struct rf_posted *posted) {
    return posted->packet ? posted->order : posted->post.ordinal;
}

/* The first of them, from there on. */
static struct rf_posted *next_posted(struct rf_mcapi_node *node, const struct rf_place *place,
                                     uint64_t from, mcapi_request_t *request) {
    struct rf_posted *next = NULL;
    const struct rf_handle_map *map = &node->posted_map;
    for (uint32_t i = 0; map->slots && i <= map->mask; i++) {
        struct rf_posted *posted = map->slots[i].key ? &node->posted[map->slots[i].value] : NULL;
        if (!posted || !is_posted_at(posted, place) || order_of(posted) < from ||
            (next && order_of(next) < order_of(posted)))
            continue;
        next = posted;
        *request = map->slots[i].key - 1;
    }
    return next;
}

/* One after the other: tells what it has taken, if it has. False after the last one. */
static bool next_taken(struct rf_mcapi_node *node, const struct rf_place *place, uint64_t *from,
                       bool *taken, struct rf_completion *completion) {
    struct mcapix_origin origin;
    mcapi_request_t request;
    rf_session_lock(&node->session);
    struct rf_posted *posted = next_posted(node, place, *from, &request);
    *taken = posted && rf_reals.taken(request, &origin);
    *from = posted ? order_of(posted) + 1 : 0;
    if (*taken) {
        completion->name = rf_name_of(&origin);
        posted->named = true;
    }
    if (*taken && !posted->packet) {
        completion->back = (uint32_t)(node->session.recorder.posts - posted->post.ordinal);
        rf_recorder_match(&node->session.recorder, &posted->post, completion->name.first,
                          completion->name.second);
    }
    rf_session_unlock(&node->session);
    return posted != NULL;
}

void rf_record_taken(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel) {
    const struct rf_place place = {.endpoint = channel};
    struct rf_completion completion = {0};
    uint64_t from = 0;
    bool taken;
    while (rf_reals.taken && next_taken(node, &place, &from, &taken, &completion))
        if (taken) {
            rf_record_sequence(node, here, channel, &completion.name);
            rf_number(node, here, 1); /* one more; the value before, if any, was about it */
            rf_record_stamp(node, here, &completion.name, completion.back);
        }
}

/* No event says of the receive of a packet what it took. So each of them has a value here. */
void rf_record_taken_packets(struct rf_mcapi_node *node, const struct rf_here *here,
                             uint64_t channel) {
    const struct rf_place place = {.handle = channel};
    struct rf_completion completion = {0};
    uint64_t from = 0;
    bool taken;
    while (rf_reals.taken && next_taken(node, &place, &from, &taken, &completion))
        rf_number(node, here, taken ? (int32_t)completion.name.sequence + 1 : 0);
}

void rf_posted_forget(struct rf_mcapi_node *node, mcapi_request_t request) {
    rf_session_lock(&node->session);
    drop(node, request);
    rf_session_unlock(&node->session);
}
