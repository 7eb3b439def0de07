/* Waiting for one of several requests. */
#ifndef MC_WAIT_H
#define MC_WAIT_H

#include "completion.h"

/* Waits until one of them is not pending any more and returns its index, or `count` with why not in
   `status`: a timeout, or the node is gone. */
size_t mc_wait_requests(struct mc_local_node *node, struct mc_request **requests, size_t count,
                        uint32_t timeout, uint32_t *status);

#endif
