/* Nodes of this process: coming and going. */
#ifndef MC_NODE_H
#define MC_NODE_H

#include "job.h"

/* Makes the calling thread a node. Returns an MCAPI status. */
uint32_t mc_node_begin(uint32_t domain, uint32_t id, uint32_t type,
                       const mcapi_param_t *parameters);
/* Makes the calling thread one more of that node of this process. False if there is none, or if the
   thread is another node already. */
bool mc_node_join(uint32_t domain, uint32_t id);
/* NULL if this process has no such node. */
struct mc_local_node *mc_node_find(uint32_t domain, uint32_t id);
/* `retires`: others still find it. False if another thread was faster. */
bool mc_node_end(struct mc_local_node *node, bool retires);

/* This process's own record of an endpoint goes out of use; whoever waits there is told. */
void mc_local_endpoint_end(struct mc_local_endpoint *endpoint, uint32_t status);

#endif
