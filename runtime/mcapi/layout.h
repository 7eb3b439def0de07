/* What lies in the memory that the nodes of a job share. Everything in it is found by offset: every
   process maps it at an address of its own. Any process may die at any moment, between any two
   stores; each structure says how the others notice and go on. */
#ifndef MC_LAYOUT_H
#define MC_LAYOUT_H

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MC_MAGIC 0x6d636170695f3031u
#define MC_LAYOUT 3u
#define MC_LINE 64u
#define MC_PROCESSES 256u
#define MC_INDEX_BITS 12u /* of an endpoint's handle; the rest is its generation */
#define MC_INDEX_MASK ((1u << MC_INDEX_BITS) - 1)
#define MC_NONE (~0u)

struct mc_limits {
    uint32_t nodes;
    uint32_t endpoints;
    uint32_t priorities;
    uint32_t queue_length;
    uint32_t max_message;
    uint32_t buffers;
    uint32_t requests;
};

/* A place to sleep. Who wants to be woken sets a bit of `listening`, looks once more, and sleeps
   while `rung` stays the same; who has something to tell clears the bits and wakes everybody. There
   is nothing to count, so a sleeper that dies leaves at worst one ring for nobody. */
struct mc_bell {
    uint32_t listening;
    uint32_t rung;
};
enum { MC_SLEEPERS = 1, MC_WATCHERS = 2 };

/* A process number is only taken together with the time at which it started: numbers come again. */
struct mc_process {
    uint32_t pid; /* 0: this place is free */
    uint32_t reserved;
    uint64_t start;
};

/* A retired node has ended, but others still find it: see mcapix_node_retire(). It belongs to no
   process, and gives way where its place is needed. */
enum mc_life { MC_GONE, MC_ALIVE, MC_RETIRED };

struct mc_node {
    uint32_t life; /* enum mc_life */
    uint32_t process;
    uint32_t domain;
    uint32_t node;
    uint32_t type;
    alignas(MC_LINE) struct mc_bell bell;
    alignas(MC_LINE) char end[];
};

enum mc_kind { MC_MESSAGE, MC_PACKET, MC_SCALAR };

/* The name of an endpoint. Names stay when their endpoints go: a message carries the number of its
   sender's, and may be read when the sender is gone. */
struct mc_name {
    uint32_t domain;
    uint32_t node;
    uint32_t port;
    uint32_t made; /* endpoints of this name, one after the other */
};
#define MC_NAMES_MOST 65535u
#define MC_LIFE_SHIFT                                                                              \
    24u /* where the numbers of messages begin that an endpoint made again sends */
#define MC_NAMES_PER_ENDPOINT 64u

/* What travels. State, sequence and name leave the first line room for 50 bytes: what is no longer
   than that moves from core to core in one piece. What is longer than MC_INLINE, and every packet,
   lies apart in a buffer. */
#define MC_INLINE 114u
#define MC_APART 0xffffu /* in place of the size */
struct mc_slot {
    union {
        struct {
            alignas(2 * MC_LINE) uint64_t state; /* see queue.h */
            uint32_t sequence;
            uint16_t name;
            unsigned char data[MC_INLINE];
        };
        struct {
            uint64_t same_state;
            uint32_t same_sequence;
            uint16_t same_name;
            uint16_t unused;
            uint32_t buffer; /* its number */
            uint32_t size;
        };
    };
};
_Static_assert(sizeof(struct mc_slot) == (size_t)2 * MC_LINE, "a slot is two lines");

struct mc_queue {
    alignas(MC_LINE) uint64_t tail; /* of the senders: a hint, never ahead of the truth */
    alignas(MC_LINE) uint64_t head; /* of the receiver alone */
    alignas(MC_LINE) char end[];
};

/* A channel as one of its two endpoints sees it: one word, so that data can be sent after one look.
   Bits: the peer's handle (32), the channel's generation (16), flags (16). */
enum {
    MC_CHANNEL_PACKET = 1,
    MC_CHANNEL_SCALAR = 2,
    MC_CHANNEL_SEND = 4,
    MC_CHANNEL_RECEIVE = 8,
    MC_CHANNEL_CONNECTED = 16,
    MC_CHANNEL_OPENING = 32, /* this side has opened it */
    MC_CHANNEL_OPEN = 64,    /* both have */
    MC_CHANNEL_CLOSED = 128, /* this side has closed it, the other one has not yet */
    MC_CHANNEL_PEER_CLOSED = 256,
    MC_CHANNEL_PEER_LOST = 512,
};

struct mc_attributes {
    uint32_t type;
    uint32_t max_payload;
    uint32_t buffer_type;
    uint32_t memory_type;
    uint32_t priorities;
    uint32_t priority;
    uint32_t timeout;
};

struct mc_endpoint {
    alignas(MC_LINE) uint32_t handle; /* 0: there is none */
    uint32_t domain;
    uint32_t node;
    uint32_t port;
    uint32_t process;
    uint32_t node_place;
    uint64_t channel;
    struct mc_attributes attributes;
    uint32_t get_count;
    uint64_t get_source; /* domain and node of the last one */
    uint32_t populated;  /* its queues have memory */
    uint32_t name;       /* the number of its name */
    uint32_t life;       /* which of the endpoints of its name it is, from 1 */
    alignas(MC_LINE) struct mc_bell arrival;
    uint32_t expected; /* of whom alone its sleepers want to hear, see mc_sender_key(); 0: of all */
    alignas(MC_LINE) struct mc_bell space;
    alignas(MC_LINE) char end[];
};

/* Buffers of one size. */
#define MC_CLASSES 3u
struct mc_class {
    uint64_t offset;
    uint32_t size; /* of the data */
    uint32_t count;
    uint32_t first;     /* number of its first buffer */
    uint32_t populated; /* how many have memory */
};

struct mc_buffer {
    alignas(MC_LINE) uint32_t owner; /* 0: free; else a process, see pool.h */
    uint32_t number;
    alignas(MC_LINE) unsigned char data[];
};

struct mc_segment {
    uint64_t magic;
    uint32_t layout;
    uint32_t named; /* it is a file: memory must be asked for before it is touched */
    uint64_t size;
    uint64_t reserved_size;
    uint64_t pid_namespace; /* process numbers mean something only in here */
    struct mc_limits limits;
    uint32_t laid_out;
    uint64_t nodes_offset;
    uint64_t endpoints_offset;
    uint64_t names_offset;
    uint64_t queues_offset;
    uint64_t queues_stride; /* per endpoint */
    uint32_t queue_shift;
    uint32_t generation;    /* of the last endpoint that was made */
    uint32_t next_endpoint; /* where to look for a free place first: old places rest longest */
    uint32_t next_port;
    uint32_t names;      /* how many there can be, */
    uint32_t names_used; /* are, */
    uint32_t next_name;  /* and which is given away first when there are no more */
    uint32_t nodes_alive;
    struct mc_class classes[MC_CLASSES];
    pthread_mutex_t lock;                 /* robust; for what is rare */
    alignas(MC_LINE) uint64_t next_check; /* when to look for dead processes again */
    alignas(MC_LINE) struct mc_bell buffers_free;
    alignas(MC_LINE) uint32_t stamping;
    alignas(MC_LINE) uint64_t stamp;
    alignas(MC_LINE) struct mc_process processes[MC_PROCESSES];
};

#endif
