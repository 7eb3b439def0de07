#include "trace/checksum.h"

#include <string.h>

enum rf_checksum rf_checksum_named(const char *name) {
    if (name && strcmp(name, "xor") == 0)
        return RF_CHECKSUM_XOR;
    return name && strcmp(name, "crc32c") == 0 ? RF_CHECKSUM_CRC32C : RF_CHECKSUM_NONE;
}

uint32_t rf_checksum_xor(const void *data, size_t size) {
    const unsigned char *bytes = data;
    uint64_t lanes[4] = {0};
    for (; size >= sizeof lanes; size -= sizeof lanes, bytes += sizeof lanes) {
        uint64_t words[4];
        memcpy(words, bytes, sizeof words);
        for (int i = 0; i < 4; i++)
            lanes[i] ^= words[i];
    }
    uint64_t sum = lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
    uint32_t result = (uint32_t)sum ^ (uint32_t)(sum >> 32);
    for (uint32_t word; size; size -= size < 4 ? size : 4, bytes += 4) {
        word = 0;
        memcpy(&word, bytes, size < 4 ? size : 4);
        result ^= word;
    }
    return result;
}

#define POLYNOMIAL 0x82f63b78u /* bits reversed */

static uint32_t by_bits(uint32_t crc, const unsigned char *bytes, size_t size) {
    while (size--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    }
    return crc;
}

#if defined(__x86_64__)

/* The instruction takes three cycles but can start in each, so three streams run side by side. What
   a stream's checksum becomes after the bytes of the streams behind it is a product of a matrix,
   kept as four tables. */
#    define STREAM ((size_t)4096)

static uint32_t shifted[4][256];

static uint32_t after_zeros(uint32_t crc, size_t zeros) {
    static const unsigned char none[64];
    for (; zeros; zeros -= zeros < sizeof none ? zeros : sizeof none)
        crc = by_bits(crc, none, zeros < sizeof none ? zeros : sizeof none);
    return crc;
}

/* A millisecond, once, in a process that needs them. Threads that do it together write the same. */
static void make_tables(void) {
    static int made;
    if (__atomic_load_n(&made, __ATOMIC_ACQUIRE))
        return;
    uint32_t bit[32];
    for (int i = 0; i < 32; i++)
        bit[i] = after_zeros(1u << i, STREAM);
    for (int byte = 0; byte < 4; byte++)
        for (unsigned value = 0; value < 256; value++) {
            uint32_t sum = 0;
            for (int i = 0; i < 8; i++)
                sum ^= value >> i & 1 ? bit[8 * byte + i] : 0;
            __atomic_store_n(&shifted[byte][value], sum, __ATOMIC_RELAXED);
        }
    __atomic_store_n(&made, 1, __ATOMIC_RELEASE);
}

static uint32_t past_stream(uint64_t crc) {
    return shifted[0][crc & 0xff] ^ shifted[1][crc >> 8 & 0xff] ^ shifted[2][crc >> 16 & 0xff] ^
           shifted[3][crc >> 24 & 0xff];
}

static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const unsigned char *bytes, size_t size) {
    uint64_t sum = crc;
    if (size >= 3 * STREAM)
        make_tables();
    for (; size >= 3 * STREAM; size -= 3 * STREAM, bytes += 3 * STREAM) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < STREAM; i += 8) {
            sum = __builtin_ia32_crc32di(sum, word_at(bytes + i));
            second = __builtin_ia32_crc32di(second, word_at(bytes + STREAM + i));
            third = __builtin_ia32_crc32di(third, word_at(bytes + 2 * STREAM + i));
        }
        sum = past_stream(past_stream(sum) ^ second) ^ third;
    }
    for (; size >= 8; size -= 8, bytes += 8)
        sum = __builtin_ia32_crc32di(sum, word_at(bytes));
    for (; size; size--, bytes++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *bytes);
    return (uint32_t)sum;
}

uint32_t rf_checksum_crc32c(const void *data, size_t size) {
    uint32_t crc = __builtin_cpu_supports("sse4.2") ? by_instruction(~0u, data, size)
                                                    : by_bits(~0u, data, size);
    return ~crc;
}

#else

uint32_t rf_checksum_crc32c(const void *data, size_t size) {
    return ~by_bits(~0u, data, size);
}

#endif

uint32_t rf_checksum(enum rf_checksum kind, const void *data, size_t size) {
    return kind == RF_CHECKSUM_XOR ? rf_checksum_xor(data, size) : rf_checksum_crc32c(data, size);
}
