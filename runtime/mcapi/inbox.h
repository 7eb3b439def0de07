/* The receiving side of an endpoint: posted receives, and the messages that they take. */
#ifndef MC_INBOX_H
#define MC_INBOX_H

#include "job.h"

/* A receive on the stack of a blocking call: only what is looked at before it is done. */
static inline void mc_post_prepare(struct mc_post *post, enum mc_kind kind) {
    post->kind = kind;
    post->done = 0;
    post->cancellable = false;
    post->width = 0;
}

/* Puts a receive at the end of its order. With the endpoint's lock. */
void mc_post(struct mc_local_endpoint *endpoint, struct mc_post *post);

/* Gives what has arrived to the receives that wait for it, in their order. Takes the lock. */
void mc_progress(struct mc_local_endpoint *endpoint);

/* Takes a receive out of its order. Returns false if it had been done. With the lock. */
bool mc_withdraw(struct mc_local_endpoint *endpoint, struct mc_post *post);

/* Puts the message that a receive has taken back before all others. With the lock. */
void mc_give_back(struct mc_local_endpoint *endpoint, struct mc_post *post);

/* Drops what cancelled receives of that kind have put back. With the lock. */
void mc_drop_returned(struct mc_local_endpoint *endpoint, enum mc_kind kind);

/* All receives of the endpoint end with this status. With the lock. */
void mc_end_posts(struct mc_local_endpoint *endpoint, struct mc_posts *posts, uint32_t status);

/* Posts a receive and waits until it is done; returns its status. */
uint32_t mc_receive(struct mc_local_endpoint *endpoint, uint32_t handle, struct mc_post *post,
                    uint32_t timeout);

/* How many further receives would not wait. Takes the lock. */
uint32_t mc_available(struct mc_local_endpoint *endpoint, enum mc_kind kind);

/* Why nothing more will come over the endpoint's channel, once it is empty; MCAPI_SUCCESS if
   something may. */
uint32_t mc_channel_ended(const struct mc_local_endpoint *endpoint);

/* Whether a sender that may be dead stands before everything else. */
bool mc_stalled(const struct mc_local_endpoint *endpoint);

#endif
