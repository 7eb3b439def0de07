/* Replay: messages that have come and are kept until their turn. MCAPI receives name no source, so
   whatever comes is taken, and given to the receive that had it in the recording. */
#ifndef RF_MCAPI_HOLD_H
#define RF_MCAPI_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcapi/real.h"

/* What tells messages apart. On Refrain's own runtime: who sent it (domain and node), from which
   port with which priority, and its number among the messages from there to here. On any other: the
   checksum of the contents and their size, or -1 - size if it was cut to that; equal ones are
   interchangeable, and the number is 0. */
struct rf_message_name {
    int32_t first, second;
    uint32_t sequence;
    uint64_t stamp; /* when it was matched, if that is known; no part of the name */
};

struct rf_message {
    struct rf_message *next; /* of its bucket, in the order in which they came */
    struct rf_message_name name;
    uint64_t place; /* among all that have come */
    size_t size;
    unsigned char data[];
};

enum { RF_HOLD_BUCKETS = 32 };

struct rf_hold {
    struct {
        struct rf_message *first, *last;
    } buckets[RF_HOLD_BUCKETS]; /* by who sent it */
    uint64_t come;              /* messages so far */
    bool asked;                 /* the library has a receive of ours */
    mcapi_request_t request;
    unsigned char *buffer; /* for that receive */
    size_t room;
    bool shared;   /* several threads may look for their messages. Then: */
    int lock;      /* of all this */
    bool pulling;  /* one of them gets what comes, for all */
    bool closed;   /* and none any more */
    uint32_t bell; /* a futex: goes on when it has got something, or given up */
    int waiting;   /* how many may sleep there */
};

/* Takes out the message of that name; or, if name is NULL, the one that came first. NULL when there
   is none. To be freed. */
struct rf_message *rf_hold_take(struct rf_hold *hold, const struct rf_message_name *name);
/* How often it has changed; to be asked before a message is looked for. */
uint32_t rf_hold_seen(const struct rf_hold *hold);
/* Gets one more message from the library, or waits for the thread that does. False when none came
   in time or none can come: without a limit, too, now and then. True also if more has been seen by
   now. */
bool rf_hold_pull(struct rf_hold *hold, mcapi_endpoint_t endpoint, uint32_t seen,
                  mcapi_timeout_t timeout, mcapi_status_t *status);
/* How many there are. */
uint32_t rf_hold_count(struct rf_hold *hold);
/* Before the endpoint goes. */
void rf_hold_close(struct rf_hold *hold);

#endif
