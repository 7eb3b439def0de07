/* What a trace consists of: events, the sites they come from, and the node they happened on.
   This layer knows nothing of MPI: a "function" is a name, a "channel" a small number. */
#ifndef RF_TRACE_EVENT_H
#define RF_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/compiler.h"

/* events.def declares every kind once: RF_EVENT(NAME, "name", first, second, flags, "meaning"). */
enum rf_kind {
    RF_NO_EVENT = 0, /* marks the end of what was written in a segment; never stored */
#define RF_EVENT(name, text, first, second, flags, meaning) RF_##name,
#include "events.def"
#undef RF_EVENT
    RF_KINDS
};

/* What the two fixed columns of a kind hold. Decides the codec, the checks and the printing. */
enum rf_column {
    RF_COL_NONE,
    RF_COL_SOURCE, /* rank in the channel; RF_UNKNOWN while a post has no match, RF_UNDEFINED if it
                      was cancelled */
    RF_COL_TAG,
    RF_COL_INDEX,     /* place in the caller's array of requests; RF_UNDEFINED for "none active" */
    RF_COL_COUNT,     /* how many requests the caller passed */
    RF_COL_CLASS,     /* error class, in the numbers of the recorded library */
    RF_COL_CALL,      /* low 32 bits of the count of signed calls so far */
    RF_COL_HASH,      /* 16 bits of the signature of the deterministic calls so far */
    RF_COL_HOW,       /* enum rf_end */
    RF_COL_CODE,      /* exit or abort code */
    RF_COL_VALUE,     /* what the outside returned */
    RF_COL_STAMP,     /* place in the order of all deliveries, as a difference */
    RF_COL_BACK,      /* how many open events ago; 0: the event before */
    RF_COL_THREAD,    /* number of a thread of the process, the same in every run */
    RF_COL_CANCELLED, /* 1, or 0 if the request completed all the same; RF_UNKNOWN at first */
};

enum rf_event_flags {
    RF_REPEATS = 1, /* equal neighbours are folded into one event with a run length */
    RF_LIST = 2,    /* followed by a list of integers */
    RF_BACK = 4,    /* the run field says how many open events ago, not how often */
    RF_OPEN = 8,    /* written with its columns unknown, filled in later, or by an RF_BACK event */
};

#define RF_UNKNOWN INT32_MIN         /* a post whose match was never seen */
#define RF_UNDEFINED (INT32_MIN + 1) /* the library said: nothing active here */

/* How a node's recording ended. */
enum rf_end {
    RF_END_NONE,     /* no end was written: killed, crashed, or still running */
    RF_END_FINALIZE, /* the program finished communication properly */
    RF_END_ABORT,    /* it aborted on purpose; code says with what */
    RF_END_EXIT,     /* it exited without finishing properly; code is the exit status */
};

/* With RF_END_NONE the code is the signal that ended the process, 0 if that is not known, or: */
#define RF_REPLACED (-1) /* another program took its place */
/* Or, by rf_left(), the status that was given to _exit() or its like: by the program, or by whoever
   gave up within a call. */
#define RF_LEFT 0x100
#define RF_LEFT_WITHIN 0x200

static inline int32_t rf_left(int status, bool within) {
    return -((within ? RF_LEFT_WITHIN : RF_LEFT) | (status & 0xff));
}
static inline bool rf_is_left(int32_t code) {
    return code <= -RF_LEFT;
}
static inline bool rf_left_within(int32_t code) {
    return code <= -RF_LEFT_WITHIN;
}
static inline int rf_left_status(int32_t code) {
    return -code & 0xff;
}

/* A packed word names the kind, the channel and the call site of an event. */
#define RF_KIND_BITS 4
#define RF_KIND_MASK ((1u << RF_KIND_BITS) - 1)
#define RF_CHANNEL_BITS 10
#define RF_SITE_BITS 18
#define RF_MAX_CHANNELS (1u << RF_CHANNEL_BITS)
#ifndef RF_MAX_SITES
#    define RF_MAX_SITES 16384u
#endif

static inline uint32_t rf_pack(enum rf_kind kind, uint32_t channel, uint32_t site) {
    return (uint32_t)kind | channel << RF_KIND_BITS | site << (RF_KIND_BITS + RF_CHANNEL_BITS);
}
static inline enum rf_kind rf_packed_kind(uint32_t what) {
    return (enum rf_kind)(what & RF_KIND_MASK);
}
static inline uint32_t rf_packed_channel(uint32_t what) {
    return what >> RF_KIND_BITS & (RF_MAX_CHANNELS - 1);
}
static inline uint32_t rf_packed_site(uint32_t what) {
    return what >> (RF_KIND_BITS + RF_CHANNEL_BITS);
}

/* An event as readers see it. */
struct rf_event {
    uint64_t number; /* its place among the node's decisions, counting every repetition, from 0;
                        what is no decision has the number of the next one */
    enum rf_kind kind;
    uint32_t channel;
    uint32_t site;
    int32_t first, second; /* the kind's two columns */
    uint64_t run;          /* equal events in a row, this one included; 1 for most */
    uint32_t back; /* RF_BACK kinds: the open event meant is the back-th latest (1 = latest) */
    uint32_t list_length;
    const int32_t *list; /* valid until the next event is read */
};

/* Does an event of this kind tell what the outside decided? The others are bookkeeping, and are
   neither counted nor numbered. */
static inline bool rf_is_decision(enum rf_kind kind) {
    return kind != RF_CHECK && kind != RF_LATE && kind != RF_END && kind != RF_STAMP &&
           kind != RF_THREAD;
}

/* Where in the program a call was made, and of what. Stable under address randomisation. */
struct rf_site {
    char function[48]; /* "MPI_Recv" */
    uint16_t number;   /* the adapter's own number of that function */
    uint16_t module;   /* index into the modules */
    uint64_t offset;   /* return address minus the module's load address */
};

struct rf_module {
    char path[256];
    uint8_t build_id[20];
    uint8_t build_id_length; /* 0: the module has none */
};

/* Facts about the recorded process, written once at its start. */
struct rf_node {
    int32_t rank, size;
    int32_t thread_level; /* 0 single, 1 funneled, 2 serialized, 3 multiple */
    int32_t pid;
    int64_t started_ns; /* CLOCK_REALTIME */
    char host[64];
    char adapter[16];  /* "openmpi", "mpich" */
    char library[256]; /* first line of the library's own version text */
    char scheme[16];   /* "order" */
};

/* What the node was doing when its recording stopped without an end: a blocking call that had not
   returned. The result words are filled in by the library itself, so they survive a death inside
   the call. */
struct rf_in_flight {
    bool active;
    uint32_t what; /* packed kind (RF_RECV or RF_FOUND…), channel and site */
    bool matched;  /* source and tag are valid */
    int32_t source, tag;
};

extern const char *const rf_kind_names[RF_KINDS];
extern const enum rf_column rf_kind_columns[RF_KINDS][2];
extern const unsigned rf_kind_flags[RF_KINDS];
extern const char *const rf_column_names[];

#endif
