#include "mcapi/packets.h"

#include <stdlib.h>
#include <time.h>

#include "mcapi/adapter.h"

/* Where threads are told apart each has its own. */
static uint32_t *next_of(struct rf_mcapi_node *node, uint64_t channel) {
    return rf_value_of(node->session.shared ? &rf_this_thread->lines[RF_LINE_PACKETS]
                                            : &node->packets.next,
                       channel, 0);
}

void rf_record_packet_number(struct rf_mcapi_node *node, const struct rf_here *here,
                             uint64_t channel, uint32_t number) {
    uint32_t *next = next_of(node, channel);
    if (__builtin_expect(number != *next || node->session.shared, 0))
        rf_number(node, here, (int32_t)(number - *next));
    *next = number + 1;
}

uint32_t rf_packet_number(struct rf_mcapi_node *node, const struct rf_here *here,
                          uint64_t channel) {
    uint32_t *next = next_of(node, channel), number = *next;
    if (rf_has_number(node, here))
        number += (uint32_t)rf_number(node, here, 0);
    *next = number + 1;
    return number;
}

static struct rf_packet *take(struct rf_mcapi_node *node, uint64_t channel,
                              const uint32_t *number) {
    struct rf_packet *packet = NULL;
    rf_tables_lock(node);
    for (struct rf_packet **at = &node->packets.first; *at && !packet; at = &(*at)->next)
        if ((*at)->channel == channel && (!number || (*at)->number == *number)) {
            packet = *at;
            *at = packet->next;
            break;
        }
    rf_tables_unlock(node);
    return packet;
}

/* They stay in the order in which they came. */
static void keep(struct rf_mcapi_node *node, uint64_t channel, void *data, size_t size) {
    struct mcapix_origin origin;
    struct rf_packet *packet = rf_room(NULL, sizeof *packet);
    bool numbered = rf_reals.origin && rf_reals.origin(&origin);
    rf_tables_lock(node);
    uint32_t come = (*rf_value_of(&node->packets.come, channel, 0))++;
    *packet = (struct rf_packet){.channel = channel,
                                 .number = numbered ? (uint32_t)origin.sequence : come,
                                 .data = data,
                                 .size = size};
    struct rf_packet **end = &node->packets.first;
    while (*end)
        end = &(*end)->next;
    *end = packet;
    rf_tables_unlock(node);
}

/* Past the end of the recording it is the program that decides how long to wait. */
static bool is_there(uint64_t channel, mcapi_timeout_t timeout, mcapi_status_t *status) {
    for (mcapi_timeout_t passed = 0;; passed++) {
        unsigned count = rf_reals.pktchan_available(channel, status);
        if (count || *status != MCAPI_SUCCESS || timeout == MCAPI_TIMEOUT_INFINITE)
            return true;
        *status = MCAPI_TIMEOUT;
        if (passed >= timeout)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* One thread at a time gets what comes, for all. True if it was this one. */
static bool pull(struct rf_mcapi_node *node, uint64_t channel, void **data, size_t *size,
                 mcapi_status_t *status) {
    rf_tables_lock(node);
    uint32_t *pulling = rf_value_of(&node->packets.pulling, channel, 0);
    bool mine = !*pulling;
    *pulling = 1;
    rf_tables_unlock(node);
    if (!mine) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        return false;
    }
    rf_reals.pktchan_recv(channel, data, size, status);
    if (*status == MCAPI_SUCCESS)
        keep(node, channel, *data, *size);
    rf_tables_lock(node);
    *rf_value_of(&node->packets.pulling, channel, 0) = 0;
    rf_tables_unlock(node);
    return true;
}

bool rf_packet_get(struct rf_mcapi_node *node, const struct rf_here *here, uint64_t channel,
                   const uint32_t *number, mcapi_timeout_t timeout, void **data, size_t *size,
                   mcapi_status_t *status) {
    struct rf_packet *packet;
    bool failed = false; /* and yet another thread may have got it */
    rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    __atomic_fetch_add(&node->waiting[RF_LINE_PACKETS], 1, __ATOMIC_RELAXED);
    rf_channel_opened(node, here, channel);
    while (!(packet = take(node, channel, number)) && (!failed || rf_again(node, here, *status))) {
        if (rf_free(node) && !is_there(channel, timeout, status))
            break;
        failed = pull(node, channel, data, size, status) && *status != MCAPI_SUCCESS;
    }
    __atomic_fetch_sub(&node->waiting[RF_LINE_PACKETS], 1, __ATOMIC_RELAXED);
    if (!packet) {
        if (*status != MCAPI_TIMEOUT)
            *status = MCAPI_ERR_CHAN_NOTOPEN;
        return *status != MCAPI_TIMEOUT;
    }
    *status = MCAPI_SUCCESS;
    *data = packet->data;
    *size = packet->size;
    free(packet);
    return true;
}

uint32_t rf_packets_count(struct rf_mcapi_node *node, uint64_t channel) {
    uint32_t count = 0;
    rf_tables_lock(node);
    for (const struct rf_packet *packet = node->packets.first; packet; packet = packet->next)
        count += packet->channel == channel;
    rf_tables_unlock(node);
    return count;
}

void rf_packets_expect(struct rf_mcapi_node *node, uint64_t channel) {
    rf_tables_lock(node);
    rf_value_of(&node->packets.open, channel, 1);
    rf_tables_unlock(node);
}

/* The channel in that place of the table, 0 if it is empty. */
static uint64_t open_at(struct rf_mcapi_node *node, uint32_t place, bool *end) {
    const struct rf_handle_map *map = &node->packets.open;
    rf_tables_lock(node);
    *end = !map->slots || place > map->mask;
    uint64_t key = *end ? 0 : map->slots[place].key;
    rf_tables_unlock(node);
    return key ? key - 1 : 0;
}

bool rf_packets_hold(struct rf_mcapi_node *node) {
    bool any = false, end = !rf_reals.origin;
    for (uint32_t i = 0; !end; i++) {
        uint64_t channel = open_at(node, i, &end);
        mcapi_status_t status = MCAPI_SUCCESS;
        void *data;
        size_t size;
        while (channel && rf_packets_count(node, channel) < rf_packets_awaited(node, channel) &&
               rf_reals.pktchan_available(channel, &status) &&
               pull(node, channel, &data, &size, &status) && status == MCAPI_SUCCESS)
            any = true;
    }
    return any;
}

void rf_packets_drop(struct rf_mcapi_node *node, uint64_t channel) {
    struct rf_packet *packet;
    mcapi_status_t ignored;
    rf_tables_lock(node);
    rf_handle_remove(&node->packets.open, channel + 1);
    rf_tables_unlock(node);
    while ((packet = take(node, channel, NULL))) {
        rf_reals.pktchan_release(packet->data, &ignored);
        free(packet);
    }
}
