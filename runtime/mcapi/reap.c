#include "reap.h"

#include <stdlib.h>

#include "bell.h"
#include "channel_word.h"
#include "job.h"
#include "pool.h"
#include "process.h"
#include "segment.h"

#define BETWEEN_CHECKS UINT64_C(200000000)
#define BETWEEN_HINTED_CHECKS UINT64_C(1000000)

void mc_tell_everybody(struct mc_segment *segment) {
    for (uint32_t i = 0; i < segment->limits.nodes; i++) {
        struct mc_bell *bell = &mc_node_at(segment, i)->bell;
        /* No cheaper look first: it could come before the change. */
        if (__atomic_exchange_n(&bell->listening, 0, __ATOMIC_SEQ_CST))
            mc_bell_wake(bell);
    }
}

/* Frees what lies in a queue. A slot that a live sender fills in just now stays; what it publishes
   carries the handle of an endpoint that is no more, and the next receiver here drops it. */
static void drain(struct mc_segment *segment, uint32_t place, uint32_t which) {
    struct mc_queue *queue = mc_queue_at(segment, place, which);
    struct mc_slot *slots = mc_slots_at(segment, place, which);
    uint32_t shift = segment->queue_shift;
    mc_queue_repair(queue, slots, shift);
    while (mc_queue_ready(queue, slots, shift)) {
        struct mc_slot *slot = mc_queue_next(queue, slots, shift);
        struct mc_buffer *buffer = mc_buffer_in(segment, slot, slot->state);
        /* In this order: whoever dies in between leaves a buffer that is its own, never a slot that
           points to one which is free. */
        if (buffer)
            mc_pool_adopt(buffer, mc_the_job.process);
        mc_queue_release(queue, slot, shift);
        if (buffer)
            mc_pool_free(segment, buffer);
    }
}

void mc_drain_channel(struct mc_segment *segment, uint32_t place) {
    drain(segment, place, mc_channel_queue(segment));
}

void mc_endpoint_bury(struct mc_segment *segment, uint32_t place, uint32_t why) {
    struct mc_endpoint *endpoint = mc_endpoint_at(segment, place);
    uint32_t handle = endpoint->handle;
    mc_channel_abandon(segment, endpoint, why);
    __atomic_store_n(&endpoint->handle, 0, __ATOMIC_SEQ_CST);
    if (handle && endpoint->populated)
        for (uint32_t i = 0; i <= segment->limits.priorities; i++)
            drain(segment, place, i);
    mc_bell_ring(&endpoint->space);
    mc_bell_ring(&endpoint->arrival);
}

static void change_life(struct mc_segment *segment, struct mc_node *node, enum mc_life life) {
    __atomic_store_n(&node->life, life, __ATOMIC_RELEASE);
    uint32_t alive = 0;
    for (uint32_t i = 0; i < segment->limits.nodes; i++)
        alive += mc_node_at(segment, i)->life == MC_ALIVE;
    __atomic_store_n(&segment->nodes_alive, alive, __ATOMIC_RELAXED);
    mc_bell_wake(&node->bell);
}

void mc_node_bury(struct mc_segment *segment, uint32_t place, uint32_t why) {
    struct mc_node *node = mc_node_at(segment, place);
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        struct mc_endpoint *endpoint = mc_endpoint_at(segment, i);
        if (endpoint->handle && endpoint->node_place == place)
            mc_endpoint_bury(segment, i, why);
    }
    change_life(segment, node, MC_GONE);
}

void mc_node_retire(struct mc_segment *segment, uint32_t place) {
    struct mc_node *node = mc_node_at(segment, place);
    node->process = MC_NONE;
    change_life(segment, node, MC_RETIRED);
}

bool mc_nodes_retired(const struct mc_segment *segment) {
    bool any = false;
    for (uint32_t i = 0; i < segment->limits.nodes; i++)
        any = any || mc_node_at(segment, i)->life == MC_RETIRED;
    return any;
}

void mc_nodes_give_way(struct mc_segment *segment) {
    for (uint32_t i = 0; i < segment->limits.nodes; i++)
        if (mc_node_at(segment, i)->life == MC_RETIRED)
            mc_node_bury(segment, i, 0);
}

/* A sent message outlives its sender: a buffer that a published slot points to stays. */
static void mark_sent(struct mc_segment *segment, uint32_t place, unsigned char *sent) {
    for (uint32_t q = 0; q <= segment->limits.priorities; q++) {
        struct mc_slot *slots = mc_slots_at(segment, place, q);
        for (uint32_t i = 0; i < segment->limits.queue_length; i++) {
            uint64_t state, again;
            uint32_t number;
            do { /* the receiver and the next sender may be at work here */
                state = __atomic_load_n(&slots[i].state, __ATOMIC_ACQUIRE);
                number = __atomic_load_n(&slots[i].buffer, __ATOMIC_ACQUIRE);
                again = __atomic_load_n(&slots[i].state, __ATOMIC_ACQUIRE);
            } while (state != again);
            if (mc_buffer_in(segment, &slots[i], state) && mc_pool_buffer(segment, number))
                sent[number] = 1;
        }
    }
}

static void free_buffers(struct mc_segment *segment, uint32_t process) {
    const struct mc_class *last = &segment->classes[MC_CLASSES - 1];
    unsigned char *sent = calloc(last->first + last->count, 1);
    /* Without memory for the marks the buffers are lost to the job; nothing else is. */
    if (!sent)
        return;
    for (uint32_t i = 0; i < segment->limits.endpoints; i++)
        if (mc_endpoint_at(segment, i)->populated)
            mark_sent(segment, i, sent);
    for (uint32_t c = 0; c < MC_CLASSES; c++) {
        const struct mc_class *class = &segment->classes[c];
        for (uint32_t i = 0; i < class->populated; i++) {
            struct mc_buffer *buffer = mc_pool_buffer(segment, class->first + i);
            uint32_t owner = __atomic_load_n(&buffer->owner, __ATOMIC_ACQUIRE);
            bool held = owner & MC_HELD;
            if ((owner & ~MC_HELD) != mc_owner_word(process) || (!held && sent[class->first + i]))
                continue;
            __atomic_compare_exchange_n(&buffer->owner, &owner, 0, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED);
        }
    }
    free(sent);
    mc_bell_ring(&segment->buffers_free);
}

void mc_process_bury(struct mc_segment *segment, uint32_t process, uint32_t why) {
    bool dead = why == MC_CHANNEL_PEER_LOST;
    for (uint32_t i = 0; i < segment->limits.nodes; i++)
        if (mc_node_at(segment, i)->life && mc_node_at(segment, i)->process == process)
            mc_node_bury(segment, i, why);
    /* A thread that lives on will publish what it has claimed. */
    for (uint32_t i = 0; i < segment->limits.endpoints; i++) {
        struct mc_endpoint *endpoint = mc_endpoint_at(segment, i);
        if (endpoint->handle && endpoint->process == process)
            mc_endpoint_bury(segment, i, why);
        for (uint32_t q = 0; dead && endpoint->populated && q <= segment->limits.priorities; q++)
            mc_queue_bury(mc_slots_at(segment, i, q), segment->queue_shift, mc_owner_word(process));
    }
    free_buffers(segment, process);
    /* Void slots may be all that a receiver has in front of something good. */
    for (uint32_t i = 0; i < segment->limits.endpoints; i++)
        mc_bell_wake(&mc_endpoint_at(segment, i)->arrival);
    mc_tell_everybody(segment);
}

void mc_reap_dead(struct mc_segment *segment) {
    for (uint32_t i = 0; i < MC_PROCESSES; i++) {
        struct mc_process *process = &segment->processes[i];
        if (!__atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) || mc_process_alive(process))
            continue;
        mc_process_bury(segment, i, MC_CHANNEL_PEER_LOST);
        __atomic_store_n(&process->start, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&process->pid, 0, __ATOMIC_RELEASE);
    }
}

void mc_look_for_dead(struct mc_segment *segment, bool hint) {
    uint64_t now = mc_now();
    uint64_t next = __atomic_load_n(&segment->next_check, __ATOMIC_RELAXED);
    uint64_t due =
        hint && next > BETWEEN_CHECKS ? next - BETWEEN_CHECKS + BETWEEN_HINTED_CHECKS : next;
    if (now < due || !__atomic_compare_exchange_n(&segment->next_check, &next, now + BETWEEN_CHECKS,
                                                  false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    bool dead = false;
    for (uint32_t i = 0; i < MC_PROCESSES && !dead; i++)
        dead = __atomic_load_n(&segment->processes[i].pid, __ATOMIC_ACQUIRE) &&
               !mc_process_alive(&segment->processes[i]);
    if (!dead)
        return;
    mc_segment_lock(segment);
    mc_reap_dead(segment);
    mc_segment_unlock(segment);
}

void mc_recover(struct mc_segment *segment) {
    if (!segment->laid_out)
        return;
    for (uint32_t i = 0; i < segment->limits.endpoints; i++)
        mc_channel_mend(segment, mc_endpoint_at(segment, i));
    mc_tell_everybody(segment);
}
