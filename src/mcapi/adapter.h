/* What the wrappers of MCAPI share. A node is a process or a thread; each has a session of its own,
   and so a file of its own in the trace.

   Every wrapper has the same shape:

       RF_WRAPPER(result, name, (parameters)) {
           RF_ENTER(name, (arguments));       passes through when nothing is recorded or replayed
           ... real->name(...) ...
           rf_leave(node);
       }

   What is the same in every run leaves no event: it enters the session's signature. A call that
   returns another status than MCAPI_SUCCESS leaves an error event, placed by the number of signed
   calls before it. While recording, nothing here takes a lock (unless several threads of a node may
   call) or calls the system, and memory is allocated only when a table grows (or for a wait on more
   than 64 requests). */
#ifndef RF_MCAPI_ADAPTER_H
#define RF_MCAPI_ADAPTER_H

#include <sys/types.h>

#include "engine/handle_map.h"
#include "engine/session.h"
#include "mcapi/data.h"
#include "mcapi/hold.h"
#include "mcapi/order.h"
#include "mcapi/packets.h"
#include "mcapi/pairs.h"
#include "mcapi/real.h"
#include "mcapi/turns.h"

#define RF_EXPORT __attribute__((visibility("default")))

#ifdef RF_LINKED
#    define RF_NAME(name) refrain_mcapi_##name
#else
#    define RF_NAME(name) mcapi_##name
#endif
#define RF_WRAPPER(result, name, parameters)                                                       \
    RF_EXPORT result RF_NAME(name) parameters;                                                     \
    RF_EXPORT result RF_NAME(name) parameters

#define RF_HERE(name)                                                                              \
    const struct rf_here here = {"mcapi_" #name, RF_FN_##name,                                     \
                                 (uintptr_t)__builtin_return_address(0)}

/* A call without a status cannot tell its outcome to anybody, and is left alone. */
#define RF_ENTER(name, arguments)                                                                  \
    RF_HERE(name);                                                                                 \
    struct rf_mcapi_node *node = status ? rf_enter() : NULL;                                       \
    const struct rf_real *real = rf_real();                                                        \
    if (!node)                                                                                     \
    return real->name arguments

/* The same where there is nothing to return. */
#define RF_ENTER_VOID(name, arguments)                                                             \
    RF_HERE(name);                                                                                 \
    struct rf_mcapi_node *node = status ? rf_enter() : NULL;                                       \
    const struct rf_real *real = rf_real();                                                        \
    if (!node) {                                                                                   \
        real->name arguments;                                                                      \
        return;                                                                                    \
    }                                                                                              \
    (void)0

struct rf_endpoint_name {
    mcapi_domain_t domain;
    mcapi_node_t number;
    mcapi_port_t port;
};

/* Replay: what the program has as a request. */
enum rf_request_kind {
    RF_REQUEST_NONE,
    RF_REQUEST_RECEIVE,
    RF_REQUEST_PACKET,
    RF_REQUEST_FIND,
    RF_REQUEST_REAL
};
struct rf_request {
    enum rf_request_kind kind;
    uint32_t place; /* in the node's list */
    uint32_t generation;
    bool complete;
    bool told; /* and a test has said so: between */
    struct rf_request *older, *newer;
    mcapi_request_t real;
    /* of a receive */
    uint32_t channel;
    void *buffer;
    size_t room;
    struct rf_message_name match; /* first is RF_UNKNOWN if nobody saw it */
    struct rf_strand *owed;       /* if it is: see rf_strand_owe() */
    uint32_t shift;               /* how far from the usual its number is */
    bool numbered; /* the number in it, or `number`, or `life`, is that of the recording */
    uint32_t turn;
    uint64_t order; /* among all that were made */
    const struct rf_mcapi_thread *thread;
    /* of one that looks for an endpoint */
    mcapi_endpoint_t *found;
    struct rf_endpoint_name name;
    uint32_t life;
    /* of one that opens a channel */
    enum rf_function opens;
    mcapi_endpoint_t end;
    uint64_t handle;
    /* of one that receives a packet */
    void **packet;
    uint32_t number;
    /* of a complete one */
    size_t size;
    mcapi_status_t status;
    uint32_t next; /* among the unused */
};

struct rf_node_endpoint {
    mcapi_endpoint_t handle;
    mcapi_port_t port; /* 0 if the library does not tell */
    bool open;
    struct rf_handle_map next; /* by name: the number of the message that comes next, usually */
    bool receives;             /* replay: messages are received at it */
    mcapi_timeout_t timeout;   /* replay: the program's own; the library has RF_TICK_MS, if */
    bool ticks;
    struct rf_hold hold; /* replay */
    /* Replay: a channel that is open, though the recording has that cancelled. */
    struct {
        enum rf_function opens; /* RF_FN_NONE: there is none */
        uint64_t handle;
    } left;
};

struct rf_mcapi_node {
    struct rf_session session;
    struct rf_mcapi_node *next; /* of this process */
    pid_t thread;
    mcapi_domain_t domain;
    mcapi_node_t node;
    int32_t number;     /* of its file in the trace */
    bool noted_threads; /* that other threads of the node make calls */
    bool careful;       /* a call has to do more when it begins: */
    bool ordered;       /* the order of threads is kept */
    int tables;         /* lock of the tables below, if several threads may call */
    int making;         /* record: lock of making endpoints; its address stands for their order */
    struct rf_mcapi_thread *threads;
    struct rf_handle_map lines[RF_LINES]; /* replay: how many have gone */
    uint32_t waiting[RF_LINES];           /* replay: threads that wait for their number */
    struct rf_node_endpoint **endpoints;
    uint32_t endpoint_count, endpoint_room;
    struct rf_handle_map endpoint_map;
    struct rf_handle_map signs;      /* of endpoints, of this node and of others */
    struct rf_handle_map posted_map; /* record: by request */
    struct rf_posted *posted;
    uint32_t posted_room, posted_free;
    struct rf_request **requests; /* replay */
    uint32_t request_room, request_free;
    uint64_t requests_made;
    struct rf_handle_map found; /* replay: endpoints of others, by the number of name and life */
    uint32_t gone;              /* replay: of them, those that were not there any more */
    struct rf_request *told_oldest, *told_newest; /* replay: complete, and known to be */
    uint32_t told_count;
    struct rf_data data;
    struct rf_packets packets;
    uint64_t packets_posted;
    struct rf_pairs pairs;     /* replay */
    struct rf_turn_list turns; /* replay */
    bool stamping;             /* record: deliveries of all nodes are put in order */
    uint64_t stamp;            /* record: the last one */
};

extern _Thread_local struct rf_mcapi_node *rf_this_node RF_OURS
    __attribute__((tls_model("initial-exec")));
extern _Thread_local unsigned rf_depth RF_OURS __attribute__((tls_model("initial-exec")));
/* The current call has had its event. */
extern _Thread_local bool rf_answered RF_OURS __attribute__((tls_model("initial-exec")));
/* A wait without a limit that succeeds leaves no event: an error or a value of the next one, with a
   limit, must not be taken for its own. So it is marked. */
enum { RF_LIMITED = 2 };
extern _Thread_local uint32_t rf_form RF_OURS __attribute__((tls_model("initial-exec")));
extern struct rf_mcapi_node *rf_nodes RF_OURS; /* all of this process */

struct rf_mcapi_node *rf_other_thread(void);
/* Replay: where the program decides again its own limits of time hold. */
void rf_endpoints_stop_ticking(struct rf_mcapi_node *node);
void rf_enter_carefully(struct rf_mcapi_node *node);

/* The node that makes this call, or NULL if it is to pass through. Whatever the library calls of
   itself passes through, too. */
RF_STEP struct rf_mcapi_node *rf_enter(void) {
    struct rf_mcapi_node *node = rf_this_node;
    if (__builtin_expect(!node, 0))
        node = rf_other_thread();
    if (!node || rf_depth)
        return NULL;
    if (__builtin_expect(node->session.mode == RF_OFF, 0)) {
        rf_endpoints_stop_ticking(node);
        return NULL;
    }
    rf_depth = 1;
    rf_answered = false;
    if (__builtin_expect(node->careful, 0))
        rf_enter_carefully(node);
    return node;
}

RF_STEP bool rf_recording(const struct rf_mcapi_node *node) {
    return node->session.mode == RF_RECORDING;
}

RF_STEP void rf_leave(struct rf_mcapi_node *node) {
    rf_depth = 0;
    if (!rf_recording(node) && node->session.mode != RF_OFF)
        rf_progress_go(&node->session.replayer);
    if (__builtin_expect(node->ordered, 0))
        rf_order_leave();
}

/* Where several threads may call, each touch of a node's tables is short. */
RF_STEP void rf_tables_lock(struct rf_mcapi_node *node) {
    if (__builtin_expect(node->session.concurrent, 0))
        rf_lock(&node->tables);
}
RF_STEP void rf_tables_unlock(struct rf_mcapi_node *node) {
    if (__builtin_expect(node->session.concurrent, 0))
        rf_unlock(&node->tables);
}

/* Around a call of the library that is numbered where several threads may call. */
RF_STEP void rf_line_begin(struct rf_mcapi_node *node, const struct rf_here *here,
                           enum rf_line line, uint64_t key) {
    if (__builtin_expect(node->session.shared, 0)) {
        const struct rf_here copy = *here;
        rf_line_wait(node, &copy, line, key);
    }
}
RF_STEP void rf_line_end(struct rf_mcapi_node *node, enum rf_line line, uint64_t key,
                         mcapi_status_t status) {
    if (__builtin_expect(node->session.shared, 0))
        rf_line_went(node, line, key, status);
}

/* The value of a key in a table, which is `first` if it was not there. */
uint32_t *rf_value_of(struct rf_handle_map *map, uint64_t key, uint32_t first);
/* Memory that is needed to go on; ends the process if there is none. */
void *rf_room(void *old, size_t size) __attribute__((returns_nonnull));

/* ---- record ---- */

RF_STEP void rf_record(struct rf_mcapi_node *node, const struct rf_here *here, enum rf_kind kind,
                       uint32_t channel, int32_t first, int32_t second) {
    struct rf_session *session = &node->session;
    rf_answered = true;
    rf_session_append(session);
    if (__builtin_expect(session->recorder.on, 1))
        rf_recorder_fold(&session->recorder, rf_here_pack(session, here, kind, channel), first,
                         second);
    rf_session_unlock(session);
}

void rf_record_error(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status);
/* The same where the call has told which request it was about: that is complete. */
void rf_record_failed(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status,
                      int32_t index);

/* Record: how a call ended that usually succeeds. */
RF_STEP void rf_record_status(struct rf_mcapi_node *node, const struct rf_here *here,
                              mcapi_status_t status) {
    if (__builtin_expect(status != MCAPI_SUCCESS, 0))
        rf_record_error(node, here, status);
}

/* ---- replay ---- */

/* Others may be faster than they were, and fill queues that somebody else needs to go on. So no
   call blocks for longer: then what has come to any endpoint of the node is taken in. */
enum { RF_TICK_MS = 50 };
static inline bool rf_free(const struct rf_mcapi_node *node) {
    return node->session.replayer.free;
}
/* The event of this call, or NULL when the recording was cut off before it. */
const struct rf_event *rf_expect(struct rf_mcapi_node *node, const struct rf_here *here,
                                 uint32_t kinds, uint32_t channel);
void rf_take(struct rf_mcapi_node *node);
/* The same for an event that tells of a message: the thread, if another one of the node might take
   it meanwhile. That is to be paid when it has come. */
struct rf_strand *rf_take_owed(struct rf_mcapi_node *node);
static inline void rf_pay(struct rf_mcapi_node *node, struct rf_strand **owed) {
    if (*owed)
        rf_strand_pay(&node->session, *owed);
    *owed = NULL;
}
/* The status that the call returned in the recording, which is the usual one if there is no event
   that says otherwise. Takes that. */
mcapi_status_t rf_recorded_status(struct rf_mcapi_node *node, const struct rf_here *here,
                                  mcapi_status_t usual);
/* Is there an event that says so? */
bool rf_fails(struct rf_mcapi_node *node, const struct rf_here *here);
/* Which request the error is about that the next event tells; negative if none. */
int32_t rf_failed(struct rf_mcapi_node *node, const struct rf_here *here);
static inline bool rf_is_failure(mcapi_status_t status) {
    return status != MCAPI_SUCCESS && status != MCAPI_PENDING;
}
/* True, after a little while, if the library must be asked again. Does not return if it answers
   what cannot become what was recorded. */
bool rf_again(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status);
/* The same for a send that succeeded in the recording. If the receiver has `gone` by now, it ended
   without this message in the recording as well: nobody misses it. */
bool rf_send_again(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t *status,
                   bool *gone);

/* A call whose only varying outcome is its status. Replay: a failure is answered without the
   library; for a success, the library is asked until it gives one. */
#define RF_CALL_AS(call, again)                                                                    \
    do {                                                                                           \
        if (rf_recording(node)) {                                                                  \
            call;                                                                                  \
            rf_record_status(node, &here, *status);                                                \
            break;                                                                                 \
        }                                                                                          \
        const struct rf_here copy = here;                                                          \
        mcapi_status_t recorded = rf_recorded_status(node, &copy, MCAPI_SUCCESS);                  \
        *status = recorded;                                                                        \
        if (rf_is_failure(recorded) || rf_answering(node))                                         \
            break;                                                                                 \
        rf_progress_wait(&node->session.replayer, &copy, RF_NO_PEER, RF_NO_PEER);                  \
        rf_endpoints_stop_ticking(node);                                                           \
        do {                                                                                       \
            call;                                                                                  \
        } while (again);                                                                           \
        if (!rf_free(node))                                                                        \
            *status = recorded;                                                                    \
    } while (0)
#define RF_CALL(call) RF_CALL_AS(call, rf_again(node, &copy, *status))

/* The same for a call that sends. */
#define RF_CALL_SEND(call)                                                                         \
    do {                                                                                           \
        bool gone = false;                                                                         \
        RF_CALL_AS(call, rf_send_again(node, &copy, status, &gone));                               \
    } while (0)

/* The same for calls that make a request. `made` is where the library puts it: in a replay the
   program gets one of ours. */
#define RF_CALL_REQUEST_AS(call, again, bytes)                                                     \
    do {                                                                                           \
        mcapi_request_t real_request = 0, *made = rf_recording(node) ? request : &real_request;    \
        struct rf_request ours = {                                                                 \
            .kind = RF_REQUEST_REAL, .size = (bytes), .status = MCAPI_SUCCESS};                    \
        bool gone = false;                                                                         \
        RF_CALL_AS(call, (again) || (ours.real = real_request, ours.complete = gone,               \
                                     rf_request_pends(node, &copy, *status, recorded, &ours)));    \
        if (!rf_recording(node) && !rf_is_failure(*status))                                        \
            *request = rf_request_new(node, &ours);                                                \
    } while (0)
#define RF_CALL_REQUEST(call) RF_CALL_REQUEST_AS(call, rf_again(node, &copy, *status), 0)

/* The same for one that sends so many bytes. */
#define RF_CALL_SEND_REQUEST(bytes, call)                                                          \
    RF_CALL_REQUEST_AS(call, rf_send_again(node, &copy, status, &gone), bytes)

/* Something that the outside returned: recorded, or what was recorded instead. */
int32_t rf_value(struct rf_mcapi_node *node, const struct rf_here *here, int32_t value);
/* The same for what follows the event of a call and is no number of a message. */
int32_t rf_number(struct rf_mcapi_node *node, const struct rf_here *here, int32_t value);
/* Replay: is there one of this very call? */
bool rf_has_value(struct rf_mcapi_node *node, const struct rf_here *here);
bool rf_has_number(struct rf_mcapi_node *node, const struct rf_here *here);

/* How many messages are there: the body of a wrapper. In a replay the library is not asked, but
   past the end of the recording, when some may be `held` here. */
#define RF_AVAILABLE(call, held)                                                                   \
    mcapi_uint_t count = 0;                                                                        \
    if (rf_recording(node))                                                                        \
        count = call;                                                                              \
    else                                                                                           \
        *status = rf_recorded_status(node, &here, MCAPI_SUCCESS);                                  \
    if (*status == MCAPI_SUCCESS)                                                                  \
        count = (mcapi_uint_t)rf_value(node, &here, (int32_t)count);                               \
    else if (rf_recording(node))                                                                   \
        rf_record_error(node, &here, *status);                                                     \
    if (!rf_recording(node) && rf_free(node))                                                      \
        count = (call) + (held);                                                                   \
    rf_leave(node);                                                                                \
    return count

/* ---- endpoints.c ---- */

/* The number of an endpoint of this node, in the order of their making; the one after the last for
   a stranger. */
uint32_t rf_channel_of(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint);
struct rf_node_endpoint *rf_endpoint_at(struct rf_mcapi_node *node, uint32_t channel);
struct rf_node_endpoint *rf_endpoint_of(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint);
/* A number that is the same in every run, also when the endpoint is gone. */
int32_t rf_endpoint_sign(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint);
/* It was found under a name with that number. */
void rf_endpoint_learn(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint, int32_t sign);
/* Endpoints can be deleted and made again under the same name. Which one the library has found just
   now; record: keeps that, if it is not the first one; replay: tells which one it was. */
uint32_t rf_life(struct rf_mcapi_node *node, const struct rf_here *here);
/* Replay: finds that one. */
mcapi_endpoint_t rf_endpoint_find(struct rf_mcapi_node *node, const struct rf_here *here,
                                  const struct rf_endpoint_name *name, uint32_t life);
int32_t rf_endpoint_name_sign(const struct rf_endpoint_name *name);

/* ---- messages.c ---- */

/* The name of a message as the library tells where it came from. */
struct rf_message_name rf_name_of(const struct mcapix_origin *origin);
/* The name of the message that the library has just delivered to this thread. */
struct rf_message_name rf_delivered(const void *data, size_t size, bool cut);
/* The part of it that depends on nothing else. */
int32_t rf_contents_name(const void *data, size_t size);
/* A node in one number. */
static inline int32_t rf_node_name(mcapi_domain_t domain, mcapi_node_t number) {
    return (int32_t)((domain << 16 ^ number) & INT32_MAX);
}
/* Messages that one node sends are mostly received in that order, and then nothing need be kept of
   their numbers. Record: keeps it if it is another one than usual, before the event that tells of
   the message: so one that is known has its number, whenever the process is killed. */
void rf_record_sequence(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel,
                        const struct rf_message_name *name);
/* After that event: the stamp, if there are any; `back`: how many posts ago, 0 for the receive
   before. */
void rf_put_stamp(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t stamp,
                  uint32_t back);
RF_STEP void rf_record_stamp(struct rf_mcapi_node *node, const struct rf_here *here,
                             const struct rf_message_name *name, uint32_t back) {
    if (__builtin_expect(node->stamping, 0))
        rf_put_stamp(node, here, name->stamp, back);
}
/* Replay, before the event: how far from the usual its number is; after it: tells the number. */
uint32_t rf_replay_shift(struct rf_mcapi_node *node, const struct rf_here *here);
void rf_replay_sequence(struct rf_mcapi_node *node, uint32_t channel, uint32_t shift,
                        struct rf_message_name *name);
/* Delivered, cut or not: that follows from the sizes. */
static inline bool rf_is_delivery(mcapi_status_t status) {
    return status == MCAPI_SUCCESS || status == MCAPI_ERR_MSG_TRUNCATED;
}
/* Replay: the message of that name, any if it is NULL. NULL only if `timeout` is not infinite. */
struct rf_message *rf_await(struct rf_mcapi_node *node, const struct rf_here *here,
                            uint32_t channel, const struct rf_message_name *name,
                            mcapi_timeout_t timeout);
/* Replay: takes in what has come to any endpoint, so that nobody finds a full queue who did not in
   the recording. True if there was something. */
bool rf_hold_all(struct rf_mcapi_node *node);
/* Replay: what the program gets of a message. */
void rf_give(const struct rf_message *message, void *buffer, size_t room, size_t *size,
             mcapi_status_t *status);

/* ---- requests.c ---- */

/* Replay: what was complete at once in the recording is so again: waits for it. What is complete
   here is taken from the library, which might forget it. Returns false. */
bool rf_request_pends(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status,
                      mcapi_status_t recorded, struct rf_request *request);
/* Replay: a request for the program. */
mcapi_request_t rf_request_new(struct rf_mcapi_node *node, const struct rf_request *what);
/* An endpoint is deleted, or a channel closed: gets what its receives had taken, before it is too
   late. See posted.h. */
void rf_fetch_taken(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel);
void rf_fetch_taken_packets(struct rf_mcapi_node *node, const struct rf_here *here,
                            uint64_t channel);
/* Replay: the request opens a channel. Then: it is open already, since it was too late to cancel
   that. */
void rf_request_opens(struct rf_mcapi_node *node, mcapi_request_t handle, enum rf_function opens,
                      mcapi_endpoint_t endpoint, uint64_t channel);
bool rf_left_open(struct rf_mcapi_node *node, enum rf_function opens, mcapi_endpoint_t endpoint,
                  uint64_t *handle, mcapi_request_t *made, mcapi_status_t *status);
/* Replay: a channel that is used was open, even if nobody has asked. Waits for that. */
void rf_channel_opened(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t channel);
/* Replay: how many receives of packets are posted there. */
uint32_t rf_packets_awaited(struct rf_mcapi_node *node, uint64_t channel);
/* Replay: the recording says that it is complete here; waits until it is. */
struct rf_request *rf_request_complete(struct rf_mcapi_node *node, const struct rf_here *here,
                                       mcapi_request_t request);

#endif
