#include "send.h"

#include <string.h>

/* A wake-up that was missed costs no more than this. */
#define FIRST_SLEEP UINT64_C(1000000)
#define LONGEST_SLEEP UINT64_C(4000000)

/* Numbers the messages from one endpoint to another, and what goes over one channel. A new endpoint
   in the same place begins at 0, and so does a new channel. */
static uint64_t number(struct mc_local_endpoint *from, uint32_t to, enum mc_kind kind) {
    bool message = kind == MC_MESSAGE;
    uint64_t *place = message ? &from->sent[to & MC_INDEX_MASK] : &from->sent_over_channel;
    uint64_t generation =
        message ? to >> MC_INDEX_BITS : mc_channel_generation(mc_channel_load(from->shared));
    uint64_t word = __atomic_load_n(place, __ATOMIC_RELAXED);
    for (;;) {
        uint64_t count = word >> 44 == generation ? word & ((UINT64_C(1) << 44) - 1) : 0;
        if (mc_alone()) {
            *place = generation << 44 | (count + 1);
            return count;
        }
        if (__atomic_compare_exchange_n(place, &word, generation << 44 | (count + 1), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return count;
    }
}

static struct mc_buffer *pack(const struct mc_parcel *parcel) {
    struct mc_buffer *buffer = mc_pool_take(mc_the_job.segment, mc_the_job.process, parcel->size);
    if (buffer && parcel->size)
        memcpy(buffer->data, parcel->data, parcel->size);
    return buffer;
}

uint32_t mc_try_send(struct mc_local_endpoint *from, uint32_t to, const struct mc_parcel *parcel) {
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_endpoint *endpoint = mc_endpoint_find(segment, to);
    if (!endpoint)
        return MCAPI_ERR_ENDP_INVALID;
    uint32_t which = parcel->kind == MC_MESSAGE ? parcel->priority : mc_channel_queue(segment);
    struct mc_buffer *buffer = NULL;
    bool apart = parcel->kind == MC_PACKET || parcel->size > MC_INLINE;
    if (apart && !(buffer = pack(parcel)))
        return MCAPI_ERR_MEM_LIMIT;
    uint32_t place = to & MC_INDEX_MASK;
    struct mc_slot *slot =
        mc_queue_claim(mc_queue_at(segment, place, which), mc_slots_at(segment, place, which),
                       segment->queue_shift, mc_owner_word(mc_the_job.process));
    if (!slot) {
        if (buffer)
            mc_pool_free(segment, buffer);
        /* Whoever sleeps on because he expects another one must make room first. */
        mc_ring_arrival(segment, endpoint);
        return MCAPI_ERR_MEM_LIMIT;
    }
    slot->name = (uint16_t)from->shared->name;
    uint64_t sequence = number(from, to, parcel->kind);
    slot->sequence = (uint32_t)sequence;
    /* What an endpoint of the same name sent before may still be under way. */
    if (parcel->kind == MC_MESSAGE)
        slot->sequence += (from->shared->life - 1) << MC_LIFE_SHIFT;
    void (*watch)(uint64_t) = __atomic_load_n(&mc_the_job.watch, __ATOMIC_RELAXED);
    if (!MC_LIKELY(!watch))
        watch(sequence);
    if (apart) {
        __atomic_store_n(&slot->buffer, buffer->number, __ATOMIC_RELAXED);
        slot->size = (uint32_t)parcel->size;
    } else if (parcel->size) {
        memcpy(slot->data, parcel->data, parcel->size);
    }
    mc_queue_publish(slot, to >> MC_INDEX_BITS,
                     apart                       ? MC_APART
                     : parcel->kind == MC_SCALAR ? parcel->width
                                                 : (uint32_t)parcel->size,
                     parcel->kind);
    /* Buffers are everybody's, and must not lie with somebody who sleeps on. */
    if (apart)
        mc_ring_arrival(segment, endpoint);
    else
        mc_ring_message(segment, endpoint, from->shared);
    return MCAPI_SUCCESS;
}

/* Whether the queue has room again, as far as one can see without trying. */
static bool room(const struct mc_segment *segment, uint32_t to, uint32_t which) {
    uint32_t place = to & MC_INDEX_MASK;
    uint64_t at = __atomic_load_n(&mc_queue_at(segment, place, which)->tail, __ATOMIC_RELAXED);
    const struct mc_slot *slot =
        &mc_slots_at(segment, place, which)[at & ((1u << segment->queue_shift) - 1)];
    return __atomic_load_n(&slot->state, __ATOMIC_RELAXED) >> MC_LAP_SHIFT >= at >>
           segment->queue_shift;
}

uint32_t mc_send(struct mc_local_endpoint *from, uint32_t to, const struct mc_parcel *parcel) {
    uint32_t status = mc_try_send(from, to, parcel);
    const struct mc_attributes *attributes = &from->shared->attributes;
    if (MC_LIKELY(status != MCAPI_ERR_MEM_LIMIT) ||
        attributes->memory_type & MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT)
        return status;
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_local_node *node = from->node;
    uint64_t serial = node->serial, sleep = FIRST_SLEEP;
    uint64_t deadline = mc_deadline(attributes->timeout);
    uint32_t which = parcel->kind == MC_MESSAGE ? parcel->priority : mc_channel_queue(segment);
    for (;;) {
        uint32_t looks = mc_spins(segment, MC_SPINS_MOST / 4);
        while (looks-- && !room(segment, to, which))
            mc_relax();
        struct mc_endpoint *endpoint = mc_endpoint_at(segment, to & MC_INDEX_MASK);
        /* Either of the two may be what is missing. */
        bool full = !room(segment, to, which);
        struct mc_bell *bell = full ? &endpoint->space : &segment->buffers_free;
        uint32_t heard = mc_bell_listen(bell, MC_SLEEPERS);
        status = mc_try_send(from, to, parcel);
        if (status != MCAPI_ERR_MEM_LIMIT)
            return status;
        if (!mc_node_in_use(node, serial))
            return MCAPI_ERR_NODE_NOTINIT;
        if (parcel->kind != MC_MESSAGE &&
            mc_channel_flags(mc_channel_load(from->shared)) & MC_CHANNEL_PEER_CLOSED)
            return MCAPI_ERR_CHAN_NOTOPEN;
        uint64_t now = mc_now();
        if (now >= deadline)
            return MCAPI_TIMEOUT;
        mc_bell_sleep(bell, heard, deadline - now < sleep ? deadline - now : sleep);
        if (sleep < LONGEST_SLEEP)
            sleep *= 2;
        mc_look_for_dead(segment, false);
    }
}
