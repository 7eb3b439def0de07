/* Plain numbers of variable length: seven bits a byte, lowest first, the high bit says "more". */
#ifndef RF_TRACE_VARINT_H
#define RF_TRACE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#define RF_VARINT_BYTES ((size_t)10)

static inline uint8_t *rf_varint_put(uint8_t *at, uint64_t value) {
    while (value >= 128) {
        *at++ = (uint8_t)(value | 128);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline bool rf_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*at == end)
            return false;
        uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return true;
    }
    return false;
}

static inline uint32_t rf_zigzag(int32_t value) {
    return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
}
static inline int32_t rf_unzigzag(uint32_t value) {
    return (int32_t)(value >> 1 ^ (0u - (value & 1)));
}

#endif
