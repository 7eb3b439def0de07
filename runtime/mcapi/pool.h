/* Buffers for what does not fit into a slot, and for packets, which their receiver keeps. A buffer
   is taken by one change of its own word from free to a process's, so that there is no moment at
   which it belongs to nobody: what a dead process held is found by that word. */
#ifndef MC_POOL_H
#define MC_POOL_H

#include <stddef.h>

#include "queue.h"

/* Besides the owner: the program holds it, having received a packet. */
#define MC_HELD 0x80000000u
static inline uint32_t mc_owner_word(uint32_t process) {
    return process + 1;
}

/* Numbers begin at 1. NULL if there is no such buffer. */
struct mc_buffer *mc_pool_buffer(struct mc_segment *segment, uint32_t number);

/* The buffer whose data begin here, or NULL. */
struct mc_buffer *mc_pool_find(struct mc_segment *segment, const void *data);

/* The buffer that a published slot points to, or NULL. */
static inline struct mc_buffer *mc_buffer_in(struct mc_segment *segment, const struct mc_slot *slot,
                                             uint64_t state) {
    return mc_phase_of(state) == MC_FULL && mc_size_of(state) == MC_APART
               ? mc_pool_buffer(segment, __atomic_load_n(&slot->buffer, __ATOMIC_RELAXED))
               : NULL;
}

/* NULL if all that are large enough are in use. */
struct mc_buffer *mc_pool_take(struct mc_segment *segment, uint32_t process, size_t size);

/* Moves a buffer from whoever sent it to the process that has received it. */
void mc_pool_adopt(struct mc_buffer *buffer, uint32_t process);
void mc_pool_free(struct mc_segment *segment, struct mc_buffer *buffer);

/* Lays the pool out from `offset`; returns where it ends. */
uint64_t mc_pool_lay_out(struct mc_segment *segment, uint64_t offset);

#endif
