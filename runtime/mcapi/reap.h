/* What the dead leave behind. */
#ifndef MC_REAP_H
#define MC_REAP_H

#include "layout.h"

/* The lock's holder died: brings what it may have left half done into order. With the lock. */
void mc_recover(struct mc_segment *segment);

/* Removes an endpoint, and tells its channel's peer. With the lock. */
void mc_endpoint_bury(struct mc_segment *segment, uint32_t place, uint32_t why);

/* Frees the packets or scalars that nobody will receive. By the receiver, or with the lock after
   its death. */
void mc_drain_channel(struct mc_segment *segment, uint32_t place);

/* Removes a node with its endpoints. With the lock. */
void mc_node_bury(struct mc_segment *segment, uint32_t place, uint32_t why);

/* From here on a node has no process. With the lock, as are those that follow. */
void mc_node_retire(struct mc_segment *segment, uint32_t place);
bool mc_nodes_retired(const struct mc_segment *segment); /* is there one? */
void mc_nodes_give_way(struct mc_segment *segment);      /* all of them go */

/* Everything that a process held; `why` tells whether it died (MC_CHANNEL_PEER_LOST) or left. Its
   place in the table is freed only by mc_reap_dead or by the process itself. With the lock. */
void mc_process_bury(struct mc_segment *segment, uint32_t process, uint32_t why);

/* Buries all processes that have died. With the lock. */
void mc_reap_dead(struct mc_segment *segment);

/* Called by whoever waits, now and then. Looks for the dead a few times a second in the whole job,
   or at once after a hint that there is one. Without the lock. */
void mc_look_for_dead(struct mc_segment *segment, bool hint);

/* Something changed that any node may wait for: an endpoint, a channel. */
void mc_tell_everybody(struct mc_segment *segment);

#endif
