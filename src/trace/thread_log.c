#include "thread_log.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t rf_thread_log_check(const struct rf_thread_log_head *head) {
    return XXH3_64bits(head, offsetof(struct rf_thread_log_head, check));
}

uint32_t rf_thread_log_site_check(const struct rf_thread_log_site *site, uint32_t number) {
    struct rf_thread_log_site copy = *site;
    copy.check = number;
    return (uint32_t)XXH3_64bits(&copy, sizeof copy);
}

uint64_t rf_thread_log_chunk_check(const void *chunk, uint32_t bytes, uint64_t offset) {
    const size_t rest = sizeof(struct rf_thread_log_chunk) - sizeof(uint64_t);
    return XXH3_64bits_withSeed((const char *)chunk + sizeof(uint64_t), rest + bytes, offset);
}

uint64_t rf_thread_log_seal_of(const void *begin, size_t bytes) {
    const size_t seal = offsetof(struct rf_thread_log_head, seal), rest = seal + sizeof(uint64_t);
    uint64_t before = XXH3_64bits(begin, seal);
    return XXH3_64bits_withSeed((const char *)begin + rest, bytes - rest, before);
}
