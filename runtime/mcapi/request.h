/* Requests of a node: what its non-blocking calls have left to be waited for. */
#ifndef MC_REQUEST_H
#define MC_REQUEST_H

#include "job.h"

/* A new request, pending; NULL if all are in use. The caller fills it in before anybody knows it.
 */
struct mc_request *mc_request_new(struct mc_local_node *node, enum mc_request_kind kind);
/* Takes back one that was not used after all. */
void mc_request_drop(struct mc_local_node *node, struct mc_request *request);
/* It was complete from the start: hands it out as such. */
void mc_request_complete(struct mc_local_node *node, struct mc_request *request,
                         mcapi_request_t *out);

/* The program has been told that it is complete: should all requests be in use, this one may be
   taken. With the node's lock. */
void mc_request_report(struct mc_local_node *node, struct mc_request *request);
/* Somebody waits for it: it must not be taken. With the node's lock. */
void mc_request_keep(struct mc_local_node *node, struct mc_request *request);
/* Finds a request for a call that looks at it without the lock; afterwards, whether it is still
   that one. With the lock. */
struct mc_request *mc_request_look(struct mc_local_node *node, mcapi_request_t handle);
bool mc_request_looked(struct mc_local_node *node, uint64_t serial, struct mc_request *request,
                       mcapi_request_t handle);
/* It is free again. With the node's lock. */
void mc_request_forget(struct mc_local_node *node, struct mc_request *request);

/* Makes room for the requests of a new node; false if there is no memory. */
bool mc_requests_prepare(struct mc_local_node *node, uint32_t capacity);
void mc_requests_discard(struct mc_local_node *node);

#endif
