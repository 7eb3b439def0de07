/* A bounded queue of many senders and one receiver, without a lock, in which a sender that dies
   holds nobody up. Each slot carries one word: lap, owner, phase. A sender claims a slot by
   changing that word from free to claimed-by-me, fills it in, and publishes it. The tail is only a
   hint where to begin to look. A slot that a dead process has claimed is made void by whoever
   buries it.

   All zero is an empty queue. */
#ifndef MC_QUEUE_H
#define MC_QUEUE_H

#include <stddef.h>

#include "layout.h"

enum mc_phase { MC_FREE, MC_CLAIMED, MC_FULL, MC_VOID };
#define MC_LAP_SHIFT 18u

static inline uint64_t mc_state(uint64_t lap, uint32_t owner, enum mc_phase phase) {
    return lap << MC_LAP_SHIFT | (uint64_t)owner << 2 | phase;
}

static inline enum mc_phase mc_phase_of(uint64_t state) {
    return (enum mc_phase)(state & 3);
}

static inline uint32_t mc_owner_of(uint64_t state) {
    return (uint32_t)(state >> 2) & 0xffff;
}

/* Returns a slot that is the caller's until it is published, or NULL if the queue is full. */
static inline struct mc_slot *mc_queue_claim(struct mc_queue *queue, struct mc_slot *slots,
                                             uint32_t shift, uint32_t owner) {
    uint64_t mask = (1u << shift) - 1;
    uint64_t at = __atomic_load_n(&queue->tail, __ATOMIC_RELAXED);
    for (;;) {
        struct mc_slot *slot = &slots[at & mask];
        uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
        uint64_t lap = at >> shift, found = state >> MC_LAP_SHIFT;
        if (found < lap) { /* the last lap's is still there */
            __atomic_store_n(&queue->tail, at, __ATOMIC_RELAXED);
            return NULL;
        }
        if (found == lap && mc_phase_of(state) == MC_FREE) {
            if (!__atomic_compare_exchange_n(&slot->state, &state, mc_state(lap, owner, MC_CLAIMED),
                                             false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                continue;
            __atomic_store_n(&queue->tail, at + 1, __ATOMIC_RELAXED);
            /* Its two lines come from the receiver's core; the next message needs them. */
            __builtin_prefetch(&slots[(at + 1) & mask], 1);
            __builtin_prefetch((char *)&slots[(at + 1) & mask] + MC_LINE, 1);
            return slot;
        }
        /* Taken: go on behind it. If the hint is laps behind, jump to what this slot proves. */
        if (mc_phase_of(state) == MC_FREE)
            found--;
        at = (found << shift | (at & mask)) + 1;
    }
}

/* A full barrier, too: the look at who is listening comes after it. */
static inline void mc_queue_publish(struct mc_slot *slot, enum mc_phase phase) {
    uint64_t lap = __atomic_load_n(&slot->state, __ATOMIC_RELAXED) >> MC_LAP_SHIFT;
    __atomic_exchange_n(&slot->state, mc_state(lap, 0, phase), __ATOMIC_SEQ_CST);
}

static inline struct mc_slot *mc_queue_next(const struct mc_queue *queue, struct mc_slot *slots,
                                            uint32_t shift) {
    return &slots[__atomic_load_n(&queue->head, __ATOMIC_RELAXED) & ((1u << shift) - 1)];
}

/* Whether the slot at the head holds something, be it void. May be asked without the receiver's
   lock; the answer is then only a hint. */
static inline bool mc_queue_ready(const struct mc_queue *queue, struct mc_slot *slots,
                                  uint32_t shift) {
    uint64_t head = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
    uint64_t state = __atomic_load_n(&slots[head & ((1u << shift) - 1)].state, __ATOMIC_ACQUIRE);
    return state >> MC_LAP_SHIFT == head >> shift && mc_phase_of(state) >= MC_FULL;
}

/* Gives the slot at the head back to the senders. */
static inline void mc_queue_release(struct mc_queue *queue, struct mc_slot *slot, uint32_t shift) {
    uint64_t head = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->state, mc_state((head >> shift) + 1, 0, MC_FREE), __ATOMIC_RELEASE);
    __atomic_store_n(&queue->head, head + 1, __ATOMIC_RELAXED);
}

/* A receiver that died between the two stores of a release has left the head one behind. */
static inline void mc_queue_repair(struct mc_queue *queue, const struct mc_slot *slots,
                                   uint32_t shift) {
    uint64_t head = queue->head;
    uint64_t state = __atomic_load_n(&slots[head & ((1u << shift) - 1)].state, __ATOMIC_ACQUIRE);
    if (state >> MC_LAP_SHIFT > head >> shift)
        queue->head = head + 1;
}

/* Messages that can be received without waiting, not counting what lies behind a claimed slot. */
uint32_t mc_queue_count(const struct mc_queue *queue, const struct mc_slot *slots, uint32_t shift);

/* Slots that this process has claimed and will never publish become void. */
void mc_queue_bury(struct mc_slot *slots, uint32_t shift, uint32_t owner);

#endif
