/* Attributes of endpoints: one table says what each is, who may change it and to what. */
#include <string.h>

#include "api.h"

enum access { READ_ONLY, SETTABLE, COMPUTED };

static const struct {
    uint32_t size;
    enum access access;
    size_t offset; /* in struct mc_attributes */
} table[MCAPI_ENDP_ATTR_END] = {
    [MCAPI_ENDP_ATTR_TYPE] = {sizeof(mcapi_endp_attr_type_t), SETTABLE,
                              offsetof(struct mc_attributes, type)},
    [MCAPI_ENDP_ATTR_GET_COUNT] = {sizeof(mcapi_endp_attr_get_count_t), COMPUTED, 0},
    [MCAPI_ENDP_ATTR_GET_SOURCE] = {sizeof(mcapi_endp_attr_get_source_t), COMPUTED, 0},
    [MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE] = {sizeof(mcapi_endp_attr_max_payload_size_t), SETTABLE,
                                          offsetof(struct mc_attributes, max_payload)},
    [MCAPI_ENDP_ATTR_BUFFER_TYPE] = {sizeof(mcapi_endp_attr_buffer_type_t), SETTABLE,
                                     offsetof(struct mc_attributes, buffer_type)},
    [MCAPI_ENDP_ATTR_MEMORY_TYPE] = {sizeof(mcapi_endp_attr_memory_type_t), SETTABLE,
                                     offsetof(struct mc_attributes, memory_type)},
    [MCAPI_ENDP_ATTR_NUM_PRIORITIES] = {sizeof(mcapi_endp_attr_num_priorities_t), READ_ONLY,
                                        offsetof(struct mc_attributes, priorities)},
    [MCAPI_ENDP_ATTR_PRIORITY] = {sizeof(mcapi_endp_attr_priority_t), SETTABLE,
                                  offsetof(struct mc_attributes, priority)},
    [MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS] = {sizeof(mcapi_endp_attr_num_send_buffers_t), COMPUTED, 0},
    [MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS] = {sizeof(mcapi_endp_attr_num_recv_buffers_t), COMPUTED, 0},
    [MCAPI_ENDP_ATTR_ENDP_STATUS] = {sizeof(mcapi_endp_attr_status_t), COMPUTED, 0},
    [MCAPI_ENDP_ATTR_TIMEOUT] = {sizeof(mcapi_endp_attr_timeout_t), SETTABLE,
                                 offsetof(struct mc_attributes, timeout)},
};

/* What can be wrong with any access to an attribute. */
static uint32_t check(mcapi_uint_t number, const void *value, size_t size) {
    if (!value)
        return MCAPI_ERR_PARAMETER;
    /* Numbers that the specification keeps for itself are known but have no meaning yet. */
    if (number >= MCAPI_ENDP_ATTR_END)
        return number < 64 ? MCAPI_ERR_ATTR_NOTSUPPORTED : MCAPI_ERR_ATTR_NUM;
    return size == table[number].size ? MCAPI_SUCCESS : MCAPI_ERR_ATTR_SIZE;
}

/* ---- reading ------------------------------------------------------------------------------ */

static uint32_t status_flags(uint64_t word) {
    static const struct {
        uint32_t ours, theirs;
    } names[] = {{MC_CHANNEL_CONNECTED, MCAPI_ENDP_ATTR_STATUS_CONNECTED},
                 {MC_CHANNEL_OPEN, MCAPI_ENDP_ATTR_STATUS_OPEN},
                 {MC_CHANNEL_CLOSED, MCAPI_ENDP_ATTR_STATUS_CLOSE_PENDING},
                 {MC_CHANNEL_PACKET, MCAPI_ENDP_ATTR_STATUS_PKTCHAN},
                 {MC_CHANNEL_SCALAR, MCAPI_ENDP_ATTR_STATUS_SCLCHAN},
                 {MC_CHANNEL_SEND, MCAPI_ENDP_ATTR_STATUS_SEND},
                 {MC_CHANNEL_RECEIVE, MCAPI_ENDP_ATTR_STATUS_RECEIVE}};
    uint32_t flags = mc_channel_flags(word), result = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].ours)
            result |= names[i].theirs;
    if (flags & MC_CHANNEL_OPENING && !(flags & MC_CHANNEL_OPEN))
        result |= MCAPI_ENDP_ATTR_STATUS_OPEN_PENDING;
    return result;
}

/* Free slots of the endpoint's least used queue that its next message would go to. */
static uint32_t free_slots(const struct mc_segment *segment, uint32_t place, uint32_t which) {
    uint32_t length = segment->limits.queue_length;
    uint32_t used = mc_queue_count(mc_queue_at(segment, place, which),
                                   mc_slots_at(segment, place, which), segment->queue_shift);
    return length - used;
}

static void compute(const struct mc_segment *segment, const struct mc_endpoint *endpoint,
                    uint32_t place, mcapi_uint_t number, void *value) {
    uint64_t word = mc_channel_load(endpoint);
    uint32_t which = mc_channel_flags(word) & MC_CHANNEL_CONNECTED ? mc_channel_queue(segment)
                                                                   : endpoint->attributes.priority;
    uint64_t getter = __atomic_load_n(&endpoint->get_source, __ATOMIC_RELAXED);
    mcapi_endp_attr_get_source_t source = {(uint32_t)(getter >> 32), (uint32_t)getter};
    uint32_t result = 0;
    if (number == MCAPI_ENDP_ATTR_GET_SOURCE) {
        memcpy(value, &source, sizeof source);
        return;
    }
    if (number == MCAPI_ENDP_ATTR_GET_COUNT)
        result = __atomic_load_n(&endpoint->get_count, __ATOMIC_RELAXED);
    else if (number == MCAPI_ENDP_ATTR_ENDP_STATUS)
        result = status_flags(word);
    else if (number == MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS)
        result = free_slots(segment, place, which);
    else if (number == MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS)
        result = segment->limits.queue_length;
    memcpy(value, &result, sizeof result);
}

MC_API void mcapi_endpoint_get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number,
                                         void *attribute, size_t size, mcapi_status_t *status) {
    if (!status)
        return;
    if (!mc_current()) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    const struct mc_endpoint *shared = mc_endpoint_find(segment, endpoint);
    *status = shared ? check(number, attribute, size) : MCAPI_ERR_ENDP_INVALID;
    if (*status != MCAPI_SUCCESS)
        return;
    if (table[number].access == COMPUTED)
        compute(segment, shared, endpoint & MC_INDEX_MASK, number, attribute);
    else
        memcpy(attribute, (const char *)&shared->attributes + table[number].offset, size);
}

/* ---- writing ------------------------------------------------------------------------------ */

static bool good_value(const struct mc_segment *segment, mcapi_uint_t number, uint32_t value) {
    switch (number) {
    case MCAPI_ENDP_ATTR_TYPE:
        return value == MCAPI_ENDP_ATTR_TYPE_MESSAGE || value == MCAPI_ENDP_ATTR_TYPE_PKTCHAN ||
               value == MCAPI_ENDP_ATTR_TYPE_SCLCHAN;
    case MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE:
        return value >= 1 && value <= segment->limits.max_message;
    case MCAPI_ENDP_ATTR_BUFFER_TYPE:
        return value == MCAPI_ENDP_ATTR_FIFO_BUFFER;
    case MCAPI_ENDP_ATTR_MEMORY_TYPE:
        return (value & 0xffff) <= MCAPI_ENDP_ATTR_REMOTE_MEMORY &&
               (value & 0xffff0000) <= MCAPI_ENDP_ATTR_FAIL_ON_MEM_LIMIT;
    case MCAPI_ENDP_ATTR_PRIORITY:
        return value < segment->limits.priorities;
    default:
        return true;
    }
}

MC_API void mcapi_endpoint_set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number,
                                         const void *attribute, size_t size,
                                         mcapi_status_t *status) {
    if (!status)
        return;
    const struct mc_local_node *node = mc_current();
    if (!node) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    struct mc_segment *segment = mc_the_job.segment;
    struct mc_endpoint *shared = mc_endpoint_find(segment, endpoint);
    *status = shared ? check(number, attribute, size) : MCAPI_ERR_ENDP_INVALID;
    if (*status != MCAPI_SUCCESS)
        return;
    uint32_t value;
    memcpy(&value, attribute, sizeof value);
    if (!mc_own_endpoint(node, endpoint)) {
        *status = MCAPI_ERR_ENDP_REMOTE;
    } else if (table[number].access != SETTABLE) {
        *status = MCAPI_ERR_ATTR_READONLY;
    } else if (!good_value(segment, number, value)) {
        *status = MCAPI_ERR_ATTR_VALUE;
    } else {
        mc_segment_lock(segment);
        /* The two ends of a channel agreed on them when it was made. The time limit is this end's
           own business. */
        if (mc_channel_flags(shared->channel) && number != MCAPI_ENDP_ATTR_TIMEOUT)
            *status = MCAPI_ERR_CHAN_CONNECTED;
        else
            memcpy((char *)&shared->attributes + table[number].offset, &value, sizeof value);
        mc_segment_unlock(segment);
    }
}
