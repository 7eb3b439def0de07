/* What this process knows of its nodes. Nothing in here is shared with other processes, and nothing
   is ever given back: a thread that comes too late finds an endpoint or a node that is not in use,
   never memory that is something else. */
#ifndef MC_JOB_H
#define MC_JOB_H

#include "bell.h"
#include "channel_word.h"
#include "include/mcapi.h"
#include "include/mcapix.h"
#include "pool.h"
#include "reap.h"
#include "segment.h"

#define MC_OURS __attribute__((visibility("hidden")))
#define MC_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* A receive in the order of posts on its endpoint. Lives in a request, or on the stack of a
   blocking call. */
struct mc_post {
    struct mc_post *next;
    enum mc_kind kind;
    uint32_t width; /* of a scalar, in bytes */
    void *buffer;   /* where a message goes, */
    void **packet;  /* where the address of a packet goes, */
    uint64_t value; /* a scalar */
    size_t room;
    size_t size;
    uint32_t status;
    uint32_t done;  /* set last */
    uint64_t order; /* of the matches on its endpoint */
    bool cancellable;
    void *whole; /* all of a message that was cut, while it may have to go back */
    size_t whole_size;
    struct mcapix_origin origin;
};

/* A message or a packet that a cancelled receive gave back. */
struct mc_returned {
    struct mc_returned *next;
    enum mc_kind kind;
    void *packet;
    uint64_t order;
    struct mcapix_origin origin;
    size_t size;
    unsigned char data[];
};

/* Receives of one kind in the order of their posts. */
struct mc_posts {
    struct mc_post *first;
    struct mc_post **last;
};

/* Its lock comes before the segment's, which only the owner of an endpoint that is in use may take
   while holding it: whoever makes one in its place takes them the other way round. */
struct mc_local_endpoint {
    uint32_t handle; /* 0: not in use */
    uint32_t room;   /* of `sent` */
    struct mc_endpoint *shared;
    struct mc_local_node *node;
    struct mc_lock lock; /* of all that follows, and of the receiving side of the queues */
    struct mc_posts messages;
    struct mc_posts channel;
    struct mc_returned *returned;
    uint64_t posts;
    uint64_t matches;
    uint32_t spins;             /* how long looking on has paid off lately */
    uint64_t sent_over_channel; /* its generation, sends over it */
    uint64_t sent[];            /* for each place: generation of the endpoint there, sends to it */
};

enum mc_request_kind { MC_REQUEST_SENT, MC_REQUEST_RECEIVE, MC_REQUEST_GET, MC_REQUEST_OPEN };
enum mc_request_state { MC_PENDING, MC_COMPLETE, MC_CANCELLED };

struct mc_request {
    uint64_t handle; /* 0: free */
    enum mc_request_kind kind;
    uint32_t state;
    uint32_t waited;   /* somebody waits for it */
    uint32_t reported; /* it is in the list of those that may be taken back, */
    uint32_t known;    /* since the program knows that it is complete */
    bool told;         /* by a test: what it brought is the program's */
    uint32_t looks;    /* threads that are testing it: it is not given out again meanwhile */
    uint32_t next;     /* in the list of free or of reported ones */
    uint32_t previous;
    uint32_t status;
    struct mc_local_endpoint *endpoint; /* of a receive or an open */
    uint32_t endpoint_handle;
    uint32_t generation; /* of the channel that is opened */
    struct mc_post post;
    uint32_t domain, node, port; /* of the endpoint to get */
    mcapi_endpoint_t *found;
    uint32_t life; /* of the one that was found */
};

struct mc_local_node {
    uint64_t serial; /* 0: not in use */
    uint32_t place;
    uint32_t domain;
    uint32_t node;
    struct mc_lock lock; /* of the requests */
    struct mc_request *requests;
    uint32_t capacity;
    uint32_t spins;
    uint32_t free;           /* first of a list, MC_NONE at the end */
    uint32_t reported_first; /* oldest of those that may be taken back if there are no free ones */
    uint32_t reported_last;
};

struct mc_job {
    struct mc_segment *segment; /* NULL until a node is initialized; then always the same place */
    uint32_t process;
    uint32_t pid;
    uint32_t cores;
    uint32_t nodes;                 /* of this process */
    pthread_mutex_t lock;           /* of entering and leaving */
    void (*watch)(uint64_t number); /* is told of each send, or NULL */
    struct mc_local_node *local_nodes[256];
    struct mc_local_endpoint *local_endpoints[1u << MC_INDEX_BITS];
};
extern MC_OURS struct mc_job mc_the_job;

struct mc_thread {
    struct mc_local_node *node;
    uint64_t serial;
    uint32_t delivered;
    uint32_t life;     /* of the endpoint that the last get has found */
    uint32_t expected; /* of whom alone it wants to hear when it sleeps; 0: of all */
    struct mcapix_origin origin;
};
extern MC_OURS _Thread_local struct mc_thread mc_the_thread
    __attribute__((tls_model("initial-exec")));

static inline bool mc_node_in_use(const struct mc_local_node *node, uint64_t serial) {
    return __atomic_load_n(&node->serial, __ATOMIC_ACQUIRE) == serial;
}

struct mc_local_node *mc_only_node(void);

/* The node that the calling thread is, or NULL. One whose node has ended is no other one: a second
   mcapi_finalize would end that. */
static inline struct mc_local_node *mc_current(void) {
    struct mc_local_node *node = mc_the_thread.node;
    if (MC_LIKELY(node && mc_node_in_use(node, mc_the_thread.serial)))
        return node;
    return node ? NULL : mc_only_node();
}

/* This node's own endpoint with that handle, or NULL. */
static inline struct mc_local_endpoint *mc_own_endpoint(const struct mc_local_node *node,
                                                        uint32_t handle) {
    struct mc_local_endpoint *endpoint =
        __atomic_load_n(&mc_the_job.local_endpoints[handle & MC_INDEX_MASK], __ATOMIC_ACQUIRE);
    if (MC_LIKELY(endpoint && handle &&
                  __atomic_load_n(&endpoint->handle, __ATOMIC_ACQUIRE) == handle &&
                  endpoint->node == node))
        return endpoint;
    return NULL;
}

/* Wakes those of an endpoint's node who wait for what arrives. */
void mc_ring_arrival_slowly(struct mc_segment *segment, struct mc_endpoint *endpoint);
static inline void mc_ring_arrival(struct mc_segment *segment, struct mc_endpoint *endpoint) {
    if (__atomic_load_n(&endpoint->arrival.listening, __ATOMIC_SEQ_CST))
        mc_ring_arrival_slowly(segment, endpoint);
}

/* Who sent a message, in one number that is not 0. Others may have the same. */
static inline uint32_t mc_sender_key(uint32_t domain, uint32_t node, uint32_t port) {
    return (((domain << 16 ^ node) & 0x7fffffff) * 0x9e3779b1u + (port & 0x0fffffff)) | 1;
}

/* Announces a sleeper who wants to hear of what arrives. */
static inline uint32_t mc_listen_arrival(struct mc_endpoint *endpoint, uint32_t who) {
    __atomic_store_n(&endpoint->expected, mc_the_thread.expected, __ATOMIC_RELAXED);
    return mc_bell_listen(&endpoint->arrival, who);
}

/* The same as mc_ring_arrival() for a message, of which the sleepers may not want to hear. */
static inline void mc_ring_message(struct mc_segment *segment, struct mc_endpoint *endpoint,
                                   const struct mc_endpoint *from) {
    if (MC_LIKELY(!__atomic_load_n(&endpoint->arrival.listening, __ATOMIC_SEQ_CST)))
        return;
    uint32_t expected = __atomic_load_n(&endpoint->expected, __ATOMIC_SEQ_CST);
    if (!expected || expected == mc_sender_key(from->domain, from->node, from->port))
        mc_ring_arrival_slowly(segment, endpoint);
}

/* Says what the calling thread's call has delivered; the call has said before that it is nothing.
 */
static inline void mc_deliver_nothing(void) {
    mc_the_thread.delivered = 0;
}
static inline void mc_deliver(const struct mcapix_origin *origin) {
    mc_the_thread.origin = *origin;
    mc_the_thread.delivered = 1;
}

/* How many looks are worth it before sleeping. With more nodes than cores somebody else needs the
   core; with one core for each, what comes at once comes sooner than a sleeper wakes up. */
#define MC_SPINS_MOST 4000u
#define MC_SPINS_LEAST 16u
#define MC_SPINS_IN_A_CROWD 8u
static inline uint32_t mc_spins(const struct mc_segment *segment, uint32_t worth) {
    return __atomic_load_n(&segment->nodes_alive, __ATOMIC_RELAXED) > mc_the_job.cores
               ? MC_SPINS_IN_A_CROWD
               : worth;
}

#endif
