/* Requests: test, wait, wait_any, cancel. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mcapi/posted.h"

/* ---- replay: requests of ours ---- */

static void more_requests(struct rf_mcapi_node *node) {
    uint32_t first = node->request_room;
    node->request_room = first ? first * 2 : 64;
    node->requests = rf_room(node->requests, node->request_room * sizeof(struct rf_request *));
    struct rf_request *more = rf_room(NULL, (node->request_room - first) * sizeof *more);
    for (uint32_t i = first; i < node->request_room; i++) {
        node->requests[i] = &more[i - first];
        *node->requests[i] = (struct rf_request){.next = i + 1};
    }
}

/* A request stays where it is: others may be made while a thread waits for it. */
mcapi_request_t rf_request_new(struct rf_mcapi_node *node, const struct rf_request *what) {
    rf_tables_lock(node);
    if (node->request_free == node->request_room)
        more_requests(node);
    uint32_t place = node->request_free;
    struct rf_request *request = node->requests[place];
    uint32_t generation = request->generation + 1;
    node->request_free = request->next;
    *request = *what;
    request->place = place;
    request->generation = generation;
    request->order = node->requests_made++;
    request->thread = rf_this_thread;
    rf_tables_unlock(node);
    return (mcapi_request_t)generation << 32 | (place + 1);
}

static struct rf_request *request_of(struct rf_mcapi_node *node, const mcapi_request_t *handle) {
    uint32_t place = handle ? (uint32_t)*handle - 1 : UINT32_MAX;
    rf_tables_lock(node);
    struct rf_request *request = place < node->request_room ? node->requests[place] : NULL;
    bool good = request && request->kind != RF_REQUEST_NONE && request->generation == *handle >> 32;
    rf_tables_unlock(node);
    return good ? request : NULL;
}

void rf_request_opens(struct rf_mcapi_node *node, mcapi_request_t handle, enum rf_function opens,
                      mcapi_endpoint_t endpoint, uint64_t channel) {
    struct rf_request *request = request_of(node, &handle);
    request->opens = opens;
    request->end = endpoint;
    request->handle = channel;
}

/* With the tables' lock. */
static void unlink_told(struct rf_mcapi_node *node, struct rf_request *request) {
    if (!request->told)
        return;
    *(request->older ? &request->older->newer : &node->told_oldest) = request->newer;
    *(request->newer ? &request->newer->older : &node->told_newest) = request->older;
    request->told = false;
    node->told_count--;
}

static void release(struct rf_mcapi_node *node, struct rf_request *request) {
    rf_pay(node, &request->owed);
    rf_tables_lock(node);
    unlink_told(node, request);
    request->kind = RF_REQUEST_NONE;
    request->next = node->request_free;
    node->request_free = request->place;
    rf_tables_unlock(node);
}

/* What was kept when the request was complete; its size, if it was before. */
static void answer(struct rf_mcapi_node *node, const struct rf_here *here,
                   struct rf_request *request) {
    bool cut = false;
    if (request->complete) {
        request->size = rf_answer_size(node, here);
        return;
    }
    request->status = MCAPI_SUCCESS;
    if (request->packet)
        *request->packet = rf_answer_packet(node, here, &request->size);
    else if (request->kind == RF_REQUEST_RECEIVE)
        request->size = rf_answer(node, here, request->buffer, request->room, &cut);
    else
        request->size = rf_answer_size(node, here);
    if (request->found)
        rf_answer(node, here, request->found, sizeof *request->found, &cut);
    if (cut)
        request->status = MCAPI_ERR_MSG_TRUNCATED;
    /* Others tell their size each time. */
    request->complete = request->packet || request->kind == RF_REQUEST_RECEIVE;
}

/* The number of the message that a receive took, at the moment at which the recording told it; or
   which endpoint was found. */
static void tell_number(struct rf_mcapi_node *node, const struct rf_here *here,
                        struct rf_request *request) {
    if (request->complete || request->numbered)
        return;
    if (request->kind == RF_REQUEST_RECEIVE && request->match.first != RF_UNKNOWN) {
        request->numbered = true;
        rf_replay_sequence(node, request->channel, request->shift, &request->match);
    } else if (request->kind == RF_REQUEST_FIND) {
        request->numbered = true;
        request->life = rf_life(node, here);
    } else if (request->kind == RF_REQUEST_PACKET) {
        request->numbered = true;
        request->number = rf_packet_number(node, here, request->handle);
    }
}

/* Past the end of the recording nobody knows which one. */
static bool find(struct rf_mcapi_node *node, const struct rf_here *here, struct rf_request *request,
                 mcapi_timeout_t timeout) {
    const struct rf_endpoint_name *name = &request->name;
    request->status = MCAPI_SUCCESS;
    if (timeout)
        rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    if (rf_free(node))
        *request->found = rf_reals.endpoint_get(name->domain, name->number, name->port, timeout,
                                                &request->status);
    else
        *request->found = rf_endpoint_find(node, here, name, request->life);
    request->complete = request->status != MCAPI_TIMEOUT;
    if (request->status == MCAPI_SUCCESS)
        rf_endpoint_learn(node, *request->found, rf_endpoint_name_sign(name));
    return request->complete;
}

static void wait_for_real(struct rf_mcapi_node *node, struct rf_request *request,
                          mcapi_timeout_t timeout) {
    bool endless = timeout == MCAPI_TIMEOUT_INFINITE;
    while (rf_reals.wait(&request->real, &request->size, endless ? RF_TICK_MS : timeout,
                         &request->status),
           endless && request->status == MCAPI_TIMEOUT)
        rf_hold_all(node);
}

/* True if the request is complete, at the latest after the timeout. */
static bool finish(struct rf_mcapi_node *node, const struct rf_here *here,
                   struct rf_request *request, mcapi_timeout_t timeout) {
    if (rf_answering(node))
        answer(node, here, request);
    if (request->complete || rf_answering(node))
        return true;
    if (request->kind == RF_REQUEST_REAL) {
        if (timeout)
            rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
        wait_for_real(node, request, timeout);
        request->complete = request->status != MCAPI_TIMEOUT;
        return request->complete;
    }
    if (request->kind == RF_REQUEST_FIND)
        return find(node, here, request, timeout);
    if (request->kind == RF_REQUEST_PACKET) {
        request->complete =
            rf_packet_get(node, here, request->handle, request->numbered ? &request->number : NULL,
                          timeout, request->packet, &request->size, &request->status);
        return request->complete;
    }
    /* A wait without a limit leaves no event. If it was the last call, the recording is over before
       it, and yet its message is known. */
    tell_number(node, here, request);
    const struct rf_message_name *name =
        request->match.first == RF_UNKNOWN ? NULL : &request->match;
    if (rf_free(node) && !rf_endpoint_at(node, request->channel)->open) {
        request->status = MCAPI_ERR_ENDP_DELETED;
        return request->complete = true;
    }
    struct rf_message *message = rf_await(node, here, request->channel, name, timeout);
    if (!message)
        return false;
    rf_give(message, request->buffer, request->room, &request->size, &request->status);
    request->complete = true;
    rf_pay(node, &request->owed);
    free(message);
    return true;
}

static struct rf_request *need_request(struct rf_mcapi_node *node, const struct rf_here *here,
                                       mcapi_request_t handle) {
    struct rf_request *request = request_of(node, &handle);
    if (request)
        return request;
    rf_diverge(&node->session, here, NULL, NULL,
               "the program passes a request that it does not have");
}

/* A receive whose match nobody saw. */
static bool is_unknown(const struct rf_request *request) {
    return request && request->kind == RF_REQUEST_RECEIVE && !request->complete &&
           request->match.first == RF_UNKNOWN;
}

/* Where threads are told apart each packet that a request brought has its number. */
static bool is_unknown_packet(struct rf_mcapi_node *node, const struct rf_here *here,
                              const struct rf_request *request) {
    return request && request->kind == RF_REQUEST_PACKET && !request->numbered &&
           node->session.shared && !rf_has_number(node, here);
}

/* It succeeded in the recording. */
static void check_success(struct rf_mcapi_node *node, const struct rf_here *here,
                          const struct rf_request *request) {
    if (!rf_free(node) && !rf_answering(node) && !rf_is_delivery(request->status))
        rf_diverge(&node->session, here, rf_replay_peek(&node->session), NULL,
                   "the request failed with status %u, but not in the recording", request->status);
}

bool rf_request_pends(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status,
                      mcapi_status_t recorded, struct rf_request *request) {
    bool done = status == MCAPI_SUCCESS;
    bool was_done = !rf_free(node) && status == MCAPI_PENDING && recorded == MCAPI_SUCCESS;
    if (done && !request->real)
        request->complete = true;
    if ((done || was_done) && !request->complete) {
        finish(node, here, request, MCAPI_TIMEOUT_INFINITE);
        check_success(node, here, request);
    }
    return false;
}

struct rf_request *rf_request_complete(struct rf_mcapi_node *node, const struct rf_here *here,
                                       mcapi_request_t handle) {
    struct rf_request *request = need_request(node, here, handle);
    if (is_unknown(request) && !rf_free(node))
        rf_diverge(&node->session, here, NULL, NULL,
                   "the receive is complete in the recording, but its message is not known");
    tell_number(node, here, request);
    if (request->kind == RF_REQUEST_RECEIVE && !request->complete && !rf_free(node))
        rf_turn_take(node, here, request->turn);
    finish(node, here, request, MCAPI_TIMEOUT_INFINITE);
    check_success(node, here, request);
    return request;
}

static bool is_pending_at(const struct rf_request *request, const struct rf_place *place) {
    if (request->complete || request->thread != rf_this_thread)
        return false;
    if (place->handle)
        return request->kind == RF_REQUEST_PACKET && request->handle == place->handle;
    return request->kind == RF_REQUEST_RECEIVE && request->channel == place->endpoint &&
           request->match.first != RF_UNKNOWN;
}

static struct rf_request *next_pending(struct rf_mcapi_node *node, const struct rf_place *place,
                                       uint64_t from) {
    struct rf_request *next = NULL;
    rf_tables_lock(node);
    for (uint32_t i = 0; i < node->request_room; i++) {
        struct rf_request *request = node->requests[i];
        if (is_pending_at(request, place) && request->order >= from &&
            (!next || request->order < next->order))
            next = request;
    }
    rf_tables_unlock(node);
    return next;
}

void rf_fetch_taken(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel) {
    const struct rf_place place = {.endpoint = channel};
    struct rf_request *request;
    uint64_t from = 0;
    while (rf_reals.taken && !rf_free(node) && (request = next_pending(node, &place, from))) {
        from = request->order + 1;
        request->shift = rf_replay_shift(node, here);
        rf_number(node, here, 1);
        if (rf_free(node))
            return;
        tell_number(node, here, request);
        if (rf_answering(node))
            continue;
        rf_turn_take(node, here, request->turn);
        finish(node, here, request, MCAPI_TIMEOUT_INFINITE);
    }
}

void rf_fetch_taken_packets(struct rf_mcapi_node *node, const struct rf_here *here,
                            uint64_t channel) {
    const struct rf_place place = {.handle = channel};
    struct rf_request *request;
    uint64_t from = 0;
    while (rf_has_number(node, here) && (request = next_pending(node, &place, from))) {
        uint32_t taken = (uint32_t)rf_number(node, here, 0);
        from = request->order + 1;
        if (!taken)
            continue;
        request->numbered = true;
        request->number = taken - 1;
        if (!rf_answering(node))
            finish(node, here, request, MCAPI_TIMEOUT_INFINITE);
    }
}

uint32_t rf_packets_awaited(struct rf_mcapi_node *node, uint64_t channel) {
    uint32_t count = 0;
    rf_tables_lock(node);
    for (uint32_t i = 0; i < node->request_room; i++) {
        const struct rf_request *request = node->requests[i];
        count +=
            request->kind == RF_REQUEST_PACKET && !request->complete && request->handle == channel;
    }
    rf_tables_unlock(node);
    return count;
}

void rf_channel_opened(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t channel) {
    for (uint32_t i = 0; i < node->request_room && !rf_answering(node) && !rf_free(node); i++) {
        rf_tables_lock(node);
        struct rf_request *request = node->requests[i];
        bool opens = request->kind == RF_REQUEST_REAL && request->opens && !request->complete &&
                     request->handle == channel;
        rf_tables_unlock(node);
        if (opens)
            finish(node, here, request, MCAPI_TIMEOUT_INFINITE);
    }
}

/* A test leaves a complete request as it is, and many programs never ask again. Our own library
   forgets the oldest of these when it needs the room. A replay keeps as many as there is room for,
   so it remembers at least what the library did. */
static void remember(struct rf_mcapi_node *node, struct rf_request *request) {
    if (!rf_reals.requests || request->told)
        return;
    rf_tables_lock(node);
    request->told = true;
    request->older = node->told_newest;
    request->newer = NULL;
    *(request->older ? &request->older->newer : &node->told_oldest) = request;
    node->told_newest = request;
    bool full = ++node->told_count > rf_reals.requests();
    struct rf_request *oldest = node->told_oldest;
    rf_tables_unlock(node);
    if (full)
        release(node, oldest);
}

static mcapi_boolean_t tell(struct rf_mcapi_node *node, struct rf_request *request, bool keep,
                            size_t *size, mcapi_status_t *status) {
    *size = request->size;
    *status = request->status;
    if (keep)
        remember(node, request);
    else
        release(node, request);
    return MCAPI_TRUE;
}

/* Replay: the recording says that the request ended with this error. */
static void tell_failed(struct rf_mcapi_node *node, mcapi_request_t *handle, bool keep,
                        size_t *size, mcapi_status_t status) {
    struct rf_request *request = request_of(node, handle);
    mcapi_status_t ignored;
    *size = 0;
    if (!request)
        return;
    if (request->kind == RF_REQUEST_REAL && !request->complete && !rf_answering(node))
        rf_reals.cancel(&request->real, &ignored);
    request->complete = true;
    request->size = 0;
    request->status = status;
    if (keep)
        remember(node, request);
    else
        release(node, request);
}

/* ---- one request ---- */

/* Replay, past the end of the recording. */
static mcapi_boolean_t ask(struct rf_mcapi_node *node, const struct rf_here *here,
                           mcapi_request_t *handle, size_t *size, mcapi_timeout_t timeout,
                           bool keep, mcapi_status_t *status) {
    struct rf_request *request = request_of(node, handle);
    *status = MCAPI_ERR_REQUEST_INVALID;
    if (!request)
        return MCAPI_FALSE;
    if (rf_answering(node) && !request->complete)
        rf_end_here(node, here);
    bool sure = !keep && timeout == MCAPI_TIMEOUT_INFINITE;
    if (!sure && request->kind == RF_REQUEST_RECEIVE && !request->numbered)
        request->match.first = RF_UNKNOWN; /* the call that saw it did not come to its end */
    if (finish(node, here, request, timeout))
        return tell(node, request, keep, size, status);
    *status = keep ? MCAPI_PENDING : MCAPI_TIMEOUT;
    return MCAPI_FALSE;
}

/* A call that waits as long as it takes needs no event to say that it succeeded. */
static mcapi_boolean_t replay_one(struct rf_mcapi_node *node, const struct rf_here *here,
                                  mcapi_request_t *handle, size_t *size, mcapi_timeout_t timeout,
                                  bool keep, mcapi_status_t *status) {
    bool sure = !keep && timeout == MCAPI_TIMEOUT_INFINITE;
    int32_t failed = rf_failed(node, here);
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    if (failed >= 0)
        tell_failed(node, handle, keep, size, *status);
    if (*status != MCAPI_SUCCESS)
        return failed >= 0 ? MCAPI_TRUE : MCAPI_FALSE;
    struct rf_request *request = request_of(node, handle);
    uint32_t shift = rf_replay_shift(node, here);
    if (request)
        request->shift = shift;
    if (!sure) {
        const struct rf_event *event = rf_expect(node, here, RF_IS(NONE) | RF_IS(DONE), 0);
        if (event && event->kind == RF_NONE) {
            rf_take(node);
            *status = keep ? MCAPI_PENDING : MCAPI_TIMEOUT;
            return MCAPI_FALSE;
        }
        if (event)
            rf_take(node);
    } else if (is_unknown(request) || is_unknown_packet(node, here, request)) {
        rf_replay_need(&node->session); /* what it took nobody saw: other threads come first */
    } else {
        rf_replay_peek(&node->session); /* so that it is known whether there is a recording yet */
    }
    if (rf_free(node))
        return ask(node, here, handle, size, timeout, keep, status);
    return tell(node, rf_request_complete(node, here, *handle), keep, size, status);
}

/* `keep`: the call leaves a complete request as it is. */
RF_STEP mcapi_boolean_t record_one(struct rf_mcapi_node *node, const struct rf_here *here,
                                   mcapi_request_t before, size_t size, bool keep, bool sure,
                                   mcapi_boolean_t done, mcapi_status_t status) {
    struct rf_completion completion = {
        .request = before, .size = size, .cut = status != MCAPI_SUCCESS, .released = !keep};
    if (rf_is_delivery(status)) {
        rf_record_match(node, here, &completion);
        if (!sure)
            rf_record(node, here, RF_DONE, 0, 1, 0);
        rf_record_details(node, here, &completion);
    } else if (status == MCAPI_PENDING || status == MCAPI_TIMEOUT) {
        rf_record(node, here, RF_NONE, 0, 1, 0);
    } else if (done) {
        rf_record_failed(node, here, status, 0);
        if (!keep)
            rf_posted_forget(node, before);
    } else {
        rf_record_error(node, here, status);
    }
    return done;
}

RF_WRAPPER(mcapi_boolean_t, test,
           (mcapi_request_t * request, size_t *size, mcapi_status_t *status)) {
    RF_ENTER(test, (request, size, status));
    mcapi_boolean_t done;
    if (rf_recording(node)) {
        mcapi_request_t before = request ? *request : 0;
        done = real->test(request, size, status);
        done = record_one(node, &here, before, size ? *size : 0, true, false, done, *status);
    } else {
        const struct rf_here copy = here;
        done = replay_one(node, &copy, request, size, MCAPI_TIMEOUT_IMMEDIATE, true, status);
    }
    rf_leave(node);
    return done;
}

RF_WRAPPER(mcapi_boolean_t, wait,
           (mcapi_request_t * request, size_t *size, mcapi_timeout_t timeout,
            mcapi_status_t *status)) {
    RF_ENTER(wait, (request, size, timeout, status));
    bool sure = timeout == MCAPI_TIMEOUT_INFINITE;
    if (sure)
        rf_sign(&node->session, &here, 0, 0, 0);
    else
        rf_form = RF_LIMITED;
    mcapi_boolean_t done;
    if (rf_recording(node)) {
        mcapi_request_t before = request ? *request : 0;
        done = real->wait(request, size, timeout, status);
        done = record_one(node, &here, before, size ? *size : 0, false, sure, done, *status);
    } else {
        const struct rf_here copy = here;
        done = replay_one(node, &copy, request, size, timeout, false, status);
    }
    rf_form = 0;
    rf_leave(node);
    return done;
}

/* ---- several requests ---- */

/* Replay, past the end of the recording. */
static mcapi_uint_t ask_any(struct rf_mcapi_node *node, const struct rf_here *here, size_t count,
                            mcapi_request_t **requests, size_t *size, mcapi_timeout_t timeout,
                            mcapi_status_t *status) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        for (size_t i = 0; i < count; i++)
            if (ask(node, here, requests[i], size, MCAPI_TIMEOUT_IMMEDIATE, false, status))
                return (mcapi_uint_t)i;
            else if (*status != MCAPI_TIMEOUT)
                return MCAPI_RETURN_VALUE_INVALID;
        clock_gettime(CLOCK_MONOTONIC, &now);
        long passed = (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000;
        if (timeout != MCAPI_TIMEOUT_INFINITE && passed >= (long)timeout)
            return MCAPI_RETURN_VALUE_INVALID;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static mcapi_uint_t replay_any(struct rf_mcapi_node *node, const struct rf_here *here, size_t count,
                               mcapi_request_t **requests, size_t *size, mcapi_timeout_t timeout,
                               mcapi_status_t *status) {
    int32_t failed = rf_failed(node, here);
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    if (failed >= 0 && (size_t)failed < count)
        tell_failed(node, requests[failed], false, size, *status);
    if (*status != MCAPI_SUCCESS)
        return failed >= 0 ? (mcapi_uint_t)failed : MCAPI_RETURN_VALUE_INVALID;
    uint32_t shift = rf_replay_shift(node, here);
    const struct rf_event *event = rf_expect(node, here, RF_IS(NONE) | RF_IS(INDEX), 0);
    if (!event)
        return ask_any(node, here, count, requests, size, timeout, status);
    if (event->kind == RF_NONE) {
        rf_take(node);
        *status = MCAPI_TIMEOUT;
        return MCAPI_RETURN_VALUE_INVALID;
    }
    mcapi_uint_t index = (mcapi_uint_t)event->first;
    if (event->second != (int32_t)count || index >= count)
        rf_diverge(&node->session, here, event, NULL,
                   "the program waits for one of %zu requests, recorded were %d", count,
                   event->second);
    rf_take(node);
    need_request(node, here, *requests[index])->shift = shift;
    tell(node, rf_request_complete(node, here, *requests[index]), false, size, status);
    return index;
}

/* So many that the library will not look at them. */
static size_t most_requests(void) {
    return rf_reals.requests ? rf_reals.requests() : INT32_MAX;
}

RF_WRAPPER(mcapi_uint_t, wait_any,
           (size_t count, mcapi_request_t **requests, size_t *size, mcapi_timeout_t timeout,
            mcapi_status_t *status)) {
    RF_ENTER(wait_any, (count, requests, size, timeout, status));
    mcapi_uint_t index;
    if (rf_recording(node)) {
        /* The library invalidates the handle that it reports. */
        mcapi_request_t handles[64];
        size_t seen = requests && count <= most_requests() ? count : 0;
        mcapi_request_t *before = seen > sizeof handles / sizeof *handles
                                      ? rf_room(NULL, seen * sizeof *before)
                                      : handles;
        for (size_t i = 0; i < seen; i++)
            before[i] = requests[i] ? *requests[i] : 0;
        index = real->wait_any(count, requests, size, timeout, status);
        if (rf_is_delivery(*status) && index < seen) {
            struct rf_completion completion = {.request = before[index],
                                               .size = size ? *size : 0,
                                               .cut = *status != MCAPI_SUCCESS,
                                               .released = true};
            rf_record_match(node, &here, &completion);
            rf_record(node, &here, RF_INDEX, 0, (int32_t)index, (int32_t)count);
            rf_record_details(node, &here, &completion);
        } else if (*status == MCAPI_TIMEOUT) {
            rf_record(node, &here, RF_NONE, 0, (int32_t)count, 0);
        } else if (index < seen) {
            rf_record_failed(node, &here, *status, (int32_t)index);
            rf_posted_forget(node, before[index]);
        } else {
            rf_record_error(node, &here, *status);
        }
        if (before != handles)
            free(before);
    } else {
        const struct rf_here copy = here;
        index = replay_any(node, &copy, count, requests, size, timeout, status);
    }
    rf_leave(node);
    return index;
}

/* ---- cancel ---- */

/* Others may have been sooner, so that the channel is open: who is at its other end relies on that.
   Nobody sees it here until it is opened again. */
static void leave_open(struct rf_mcapi_node *node, const struct rf_request *request) {
    struct rf_node_endpoint *endpoint = rf_endpoint_of(node, request->end);
    if (!endpoint || !request->opens)
        return;
    endpoint->left.opens = request->opens;
    endpoint->left.handle = request->handle;
}

bool rf_left_open(struct rf_mcapi_node *node, enum rf_function opens, mcapi_endpoint_t end,
                  uint64_t *handle, mcapi_request_t *made, mcapi_status_t *status) {
    struct rf_node_endpoint *endpoint = rf_recording(node) ? NULL : rf_endpoint_of(node, end);
    if (!endpoint || endpoint->left.opens != opens)
        return false;
    *handle = endpoint->left.handle;
    *made = 0;
    *status = MCAPI_SUCCESS;
    endpoint->left.opens = RF_FN_NONE;
    return true;
}

/* A receive of ours is not known to the library. */
static void replay_cancel(struct rf_mcapi_node *node, const struct rf_here *here,
                          mcapi_request_t *handle, mcapi_status_t *status) {
    *status = rf_recorded_status(node, here, MCAPI_SUCCESS);
    if (*status != MCAPI_SUCCESS)
        return;
    struct rf_request *request = request_of(node, handle);
    if (!request) {
        *status = MCAPI_ERR_REQUEST_INVALID;
        rf_again(node, here, *status);
        return;
    }
    mcapi_status_t cancelled = MCAPI_SUCCESS;
    if (request->kind == RF_REQUEST_REAL && !request->complete && !rf_answering(node))
        rf_reals.cancel(&request->real, &cancelled);
    if (cancelled != MCAPI_SUCCESS)
        wait_for_real(node, request, MCAPI_TIMEOUT_IMMEDIATE);
    if (cancelled != MCAPI_SUCCESS || request->complete)
        leave_open(node, request);
    release(node, request);
}

RF_WRAPPER(void, cancel, (mcapi_request_t * request, mcapi_status_t *status)) {
    RF_ENTER_VOID(cancel, (request, status));
    rf_sign(&node->session, &here, 0, 0, 0);
    if (rf_recording(node)) {
        mcapi_request_t before = request ? *request : 0;
        real->cancel(request, status);
        if (*status == MCAPI_SUCCESS)
            rf_posted_forget(node, before);
        else
            rf_record_error(node, &here, *status);
    } else {
        const struct rf_here copy = here;
        replay_cancel(node, &copy, request, status);
    }
    rf_leave(node);
}
