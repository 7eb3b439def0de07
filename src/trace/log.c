#include "log.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define VALUE_MASK ((1ull << 48) - 1)

uint64_t rf_seal(uint64_t value) {
    value &= VALUE_MASK;
    return value | XXH3_64bits(&value, sizeof value) << 48;
}

bool rf_unseal(uint64_t word, uint64_t *value) {
    *value = word & VALUE_MASK;
    return rf_seal(*value) == word;
}

uint64_t rf_log_fixed_check(const struct rf_log *log) {
    return XXH3_64bits(log, offsetof(struct rf_log, check));
}

/* The number of a record is part of its checksum, so records cannot trade places. */
uint32_t rf_log_site_check(const struct rf_log_site *site, uint32_t number) {
    struct rf_log_site copy = *site;
    copy.check = 0;
    return (uint32_t)XXH3_64bits_withSeed(&copy, sizeof copy, number + 1);
}

uint32_t rf_log_module_check(const struct rf_log_module *module, uint32_t number) {
    return (uint32_t)XXH3_64bits_withSeed(module, offsetof(struct rf_log_module, check),
                                          number + 1);
}

uint32_t rf_log_name_check(const struct rf_log_name *name, uint32_t number) {
    return (uint32_t)XXH3_64bits_withSeed(name, offsetof(struct rf_log_name, check), number + 1);
}

uint32_t rf_log_flight_check(const struct rf_log *log) {
    uint32_t words[2] = {log->flight_source, log->flight_tag};
    return (uint32_t)XXH3_64bits(words, sizeof words);
}

uint32_t rf_log_reason_check(const char reason[128]) {
    return (uint32_t)XXH3_64bits(reason, 128);
}

static void copy_text(char *to, size_t room, const char *from, size_t limit) {
    size_t length = strnlen(from, limit);
    if (length >= room)
        length = room - 1;
    memset(to, 0, room);
    memcpy(to, from, length);
}

void rf_log_put_node(struct rf_log_node *to, const struct rf_node *from) {
    to->rank = from->rank;
    to->size = from->size;
    to->thread_level = from->thread_level;
    to->pid = from->pid;
    to->started_ns = from->started_ns;
    copy_text(to->host, sizeof to->host, from->host, sizeof from->host);
    copy_text(to->adapter, sizeof to->adapter, from->adapter, sizeof from->adapter);
    copy_text(to->library, sizeof to->library, from->library, sizeof from->library);
    copy_text(to->scheme, sizeof to->scheme, from->scheme, sizeof from->scheme);
}

void rf_log_get_node(struct rf_node *to, const struct rf_log_node *from) {
    memset(to, 0, sizeof *to);
    to->rank = from->rank;
    to->size = from->size;
    to->thread_level = from->thread_level;
    to->pid = from->pid;
    to->started_ns = from->started_ns;
    copy_text(to->host, sizeof to->host, from->host, sizeof from->host);
    copy_text(to->adapter, sizeof to->adapter, from->adapter, sizeof from->adapter);
    copy_text(to->library, sizeof to->library, from->library, sizeof from->library);
    copy_text(to->scheme, sizeof to->scheme, from->scheme, sizeof from->scheme);
}

uint32_t rf_segment_used(const struct rf_entry *slots) {
    uint32_t at = 0;
    while (at < RF_SEGMENT_SLOTS) {
        uint32_t take = rf_entry_slots(&slots[at], RF_SEGMENT_SLOTS - at);
        if (!take)
            break;
        at += take;
    }
    return at;
}
