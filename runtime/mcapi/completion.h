/* Whether what a request stands for has happened. */
#ifndef MC_COMPLETION_H
#define MC_COMPLETION_H

#include "request.h"

/* The request with that handle, or NULL. With the node's lock. */
struct mc_request *mc_request_find(struct mc_local_node *node, mcapi_request_t handle);

/* Gets on with the request; returns its state then. Without the lock. */
enum mc_request_state mc_request_poll(struct mc_local_node *node, struct mc_request *request);

#endif
