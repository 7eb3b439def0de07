#include "contents_format.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t rf_contents_seal(uint64_t length, uint64_t digest) {
    return length | XXH3_64bits_withSeed(&length, sizeof length, digest) << 48;
}

uint64_t rf_contents_head_check(const struct rf_contents_head *head) {
    return XXH3_64bits(head, offsetof(struct rf_contents_head, check));
}

uint64_t rf_contents_chunk_check(const struct rf_contents_chunk *chunk, const void *payload) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, chunk, offsetof(struct rf_contents_chunk, check));
    if (chunk->stored)
        XXH3_64bits_update(&state, payload, chunk->stored);
    return XXH3_64bits_digest(&state);
}

bool rf_contents_tail_name(char *to, size_t room, const char *path, struct rf_error *error) {
    if ((size_t)snprintf(to, room, "%s.tail", path) < room)
        return true;
    return rf_fail(error, RF_EXIT_ENVIRONMENT, "%.500s...: the path is too long", path);
}
