/* What this implementation of MCAPI has beyond the specification, most of it for tools that watch a
   program. Version 5. */
#ifndef MCAPIX_H
#define MCAPIX_H

#include <mcapi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MCAPIX_VERSION 5

/* Makes the calling thread one more thread of that node, which must be one of this process. Needed
   only where a process has several nodes: else all threads that have initialized none are threads
   of the one. Returns 1, or 0 if there is no such node, or if the thread is another one. */
int mcapix_node_join(mcapi_domain_t domain, mcapi_node_t node);

/* Where a delivered message, packet or scalar came from. */
struct mcapix_origin {
    mcapi_domain_t domain; /* the name of the endpoint that sent it */
    mcapi_node_t node;
    mcapi_port_t port;
    mcapi_priority_t priority;
    uint64_t sequence; /* of the sends from that endpoint to this one, or over this channel, from 0
                          (those of an endpoint made again from another number), modulo 2^32 */
    uint64_t receive;  /* of the receives posted on the endpoint that took it, from 0 */
    uint64_t stamp;    /* of the matches in the job and, if it has no name, in those before it; from
                          1, or 0 if they were not stamped */
};

/* MCAPIX_VERSION of the library that runs. */
int mcapix_version(void);

/* Tells what the calling thread's last call of a receiving function (msg_recv, pktchan_recv,
   sclchan_recv_*, test, wait, wait_any) has delivered. Returns 1 and fills in `out`, or 0 if that
   call delivered nothing. A message that was cut (MCAPI_ERR_MSG_TRUNCATED) has been delivered. */
int mcapix_origin(struct mcapix_origin *out);

/* From here on `watch` is called by every thread of this process that sends something, with its
   number as in `sequence`, but always from 0, before anybody can receive it. NULL: not any more. */
void mcapix_watch_sends(void (*watch)(uint64_t number));

/* Switches the stamping of matches on or off, for the whole job. A node must be initialized. */
void mcapix_stamp_matches(int on);

/* The name of an endpoint. Returns 1, or 0 if there is no such endpoint (any more). */
int mcapix_endpoint_name(mcapi_endpoint_t endpoint, mcapi_domain_t *domain, mcapi_node_t *node,
                         mcapi_port_t *port);

/* An endpoint that is deleted may be made again: others then find another one under the same name.
   Which one it was, from 1, that the calling thread's last endpoint_get or endpoint_get_i, or test,
   wait or wait_any for the latter, has found. */
unsigned mcapix_life(void);
/* How many of that name there have been. */
unsigned mcapix_lives(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port);

/* Has the receive of this request taken a message, though nobody may have been told? Returns 1 and
   fills in `out`, or 0. Changes nothing. */
int mcapix_taken(mcapi_request_t request, struct mcapix_origin *out);

/* From here on, while the calling thread waits for messages, those of others than this endpoint
   need not wake it: they are there when it wakes up. It is woken in any case when somebody finds
   the queue full, for messages that are not small, and some times a second. Of the domain and the
   ports only the lower 15 and 28 bits count. Not for endpoints at which several threads wait. */
void mcapix_expect(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port);
/* All of them wake it again. */
void mcapix_expect_all(void);

/* Ends a node of this process as mcapi_finalize does, except that others still find it and its
   endpoints, also when the process has ended, and can send to them while there is room. It is gone
   when a node of the same name comes, when its place is needed, and with the job. For a tool that
   runs a program once more: others may be slower than they were. Returns 1, or 0 if there is no
   such node. */
int mcapix_node_retire(mcapi_domain_t domain, mcapi_node_t node);

/* How many requests the calling thread's node can have, those that a test has reported included. */
unsigned mcapix_requests(void);

#ifdef __cplusplus
}
#endif

#endif
