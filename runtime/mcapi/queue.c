#include "queue.h"

uint32_t mc_queue_count(const struct mc_queue *queue, const struct mc_slot *slots, uint32_t shift) {
    uint64_t head = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
    uint32_t count = 0;
    for (uint64_t at = head; at < head + (1u << shift); at++) {
        uint64_t state = __atomic_load_n(&slots[at & ((1u << shift) - 1)].state, __ATOMIC_ACQUIRE);
        if (mc_ahead(state, at, shift) != 0 || mc_phase_of(state) < MC_FULL)
            break;
        count += mc_phase_of(state) == MC_FULL;
    }
    return count;
}

void mc_queue_bury(struct mc_slot *slots, uint32_t shift, uint32_t owner) {
    for (uint32_t i = 0; i < 1u << shift; i++) {
        uint64_t state = __atomic_load_n(&slots[i].state, __ATOMIC_ACQUIRE);
        if (mc_phase_of(state) == MC_CLAIMED && mc_size_of(state) == owner)
            __atomic_store_n(&slots[i].state, mc_state(state >> MC_LAP_SHIFT, 0, 0, 0, MC_VOID),
                             __ATOMIC_RELEASE);
    }
}
