/* Messages without a connection. */
#include "mcapi/posted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/checksum.h"

int32_t rf_contents_name(const void *data, size_t size) {
    return (int32_t)(rf_checksum(RF_CHECKSUM_CRC32C, data, size) & INT32_MAX);
}

struct rf_message_name rf_name_of(const struct mcapix_origin *origin) {
    return (struct rf_message_name){rf_node_name(origin->domain, origin->node),
                                    (int32_t)(origin->port ^ origin->priority << 28),
                                    (uint32_t)origin->sequence, origin->stamp};
}

struct rf_message_name rf_delivered(const void *data, size_t size, bool cut) {
    struct mcapix_origin origin;
    if (rf_reals.origin && rf_reals.origin(&origin))
        return rf_name_of(&origin);
    return (struct rf_message_name){rf_contents_name(data, size),
                                    cut ? -1 - (int32_t)size : (int32_t)size, 0, 0};
}

/* The number that comes next from there; priorities of one sender share it. Where threads are told
   apart each has its own. */
static uint32_t *next_of(struct rf_mcapi_node *node, uint32_t channel,
                         const struct rf_message_name *name) {
    uint64_t sender = (uint64_t)(uint32_t)name->first << 32 | (name->second & 0x0fffffff);
    if (!node->session.shared)
        return rf_value_of(&node->endpoints[channel]->next, sender, 0);
    struct rf_mcapi_thread *thread = rf_this_thread;
    uint64_t place = *rf_value_of(&thread->senders, sender, thread->senders.used);
    return rf_value_of(&thread->numbers, place << 32 | channel, 0);
}

void rf_record_sequence(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel,
                        const struct rf_message_name *name) {
    if (!rf_reals.origin || channel >= node->endpoint_count)
        return;
    uint32_t *next = next_of(node, channel, name);
    if (__builtin_expect(name->sequence != *next, 0))
        rf_value(node, here, (int32_t)(name->sequence - *next));
    *next = name->sequence + 1;
}

void rf_put_stamp(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t stamp,
                  uint32_t back) {
    if (node->session.recorder.on)
        rf_recorder_put(&node->session.recorder, rf_here_pack(&node->session, here, RF_STAMP, 0),
                        (int32_t)(stamp - node->stamp), (int32_t)back, 1);
    node->stamp = stamp;
}

/* The command line has read the stamps. */
static void pass_stamp(struct rf_mcapi_node *node) {
    const struct rf_event *event = rf_free(node) ? NULL : rf_replay_peek(&node->session);
    if (event && event->kind == RF_STAMP)
        rf_take(node);
}

uint32_t rf_replay_shift(struct rf_mcapi_node *node, const struct rf_here *here) {
    return rf_reals.origin && rf_has_value(node, here) ? (uint32_t)rf_value(node, here, 0) : 0;
}

void rf_replay_sequence(struct rf_mcapi_node *node, uint32_t channel, uint32_t shift,
                        struct rf_message_name *name) {
    if (!rf_reals.origin)
        return;
    uint32_t *next = next_of(node, channel, name);
    name->sequence = *next + shift;
    *next = name->sequence + 1;
    pass_stamp(node);
}

static uint64_t line_key(mcapi_endpoint_t from, mcapi_endpoint_t to) {
    return (uint64_t)from << 32 | to;
}

RF_STEP void note_sent(struct rf_mcapi_node *node, struct rf_pair *pair, mcapi_endpoint_t from,
                       mcapi_endpoint_t to, mcapi_status_t status) {
    if (pair && !rf_is_failure(status))
        rf_turn_sent(node, pair);
    rf_line_end(node, RF_LINE_MESSAGES, line_key(from, to), status);
}

/* The pair between which it goes if others are to be asked, NULL if not. */
RF_STEP struct rf_pair *before_send(struct rf_mcapi_node *node, const struct rf_here *here,
                                    mcapi_endpoint_t from, mcapi_endpoint_t to) {
    struct rf_pair *pair = NULL;
    if (__builtin_expect(!rf_recording(node), 0) && !rf_answering(node)) {
        pair = rf_pair_of(node, from, to);
        rf_pair_wait(node, pair);
    }
    rf_line_begin(node, here, RF_LINE_MESSAGES, line_key(from, to));
    return pair;
}

RF_WRAPPER(void, msg_send,
           (mcapi_endpoint_t from, mcapi_endpoint_t to, const void *buffer, size_t size,
            mcapi_priority_t priority, mcapi_status_t *status)) {
    RF_ENTER_VOID(msg_send, (from, to, buffer, size, priority, status));
    rf_sign(&node->session, &here, rf_endpoint_sign(node, to), (int32_t)priority, (int64_t)size);
    struct rf_pair *pair = before_send(node, &here, from, to);
    RF_CALL_SEND(real->msg_send(from, to, buffer, size, priority, status));
    note_sent(node, pair, from, to, *status);
    rf_leave(node);
}

RF_WRAPPER(void, msg_send_i,
           (mcapi_endpoint_t from, mcapi_endpoint_t to, const void *buffer, size_t size,
            mcapi_priority_t priority, mcapi_request_t *request, mcapi_status_t *status)) {
    RF_ENTER_VOID(msg_send_i, (from, to, buffer, size, priority, request, status));
    rf_sign(&node->session, &here, rf_endpoint_sign(node, to), (int32_t)priority, (int64_t)size);
    struct rf_pair *pair = before_send(node, &here, from, to);
    RF_CALL_SEND_REQUEST(size, real->msg_send_i(from, to, buffer, size, priority, made, status));
    note_sent(node, pair, from, to, *status);
    rf_leave(node);
}

/* ---- receiving ---- */

void rf_give(const struct rf_message *message, void *buffer, size_t room, size_t *size,
             mcapi_status_t *status) {
    *size = message->size < room ? message->size : room;
    memcpy(buffer, message->data, *size);
    *status = message->size > room ? MCAPI_ERR_MSG_TRUNCATED : MCAPI_SUCCESS;
}

/* Messages of others than the one that is waited for need not wake this thread: each time it would
   only take them in and go to sleep again. */
static void expect(const struct rf_mcapi_node *node, const struct rf_message_name *name) {
    if (!rf_reals.expect)
        return;
    if (name && !node->session.shared)
        rf_reals.expect((mcapi_domain_t)name->first >> 16, (mcapi_node_t)name->first & 0xffff,
                        (mcapi_port_t)name->second);
    else
        rf_reals.expect_all();
}

/* A checksum tells nobody for whom it waits, but why that may be in vain. */
static void show_wait(struct rf_mcapi_node *node, const struct rf_here *here,
                      const struct rf_message_name *name) {
    struct rf_replayer *replayer = &node->session.replayer;
    bool known = name && rf_reals.origin;
    rf_progress_wait(replayer, here, known ? name->first : RF_NO_PEER,
                     known ? name->second : RF_NO_PEER);
    if (name && !known)
        snprintf(replayer->progress->reason, sizeof replayer->progress->reason,
                 "messages are told apart by their contents here, and those of this one are not "
                 "the same in every run");
}

/* It has not come yet. */
static struct rf_message *wait_for_message(struct rf_mcapi_node *node, const struct rf_here *here,
                                           struct rf_node_endpoint *endpoint,
                                           const struct rf_message_name *name,
                                           mcapi_timeout_t timeout) {
    struct rf_message *message;
    mcapi_status_t status;
    uint32_t seen;
    if (timeout)
        show_wait(node, here, name);
    expect(node, name);
    while (seen = rf_hold_seen(&endpoint->hold), !(message = rf_hold_take(&endpoint->hold, name))) {
        if (rf_hold_pull(&endpoint->hold, endpoint->handle, seen, timeout, &status))
            continue;
        if (timeout != MCAPI_TIMEOUT_INFINITE)
            break;
        if (status != MCAPI_TIMEOUT)
            rf_diverge(&node->session, here, NULL, NULL,
                       "the message that the recording has here cannot be received: status %u",
                       status);
        rf_hold_all(node);
    }
    expect(node, NULL);
    if (!rf_reals.origin)
        node->session.replayer.progress->reason[0] = 0;
    return message;
}

struct rf_message *rf_await(struct rf_mcapi_node *node, const struct rf_here *here,
                            uint32_t channel, const struct rf_message_name *name,
                            mcapi_timeout_t timeout) {
    struct rf_node_endpoint *endpoint = rf_endpoint_at(node, channel);
    struct rf_message *message = rf_hold_take(&endpoint->hold, name);
    if (!message)
        message = wait_for_message(node, here, endpoint, name, timeout);
    if (message)
        rf_pair_took(node, channel, &message->name);
    return message;
}

bool rf_hold_all(struct rf_mcapi_node *node) {
    bool any = rf_packets_hold(node);
    for (uint32_t i = 0; i < node->endpoint_count; i++) {
        struct rf_node_endpoint *endpoint = rf_endpoint_at(node, i);
        mcapi_status_t status;
        /* In a library of others a receive might be in the way of what the program does there. */
        while (endpoint->open && (endpoint->receives || endpoint->ticks) &&
               rf_hold_pull(&endpoint->hold, endpoint->handle, rf_hold_seen(&endpoint->hold),
                            MCAPI_TIMEOUT_IMMEDIATE, &status))
            any = true;
    }
    return any;
}

/* Past the end of the recording the program's own limit of time holds. */
static mcapi_timeout_t own_limit(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint) {
    mcapi_timeout_t limit;
    mcapi_status_t status = MCAPI_ERR_GENERAL;
    rf_endpoints_stop_ticking(node);
    if (rf_reals.attributes)
        rf_reals.endpoint_get_attribute(endpoint, MCAPI_ENDP_ATTR_TIMEOUT, &limit, sizeof limit,
                                        &status);
    return status == MCAPI_SUCCESS ? limit : MCAPI_TIMEOUT_INFINITE;
}

/* In a replay a receive takes the message that it took in the recording, once that is there. */
static void replay_recv(struct rf_mcapi_node *node, const struct rf_here *here,
                        mcapi_endpoint_t endpoint, void *buffer, size_t room, size_t *size,
                        mcapi_status_t *status) {
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    uint32_t channel = rf_channel_of(node, endpoint);
    if (*status != MCAPI_SUCCESS)
        return;
    if (channel == node->endpoint_count) { /* the library has the right error for it */
        do
            rf_reals.msg_recv(endpoint, buffer, room, size, status);
        while (rf_again(node, here, *status));
        return;
    }
    uint32_t shift = rf_replay_shift(node, here);
    const struct rf_event *event = rf_expect(node, here, RF_IS(RECV), channel);
    struct rf_message_name name;
    struct rf_strand *owed = NULL;
    if (event) {
        name = (struct rf_message_name){.first = event->first, .second = event->second};
        owed = rf_take_owed(node);
        rf_replay_sequence(node, channel, shift, &name);
        rf_endpoint_at(node, channel)->receives = true;
        rf_turn_take(node, here, rf_turn_receive(node));
    }
    if (rf_answering(node)) {
        bool cut;
        *size = rf_answer(node, here, buffer, room, &cut);
        *status = cut ? MCAPI_ERR_MSG_TRUNCATED : MCAPI_SUCCESS;
        rf_pay(node, &owed);
        return;
    }
    struct rf_message *message =
        rf_await(node, here, channel, event ? &name : NULL,
                 event ? MCAPI_TIMEOUT_INFINITE : own_limit(node, endpoint));
    rf_pay(node, &owed);
    *status = MCAPI_TIMEOUT;
    if (message)
        rf_give(message, buffer, room, size, status);
    free(message);
}

RF_WRAPPER(void, msg_recv,
           (mcapi_endpoint_t endpoint, void *buffer, size_t room, size_t *size,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(msg_recv, (endpoint, buffer, room, size, status));
    uint32_t channel = rf_channel_of(node, endpoint);
    rf_sign(&node->session, &here, (int32_t)channel, 0, (int64_t)room);
    if (rf_recording(node)) {
        real->msg_recv(endpoint, buffer, room, size, status);
        if (rf_is_delivery(*status)) {
            struct rf_message_name name = rf_delivered(buffer, *size, *status != MCAPI_SUCCESS);
            rf_record_sequence(node, &here, channel, &name);
            rf_record(node, &here, RF_RECV, channel, name.first, name.second);
            rf_record_stamp(node, &here, &name, 0);
            rf_keep(node, buffer, *size, *status != MCAPI_SUCCESS);
        } else {
            rf_record_error(node, &here, *status);
        }
    } else {
        const struct rf_here copy = here;
        replay_recv(node, &copy, endpoint, buffer, room, size, status);
    }
    rf_leave(node);
}

/* Nothing is asked of the library before the recording says that the receive was complete. */
static void replay_recv_i(struct rf_mcapi_node *node, const struct rf_here *here,
                          mcapi_endpoint_t endpoint, void *buffer, size_t room,
                          mcapi_request_t *request, mcapi_status_t *status) {
    *status = rf_recorded_status(node, here, MCAPI_PENDING);
    uint32_t channel = rf_channel_of(node, endpoint);
    if (*status != MCAPI_PENDING)
        return;
    if (channel == node->endpoint_count) {
        do
            rf_reals.msg_recv_i(endpoint, buffer, room, request, status);
        while (rf_again(node, here, *status));
        return;
    }
    struct rf_request what = {.kind = RF_REQUEST_RECEIVE,
                              .channel = channel,
                              .buffer = buffer,
                              .room = room,
                              .match = {.first = RF_UNKNOWN},
                              .turn = RF_NO_TURN};
    const struct rf_event *event = rf_expect(node, here, RF_IS(POST), channel);
    if (event) {
        what.match = (struct rf_message_name){.first = event->first, .second = event->second};
        if (what.match.first == RF_UNKNOWN)
            rf_take(node);
        else
            what.owed = rf_take_owed(node);
        rf_endpoint_at(node, channel)->receives = true;
        what.turn = rf_turn_post(node);
        *status = rf_recorded_status(node, here, MCAPI_PENDING);
    }
    *request = rf_request_new(node, &what);
    /* It was complete at once, so the program may look at what it got. */
    if (rf_is_delivery(*status) && what.match.first != RF_UNKNOWN)
        rf_request_complete(node, here, *request);
}

RF_WRAPPER(void, msg_recv_i,
           (mcapi_endpoint_t endpoint, void *buffer, size_t room, mcapi_request_t *request,
            mcapi_status_t *status)) {
    RF_ENTER_VOID(msg_recv_i, (endpoint, buffer, room, request, status));
    uint32_t channel = rf_channel_of(node, endpoint);
    rf_sign(&node->session, &here, (int32_t)channel, 0, (int64_t)room);
    if (rf_recording(node)) {
        real->msg_recv_i(endpoint, buffer, room, request, status);
        if (*status == MCAPI_PENDING || rf_is_delivery(*status))
            rf_record_post(node, &here, *request, channel, buffer);
        if (*status != MCAPI_PENDING)
            rf_record_error(node, &here, *status);
    } else {
        const struct rf_here copy = here;
        replay_recv_i(node, &copy, endpoint, buffer, room, request, status);
    }
    rf_leave(node);
}

static mcapi_uint_t held_at(struct rf_mcapi_node *node, mcapi_endpoint_t endpoint) {
    struct rf_node_endpoint *own = rf_endpoint_of(node, endpoint);
    return own ? rf_hold_count(&own->hold) : 0;
}

RF_WRAPPER(mcapi_uint_t, msg_available, (mcapi_endpoint_t endpoint, mcapi_status_t *status)) {
    RF_ENTER(msg_available, (endpoint, status));
    RF_AVAILABLE(real->msg_available(endpoint, status), held_at(node, endpoint));
}
