#include "mcapi/hold.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mcapi/adapter.h"

enum { LARGEST_UNKNOWN = 1 << 20 }; /* where the library does not tell its largest message */

static bool same(const struct rf_message_name *one, const struct rf_message_name *other) {
    return one->first == other->first && one->second == other->second &&
           one->sequence == other->sequence;
}

static uint32_t bucket_of(const struct rf_message_name *name) {
    uint64_t key = (uint64_t)(uint32_t)name->first << 32 | (uint32_t)name->second;
    return (uint32_t)(rf_handle_hash(key) >> 59);
}

_Static_assert(RF_HOLD_BUCKETS == 1 << (64 - 59), "as many buckets as numbers of 5 bits");

static struct rf_message *unlink_from(struct rf_hold *hold, uint32_t bucket,
                                      struct rf_message *before, struct rf_message *message) {
    if (before)
        before->next = message->next;
    else
        hold->buckets[bucket].first = message->next;
    if (hold->buckets[bucket].last == message)
        hold->buckets[bucket].last = before;
    return message;
}

static struct rf_message *take_oldest(struct rf_hold *hold) {
    uint32_t oldest = RF_HOLD_BUCKETS;
    for (uint32_t i = 0; i < RF_HOLD_BUCKETS; i++)
        if (hold->buckets[i].first &&
            (oldest == RF_HOLD_BUCKETS ||
             hold->buckets[i].first->place < hold->buckets[oldest].first->place))
            oldest = i;
    return oldest == RF_HOLD_BUCKETS ? NULL
                                     : unlink_from(hold, oldest, NULL, hold->buckets[oldest].first);
}

/* What a message was cut to is all that is known of it. */
static struct rf_message *take_longer(struct rf_hold *hold, const struct rf_message_name *name) {
    size_t size = (size_t)(-1 - name->second);
    for (uint32_t bucket = 0; bucket < RF_HOLD_BUCKETS; bucket++) {
        struct rf_message *before = NULL;
        for (struct rf_message *message = hold->buckets[bucket].first; message;
             before = message, message = message->next)
            if (message->size > size && rf_contents_name(message->data, size) == name->first)
                return unlink_from(hold, bucket, before, message);
    }
    return NULL;
}

static struct rf_message *take(struct rf_hold *hold, const struct rf_message_name *name) {
    if (!name)
        return take_oldest(hold);
    if (!rf_reals.origin && name->second < 0)
        return take_longer(hold, name);
    uint32_t bucket = bucket_of(name);
    struct rf_message *before = NULL;
    for (struct rf_message *message = hold->buckets[bucket].first; message;
         before = message, message = message->next)
        if (same(&message->name, name))
            return unlink_from(hold, bucket, before, message);
    return NULL;
}

struct rf_message *rf_hold_take(struct rf_hold *hold, const struct rf_message_name *name) {
    if (hold->shared)
        rf_lock(&hold->lock);
    struct rf_message *message = take(hold, name);
    if (hold->shared)
        rf_unlock(&hold->lock);
    return message;
}

static void keep(struct rf_hold *hold, size_t size) {
    struct rf_message *message = rf_room(NULL, sizeof *message + size);
    message->next = NULL;
    message->name = rf_delivered(hold->buffer, size, false);
    message->place = hold->come++;
    message->size = size;
    memcpy(message->data, hold->buffer, size);
    uint32_t bucket = bucket_of(&message->name);
    if (hold->buckets[bucket].last)
        hold->buckets[bucket].last->next = message;
    else
        hold->buckets[bucket].first = message;
    hold->buckets[bucket].last = message;
}

static void make_room(struct rf_hold *hold, mcapi_endpoint_t endpoint) {
    mcapi_endp_attr_max_payload_size_t largest = 0;
    mcapi_status_t status = MCAPI_ERR_GENERAL;
    if (hold->buffer)
        return;
    if (rf_reals.attributes)
        rf_reals.endpoint_get_attribute(endpoint, MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, &largest,
                                        sizeof largest, &status);
    hold->room = status == MCAPI_SUCCESS && largest > 0 ? (size_t)largest : LARGEST_UNKNOWN;
    hold->buffer = rf_room(NULL, hold->room);
}

/* True if a message has come: it is in the buffer. */
static bool receive(struct rf_hold *hold, mcapi_endpoint_t endpoint, mcapi_timeout_t timeout,
                    size_t *size, mcapi_status_t *status) {
    make_room(hold, endpoint);
    /* A look that leaves no request behind: the program may need all that there are. */
    if (!hold->asked && timeout == MCAPI_TIMEOUT_IMMEDIATE && rf_reals.origin) {
        timeout = MCAPI_TIMEOUT_INFINITE;
        if (!rf_reals.msg_available(endpoint, status)) {
            *status = *status == MCAPI_SUCCESS ? MCAPI_TIMEOUT : *status;
            return false;
        }
    }
    if (!hold->asked && timeout == MCAPI_TIMEOUT_INFINITE) {
        rf_reals.msg_recv(endpoint, hold->buffer, hold->room, size, status);
        return *status == MCAPI_SUCCESS;
    }
    if (!hold->asked) {
        rf_reals.msg_recv_i(endpoint, hold->buffer, hold->room, &hold->request, status);
        if (rf_is_failure(*status))
            return false;
        hold->asked = true;
    }
    rf_reals.wait(&hold->request, size, timeout == MCAPI_TIMEOUT_INFINITE ? RF_TICK_MS : timeout,
                  status);
    if (*status == MCAPI_TIMEOUT)
        return false;
    hold->asked = false;
    return *status == MCAPI_SUCCESS;
}

/* Another thread gets what comes. */
static bool wait_for_bell(struct rf_hold *hold, uint32_t seen, mcapi_timeout_t timeout,
                          mcapi_status_t *status) {
    struct timespec time = {timeout / 1000, (long)(timeout % 1000) * 1000000};
    *status = MCAPI_TIMEOUT;
    __atomic_fetch_add(&hold->waiting, 1, __ATOMIC_SEQ_CST);
    if (timeout)
        syscall(SYS_futex, &hold->bell, FUTEX_WAIT_PRIVATE, seen,
                timeout == MCAPI_TIMEOUT_INFINITE ? NULL : &time, NULL, 0);
    __atomic_fetch_sub(&hold->waiting, 1, __ATOMIC_SEQ_CST);
    return timeout == MCAPI_TIMEOUT_INFINITE || rf_hold_seen(hold) != seen;
}

uint32_t rf_hold_seen(const struct rf_hold *hold) {
    return __atomic_load_n(&hold->bell, __ATOMIC_ACQUIRE);
}

/* One of several threads gets what comes, for all. */
static bool pull_shared(struct rf_hold *hold, mcapi_endpoint_t endpoint, uint32_t seen,
                        mcapi_timeout_t timeout, mcapi_status_t *status) {
    rf_lock(&hold->lock);
    bool more = hold->bell != seen, other = hold->pulling, closed = hold->closed;
    hold->pulling = other || (!more && !closed);
    rf_unlock(&hold->lock);
    *status = MCAPI_ERR_ENDP_INVALID;
    if (closed)
        return false;
    if (more || other)
        return more || wait_for_bell(hold, seen, timeout, status);
    size_t size = 0;
    bool came = receive(hold, endpoint, timeout, &size, status);
    rf_lock(&hold->lock);
    if (came)
        keep(hold, size);
    hold->pulling = false;
    __atomic_fetch_add(&hold->bell, 1, __ATOMIC_SEQ_CST);
    rf_unlock(&hold->lock);
    if (__atomic_load_n(&hold->waiting, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &hold->bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return came;
}

bool rf_hold_pull(struct rf_hold *hold, mcapi_endpoint_t endpoint, uint32_t seen,
                  mcapi_timeout_t timeout, mcapi_status_t *status) {
    if (hold->shared)
        return pull_shared(hold, endpoint, seen, timeout, status);
    size_t size = 0;
    bool came = receive(hold, endpoint, timeout, &size, status);
    if (came)
        keep(hold, size);
    return came;
}

uint32_t rf_hold_count(struct rf_hold *hold) {
    uint32_t count = 0;
    if (hold->shared)
        rf_lock(&hold->lock);
    for (uint32_t i = 0; i < RF_HOLD_BUCKETS; i++)
        for (const struct rf_message *message = hold->buckets[i].first; message;
             message = message->next)
            count++;
    if (hold->shared)
        rf_unlock(&hold->lock);
    return count;
}

/* Whichever thread waits for something takes in what comes to any endpoint. */
static void keep_out(struct rf_hold *hold) {
    for (bool pulling = true; pulling;) {
        rf_lock(&hold->lock);
        hold->closed = true;
        pulling = hold->pulling;
        rf_unlock(&hold->lock);
        if (pulling)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

void rf_hold_close(struct rf_hold *hold) {
    mcapi_status_t status;
    if (hold->shared)
        keep_out(hold);
    if (hold->asked)
        rf_reals.cancel(&hold->request, &status);
    struct rf_message *message;
    while ((message = rf_hold_take(hold, NULL)))
        free(message);
    free(hold->buffer);
    hold->buffer = NULL;
    hold->asked = false;
}
