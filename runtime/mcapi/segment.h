/* The job's memory: making it, finding it, leaving it.

   A job without a name is memory without a name: it is set aside when the library is loaded, so
   that threads and forked processes have it, nobody else can, and nothing is ever left behind. A
   job that MCAPI_JOB names is a file in /dev/shm, for programs that are started one by one. */
#ifndef MC_SEGMENT_H
#define MC_SEGMENT_H

#include "include/mcapi.h"
#include "queue.h"

/* Enters the job and returns its memory, or NULL. `process` is this process's place in it. */
struct mc_segment *mc_segment_enter(const mcapi_param_t *parameters, uint32_t *process);

/* Leaves the job; what this process had in it must have been buried before. */
void mc_segment_leave(struct mc_segment *segment, uint32_t process);

/* For what is rare. If the last holder died, what it left half done is put right first. */
void mc_segment_lock(struct mc_segment *segment);
bool mc_segment_lock_soon(struct mc_segment *segment); /* gives up after a while */
void mc_segment_unlock(struct mc_segment *segment);

/* Makes sure that a part of a named job has memory behind it. */
bool mc_segment_populate(struct mc_segment *segment, uint64_t offset, uint64_t length);

/* Where things are. */
static inline struct mc_node *mc_node_at(const struct mc_segment *segment, uint32_t place) {
    return (struct mc_node *)((char *)segment + segment->nodes_offset) + place;
}

static inline struct mc_endpoint *mc_endpoint_at(const struct mc_segment *segment, uint32_t place) {
    return (struct mc_endpoint *)((char *)segment + segment->endpoints_offset) + place;
}

/* The number of a name that was used before, or MC_NONE. With the segment's lock. */
uint32_t mc_name_find(const struct mc_segment *segment, uint32_t domain, uint32_t node,
                      uint32_t port);
static inline struct mc_name *mc_name_at(const struct mc_segment *segment, uint32_t number) {
    return (struct mc_name *)((char *)segment + segment->names_offset) + number;
}

/* An endpoint has one queue for each priority, and one more for a channel. */
static inline uint32_t mc_channel_queue(const struct mc_segment *segment) {
    return segment->limits.priorities;
}

static inline struct mc_queue *mc_queue_at(const struct mc_segment *segment, uint32_t place,
                                           uint32_t which) {
    return (struct mc_queue *)((char *)segment + segment->queues_offset +
                               place * segment->queues_stride) +
           which;
}

static inline struct mc_slot *mc_slots_at(const struct mc_segment *segment, uint32_t place,
                                          uint32_t which) {
    return (struct mc_slot *)(mc_queue_at(segment, place, segment->limits.priorities + 2)) +
           ((size_t)which << segment->queue_shift);
}

#endif
