#include "inbox.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TICK UINT64_C(50000000)
#define LONGEST_TICK UINT64_C(500000000)
#define STALLED_TICK UINT64_C(1000000)
/* A sleep that was shorter would better have been spent looking. */
#define SHORT_SLEEP UINT64_C(100000)

/* ---- matching ----------------------------------------------------------------------------- */

static struct mc_posts *posts_for(struct mc_local_endpoint *endpoint, enum mc_kind kind) {
    return kind == MC_MESSAGE ? &endpoint->messages : &endpoint->channel;
}

static uint32_t place_of(const struct mc_local_endpoint *endpoint) {
    return endpoint->handle & MC_INDEX_MASK;
}

static void number_match(struct mc_local_endpoint *endpoint, struct mc_post *post) {
    struct mc_segment *segment = mc_the_job.segment;
    post->order = endpoint->matches++;
    post->origin.stamp = MC_LIKELY(!__atomic_load_n(&segment->stamping, __ATOMIC_RELAXED))
                             ? 0
                             : __atomic_add_fetch(&segment->stamp, 1, __ATOMIC_ACQ_REL);
}

static void fill_message(struct mc_post *post, const void *data, size_t size) {
    post->status = MCAPI_SUCCESS;
    post->size = size;
    if (size > post->room) {
        post->status = MCAPI_ERR_MSG_TRUNCATED;
        post->size = post->room;
        if (post->cancellable && (post->whole = malloc(size))) {
            memcpy(post->whole, data, size);
            post->whole_size = size;
        }
    }
    if (post->size)
        memcpy(post->buffer, data, post->size);
}

static bool take_returned(struct mc_local_endpoint *endpoint, uint32_t priority,
                          struct mc_post *post) {
    for (struct mc_returned **at = &endpoint->returned; *at; at = &(*at)->next) {
        struct mc_returned *message = *at;
        if (message->kind != post->kind || message->origin.priority != priority)
            continue;
        uint64_t receive = post->origin.receive;
        post->origin = message->origin;
        post->origin.receive = receive;
        if (message->kind == MC_PACKET) {
            *post->packet = message->packet;
            post->size = message->size;
            post->status = MCAPI_SUCCESS;
        } else {
            fill_message(post, message->data, message->size);
        }
        number_match(endpoint, post);
        *at = message->next;
        free(message);
        return true;
    }
    return false;
}

/* Returns the buffer to free once the slot has been given back, if there is one. */
static struct mc_buffer *fill(struct mc_local_endpoint *endpoint, const struct mc_slot *slot,
                              uint64_t state, uint32_t priority, struct mc_post *post) {
    struct mc_segment *segment = mc_the_job.segment;
    const struct mc_name *name = mc_name_at(segment, slot->name);
    post->origin.domain = name->domain;
    post->origin.node = name->node;
    post->origin.port = name->port;
    post->origin.priority = priority;
    post->origin.sequence = slot->sequence;
    number_match(endpoint, post);
    if (mc_size_of(state) != MC_APART) {
        if (post->kind == MC_MESSAGE) {
            fill_message(post, slot->data, mc_size_of(state));
            return NULL;
        }
        memcpy(&post->value, slot->data, sizeof post->value);
        post->size = mc_size_of(state);
        post->status = MCAPI_SUCCESS;
        return NULL;
    }
    struct mc_buffer *buffer = mc_pool_buffer(segment, slot->buffer);
    /* Mine before the slot is given back: at no moment does it belong to nobody. */
    mc_pool_adopt(buffer, mc_the_job.process);
    if (post->kind == MC_MESSAGE) {
        fill_message(post, buffer->data, slot->size);
        return buffer;
    }
    __atomic_store_n(&buffer->owner, mc_owner_word(mc_the_job.process) | MC_HELD, __ATOMIC_RELAXED);
    *post->packet = buffer->data;
    post->size = slot->size;
    post->status = MCAPI_SUCCESS;
    return NULL;
}

/* Senders that found the queue full are woken when a good part of it is free: each wake-up costs
   as much as many messages. They look by themselves now and then, too. */
static void release(struct mc_local_endpoint *endpoint, struct mc_queue *queue,
                    struct mc_slot *slots, struct mc_slot *slot) {
    uint32_t shift = mc_the_job.segment->queue_shift;
    mc_queue_release(queue, slot, shift);
    uint32_t part = shift > 2 ? (1u << (shift - 2)) - 1 : 0;
    struct mc_bell *space = &endpoint->shared->space;
    if (__atomic_load_n(&space->listening, __ATOMIC_RELAXED) &&
        (!(queue->head & part) || !mc_queue_ready(queue, slots, shift)))
        mc_bell_ring(space);
}

/* What no receive will take: claimed by the dead, or sent to an endpoint that was here before. */
static bool worthless(const struct mc_local_endpoint *endpoint, uint64_t state, enum mc_kind kind) {
    return mc_phase_of(state) == MC_VOID || mc_kind_of(state) != kind ||
           mc_generation_of(state) != (endpoint->handle >> MC_INDEX_BITS & 0xfff);
}

static void drop(struct mc_local_endpoint *endpoint, struct mc_queue *queue, struct mc_slot *slots,
                 struct mc_slot *slot) {
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_buffer *buffer = mc_buffer_in(segment, slot, slot->state);
    /* See drain in reap.c for the order. */
    if (buffer)
        mc_pool_adopt(buffer, mc_the_job.process);
    release(endpoint, queue, slots, slot);
    if (buffer)
        mc_pool_free(segment, buffer);
}

static bool take_queued(struct mc_local_endpoint *endpoint, uint32_t which, struct mc_post *post) {
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_queue *queue = mc_queue_at(segment, place_of(endpoint), which);
    struct mc_slot *slots = mc_slots_at(segment, place_of(endpoint), which);
    while (mc_queue_ready(queue, slots, segment->queue_shift)) {
        struct mc_slot *slot = mc_queue_next(queue, slots, segment->queue_shift);
        uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
        if (worthless(endpoint, state, post->kind)) {
            drop(endpoint, queue, slots, slot);
            continue;
        }
        if (post->kind == MC_SCALAR && mc_size_of(state) != post->width) {
            /* It stays for a receive of its own width. */
            post->status = MCAPI_ERR_SCL_SIZE;
            post->size = 0;
            return true;
        }
        struct mc_buffer *buffer =
            fill(endpoint, slot, state, post->kind == MC_MESSAGE ? which : 0, post);
        release(endpoint, queue, slots, slot);
        if (buffer)
            mc_pool_free(segment, buffer);
        return true;
    }
    return false;
}

/* The receive takes the first message there is, if there is one. */
static bool match(struct mc_local_endpoint *endpoint, struct mc_post *post) {
    uint32_t priorities = mc_the_job.segment->limits.priorities;
    if (post->kind != MC_MESSAGE)
        return (endpoint->returned && take_returned(endpoint, 0, post)) ||
               take_queued(endpoint, priorities, post);
    for (uint32_t i = 0; i < priorities; i++)
        if ((endpoint->returned && take_returned(endpoint, i, post)) ||
            take_queued(endpoint, i, post))
            return true;
    return false;
}

static void finish(struct mc_post *post) {
    __atomic_store_n(&post->done, 1, __ATOMIC_RELEASE);
}

static bool done(const struct mc_post *post) {
    return __atomic_load_n(&post->done, __ATOMIC_ACQUIRE);
}

static bool match_all(struct mc_local_endpoint *endpoint, struct mc_posts *posts) {
    bool any = false;
    while (posts->first && match(endpoint, posts->first)) {
        struct mc_post *post = posts->first;
        posts->first = post->next;
        if (!posts->first)
            posts->last = &posts->first;
        finish(post); /* from here on it may be gone */
        any = true;
    }
    return any;
}

/* ---- the order of posts ------------------------------------------------------------------- */

void mc_post(struct mc_local_endpoint *endpoint, struct mc_post *post) {
    struct mc_posts *posts = posts_for(endpoint, post->kind);
    post->origin.receive = endpoint->posts++;
    post->next = NULL;
    *posts->last = post;
    posts->last = &post->next;
}

void mc_progress(struct mc_local_endpoint *endpoint) {
    mc_lock(&endpoint->lock);
    bool any = endpoint->handle != 0 && match_all(endpoint, &endpoint->messages);
    any = (endpoint->handle != 0 && match_all(endpoint, &endpoint->channel)) || any;
    struct mc_endpoint *shared = endpoint->shared;
    mc_unlock(&endpoint->lock);
    /* Another thread may sleep for what was just done. */
    if (any)
        mc_ring_arrival(mc_the_job.segment, shared);
}

bool mc_withdraw(struct mc_local_endpoint *endpoint, struct mc_post *post) {
    if (done(post))
        return false;
    struct mc_posts *posts = posts_for(endpoint, post->kind);
    for (struct mc_post **at = &posts->first; *at; at = &(*at)->next)
        if (*at == post) {
            *at = post->next;
            if (!post->next)
                posts->last = at;
            return true;
        }
    return true;
}

void mc_give_back(struct mc_local_endpoint *endpoint, struct mc_post *post) {
    const void *data = post->whole ? post->whole : post->buffer;
    size_t size = post->whole ? post->whole_size : post->size;
    struct mc_returned *message = malloc(sizeof *message + (post->kind == MC_PACKET ? 0 : size));
    if (!message)
        return;
    message->kind = post->kind;
    message->packet = post->kind == MC_PACKET ? *post->packet : NULL;
    message->order = post->order;
    message->origin = post->origin;
    message->size = size;
    if (size && post->kind == MC_MESSAGE)
        memcpy(message->data, data, size);
    struct mc_returned **at = &endpoint->returned;
    while (*at && (*at)->order < message->order)
        at = &(*at)->next;
    message->next = *at;
    *at = message;
}

void mc_drop_returned(struct mc_local_endpoint *endpoint, enum mc_kind kind) {
    struct mc_segment *segment = mc_the_job.segment;
    for (struct mc_returned **at = &endpoint->returned; *at;) {
        struct mc_returned *message = *at;
        if (message->kind != kind) {
            at = &message->next;
            continue;
        }
        struct mc_buffer *buffer =
            kind == MC_PACKET ? mc_pool_find(segment, message->packet) : NULL;
        if (buffer)
            mc_pool_free(segment, buffer);
        *at = message->next;
        free(message);
    }
}

void mc_end_posts(struct mc_local_endpoint *endpoint, struct mc_posts *posts, uint32_t status) {
    (void)endpoint;
    while (posts->first) {
        struct mc_post *post = posts->first;
        posts->first = post->next;
        post->status = status;
        post->size = 0;
        finish(post);
    }
    posts->last = &posts->first;
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* A hint, without the lock. */
static bool something(const struct mc_local_endpoint *endpoint, enum mc_kind kind) {
    struct mc_segment *segment = mc_the_job.segment;
    uint32_t place = place_of(endpoint), priorities = segment->limits.priorities;
    uint32_t first = kind == MC_MESSAGE ? 0 : priorities;
    uint32_t end = kind == MC_MESSAGE ? priorities : priorities + 1;
    for (uint32_t i = first; i < end; i++)
        if (mc_queue_ready(mc_queue_at(segment, place, i), mc_slots_at(segment, place, i),
                           segment->queue_shift))
            return true;
    return false;
}

bool mc_stalled(const struct mc_local_endpoint *endpoint) {
    struct mc_segment *segment = mc_the_job.segment;
    for (uint32_t i = 0; i <= segment->limits.priorities; i++) {
        const struct mc_slot *slot =
            mc_queue_next(mc_queue_at(segment, place_of(endpoint), i),
                          mc_slots_at(segment, place_of(endpoint), i), segment->queue_shift);
        if (mc_phase_of(__atomic_load_n(&slot->state, __ATOMIC_RELAXED)) == MC_CLAIMED)
            return true;
    }
    return false;
}

uint32_t mc_channel_ended(const struct mc_local_endpoint *endpoint) {
    uint32_t flags = mc_channel_flags(mc_channel_load(endpoint->shared));
    if (!(flags & MC_CHANNEL_OPEN))
        return MCAPI_ERR_CHAN_NOTOPEN;
    if (!(flags & MC_CHANNEL_PEER_CLOSED) || something(endpoint, MC_PACKET))
        return MCAPI_SUCCESS;
    return flags & MC_CHANNEL_PEER_LOST ? MCAPI_ERR_TRANSMISSION : MCAPI_ERR_CHAN_NOTOPEN;
}

/* Nobody answers faster than this many pauses; and a sender that is busy gets ahead meanwhile,
   instead of fighting for the slot that is looked at. */
#define FIRST_PAUSES 4u
/* Who waits for one sender alone waits more often, and mostly for somebody who would only have to
   run: to give up the core is cheaper than to sleep and be woken. */
#define YIELDS 8u
/* Looks on for a while. Returns true once the receive is done. */
static bool look(struct mc_local_endpoint *endpoint, const struct mc_post *post) {
    uint32_t looks = mc_spins(mc_the_job.segment, endpoint->spins);
    for (uint32_t i = 0; i < FIRST_PAUSES; i++)
        mc_relax();
    for (uint32_t i = 0; i < looks && !done(post); i++) {
        if (something(endpoint, post->kind))
            mc_progress(endpoint);
        else
            mc_relax();
    }
    for (uint32_t i = mc_the_thread.expected ? 0 : YIELDS; i < YIELDS && !done(post); i++) {
        sched_yield();
        if (something(endpoint, post->kind))
            mc_progress(endpoint);
    }
    return done(post);
}

static uint32_t why_not(struct mc_local_endpoint *endpoint, uint64_t serial, enum mc_kind kind,
                        uint64_t deadline) {
    if (!mc_node_in_use(endpoint->node, serial))
        return MCAPI_ERR_NODE_NOTINIT;
    uint32_t status = kind == MC_MESSAGE ? MCAPI_SUCCESS : mc_channel_ended(endpoint);
    if (status == MCAPI_SUCCESS && deadline != MC_FOREVER && mc_now() >= deadline)
        status = MCAPI_TIMEOUT;
    return status;
}

/* Sleeps until the bell rings, or for a tick. Short sleeps make looking on worth more. */
static void doze(struct mc_local_endpoint *endpoint, uint32_t heard, uint64_t deadline,
                 uint64_t *tick) {
    struct mc_segment *segment = mc_the_job.segment;
    bool stalled = mc_stalled(endpoint);
    uint64_t started = mc_now(), length = stalled ? STALLED_TICK : *tick;
    if (started >= deadline)
        length = 0;
    else if (deadline - started < length)
        length = deadline - started;
    mc_bell_sleep(&endpoint->shared->arrival, heard, length);
    uint64_t slept = mc_now() - started;
    if (slept < SHORT_SLEEP)
        endpoint->spins = MC_SPINS_MOST;
    else if (endpoint->spins > MC_SPINS_LEAST)
        endpoint->spins /= 2;
    if (slept >= length) {
        *tick = *tick < LONGEST_TICK ? *tick * 2 : LONGEST_TICK;
        mc_look_for_dead(segment, stalled);
    }
}

static uint32_t await(struct mc_local_endpoint *endpoint, struct mc_post *post, uint32_t timeout) {
    uint64_t serial = endpoint->node->serial, tick = FIRST_TICK;
    uint64_t deadline = mc_deadline(timeout);
    while (timeout == 0 || !look(endpoint, post)) {
        uint32_t heard = mc_listen_arrival(endpoint->shared, MC_SLEEPERS);
        uint32_t status = why_not(endpoint, serial, post->kind, deadline);
        mc_progress(endpoint);
        if (done(post))
            break;
        if (status != MCAPI_SUCCESS) {
            mc_lock(&endpoint->lock);
            bool withdrawn = mc_withdraw(endpoint, post);
            mc_unlock(&endpoint->lock);
            if (withdrawn)
                return status;
            break;
        }
        doze(endpoint, heard, deadline, &tick);
    }
    return post->status;
}

uint32_t mc_receive(struct mc_local_endpoint *endpoint, uint32_t handle, struct mc_post *post,
                    uint32_t timeout) {
    struct mc_posts *posts = posts_for(endpoint, post->kind);
    mc_lock(&endpoint->lock);
    if (endpoint->handle != handle) {
        mc_unlock(&endpoint->lock);
        return MCAPI_ERR_ENDP_INVALID;
    }
    if (MC_LIKELY(!posts->first)) {
        post->origin.receive = endpoint->posts;
        if (match(endpoint, post)) {
            endpoint->posts++;
            mc_unlock(&endpoint->lock);
            return post->status;
        }
    }
    mc_post(endpoint, post);
    mc_unlock(&endpoint->lock);
    return await(endpoint, post, timeout);
}

static uint32_t count_posts(const struct mc_posts *posts) {
    uint32_t count = 0;
    for (const struct mc_post *post = posts->first; post; post = post->next)
        count++;
    return count;
}

uint32_t mc_available(struct mc_local_endpoint *endpoint, enum mc_kind kind) {
    struct mc_segment *segment = mc_the_job.segment;
    uint32_t place = place_of(endpoint), priorities = segment->limits.priorities, count = 0;
    mc_progress(endpoint);
    mc_lock(&endpoint->lock);
    uint32_t first = kind == MC_MESSAGE ? 0 : priorities;
    uint32_t end = kind == MC_MESSAGE ? priorities : priorities + 1;
    for (uint32_t i = first; i < end; i++)
        count += mc_queue_count(mc_queue_at(segment, place, i), mc_slots_at(segment, place, i),
                                segment->queue_shift);
    for (const struct mc_returned *message = endpoint->returned; message; message = message->next)
        count += message->kind == kind;
    uint32_t before = count_posts(posts_for(endpoint, kind));
    mc_unlock(&endpoint->lock);
    return count > before ? count - before : 0;
}
