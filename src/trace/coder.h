/* An adaptive binary range coder and the number model on top of it. One function codes both ways:
   `encoding` is a constant wherever these are used, so each direction gets its own code. */
#ifndef RF_TRACE_CODER_H
#define RF_TRACE_CODER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RF_INLINE static inline __attribute__((always_inline))

/* One coded column. The decoder reads zeros past its end. */
struct rf_stream {
    uint32_t low, high, value;
    bool overflow; /* encoding: the room was too small */
    uint8_t *at, *end, *begin;
};

/* The probability of a one, learnt at two speeds. The low four bits of `fast` count the bits seen,
   up to 15: a young node learns at 1/(n + 1.5). */
struct rf_node_bit {
    uint16_t fast, slow;
};

#define RF_BIT_START 0x8000u

extern const uint16_t rf_rate_fast[16], rf_rate_slow[16], rf_trust[16];

RF_INLINE void rf_stream_write(struct rf_stream *stream, uint8_t *buffer, size_t room) {
    *stream =
        (struct rf_stream){.high = UINT32_MAX, .at = buffer, .begin = buffer, .end = buffer + room};
}

RF_INLINE uint8_t rf_stream_byte(struct rf_stream *stream) {
    return stream->at < stream->end ? *stream->at++ : 0;
}

RF_INLINE void rf_stream_read(struct rf_stream *stream, const uint8_t *buffer, size_t bytes) {
    uint8_t *at = (uint8_t *)(uintptr_t)buffer; /* never written when decoding */
    *stream = (struct rf_stream){.high = UINT32_MAX, .at = at, .begin = at, .end = at + bytes};
    for (int i = 0; i < 4; i++)
        stream->value = stream->value << 8 | rf_stream_byte(stream);
}

RF_INLINE void rf_stream_emit(struct rf_stream *stream, uint8_t byte) {
    if (__builtin_expect(stream->at == stream->end, 0))
        stream->overflow = true;
    else
        *stream->at++ = byte;
}

/* Codes one bit that is 1 with probability p / 65536, 0 < p < 65536. */
RF_INLINE unsigned rf_code_plain(struct rf_stream *stream, uint32_t p, unsigned bit,
                                 bool encoding) {
    uint32_t middle = stream->low + (uint32_t)((uint64_t)(stream->high - stream->low) * p >> 16);
    if (!encoding)
        bit = stream->value <= middle;
    if (bit)
        stream->high = middle;
    else
        stream->low = middle + 1;
    while (!((stream->low ^ stream->high) >> 24)) {
        if (encoding)
            rf_stream_emit(stream, (uint8_t)(stream->high >> 24));
        else
            stream->value = stream->value << 8 | rf_stream_byte(stream);
        stream->low <<= 8;
        stream->high = stream->high << 8 | 255;
    }
    return bit;
}

/* Ends a stream with as few bytes as decide it; zeros at the end go without saying. */
RF_INLINE void rf_stream_finish(struct rf_stream *stream) {
    if (stream->low) {
        uint32_t top = (stream->low >> 24) + 1;
        if (top <= stream->high >> 24) {
            rf_stream_emit(stream, (uint8_t)top);
        } else {
            for (int shift = 24; shift >= 0; shift -= 8)
                rf_stream_emit(stream, (uint8_t)(stream->low >> shift));
        }
    }
    while (stream->at > stream->begin && !stream->at[-1])
        stream->at--;
}

RF_INLINE uint32_t rf_bit_chance(const struct rf_node_bit *node) {
    return ((uint32_t)(node->fast & 0xfff0u) + node->slow) >> 1;
}

RF_INLINE void rf_bit_learn(struct rf_node_bit *node, unsigned bit) {
    unsigned count = node->fast & 15u;
    int32_t target = bit ? 65535 : 0;
    int32_t fast = node->fast & 0xfff0, slow = node->slow;
    fast += (target - fast) * (int32_t)rf_rate_fast[count] >> 14;
    slow += (target - slow) * (int32_t)rf_rate_slow[count] >> 14;
    node->fast = (uint16_t)((uint32_t)fast & 0xfff0u) | (uint16_t)(count + (count < 15));
    node->slow = (uint16_t)slow;
}

RF_INLINE uint32_t rf_chance_clamp(uint32_t p) {
    return p < 16 ? 16 : p > 65520 ? 65520 : p;
}

RF_INLINE unsigned rf_code_bit(struct rf_stream *stream, struct rf_node_bit *node, unsigned bit,
                               bool encoding) {
    bit = rf_code_plain(stream, rf_chance_clamp(rf_bit_chance(node)), bit, encoding);
    rf_bit_learn(node, bit);
    return bit;
}

/* Two contexts for one bit: the special one is trusted the more, the more it has seen. */
RF_INLINE unsigned rf_code_bit_pair(struct rf_stream *stream, struct rf_node_bit *general,
                                    struct rf_node_bit *special, unsigned bit, bool encoding) {
    int32_t p = (int32_t)rf_bit_chance(general);
    int32_t q = (int32_t)rf_bit_chance(special);
    p += (q - p) * (int32_t)rf_trust[special->fast & 15u] >> 4;
    bit = rf_code_plain(stream, rf_chance_clamp((uint32_t)p), bit, encoding);
    rf_bit_learn(general, bit);
    rf_bit_learn(special, bit);
    return bit;
}

/* Numbers are coded as class and remainder (Elias gamma): n = floor(log2(value + 1)) in unary, then
   the n lower bits. All bits of small numbers are modelled, and the top three of large ones. */
#define RF_CLASSES 34u
#define RF_SMALL_CLASS 6u
struct rf_number {
    uint32_t epoch; /* a model of an earlier chunk starts anew */
    struct rf_node_bit unary[RF_CLASSES];
    struct rf_node_bit small[1u << (RF_SMALL_CLASS + 1)];
    struct rf_node_bit large[RF_CLASSES - RF_SMALL_CLASS][8];
};

RF_INLINE void rf_number_fresh(struct rf_number *model, uint32_t epoch) {
    if (__builtin_expect(model->epoch == epoch, 1))
        return;
    model->epoch = epoch;
    struct rf_node_bit *node = model->unary;
    size_t count = (sizeof *model - offsetof(struct rf_number, unary)) / sizeof *node;
    for (size_t i = 0; i < count; i++)
        node[i] = (struct rf_node_bit){RF_BIT_START, RF_BIT_START};
}

RF_INLINE unsigned rf_number_class(uint64_t value) {
    return 63u - (unsigned)__builtin_clzll(value + 1);
}

/* Codes a value below 2^34 - 1. */
static inline uint64_t rf_code_number(struct rf_stream *stream, struct rf_number *general,
                                      struct rf_number *special, uint64_t value, bool encoding) {
    unsigned wanted = encoding ? rf_number_class(value) : 0, n = 0;
    while (n < RF_CLASSES - 1 &&
           rf_code_bit_pair(stream, &general->unary[n], &special->unary[n], wanted > n, encoding))
        n++;
    uint64_t bits = encoding ? value + 1 - (1ull << n) : 0;
    uint64_t prefix = 1;
    unsigned left = n;
    if (n <= RF_SMALL_CLASS) {
        unsigned base = (1u << n) - 2;
        while (left) {
            left--;
            prefix = prefix << 1 | rf_code_bit_pair(stream, &general->small[base + prefix],
                                                    &special->small[base + prefix],
                                                    bits >> left & 1, encoding);
        }
    } else {
        while (left > n - 3) {
            left--;
            struct rf_node_bit *common = &general->large[n - RF_SMALL_CLASS][prefix];
            struct rf_node_bit *own = &special->large[n - RF_SMALL_CLASS][prefix];
            prefix =
                prefix << 1 | rf_code_bit_pair(stream, common, own, bits >> left & 1, encoding);
        }
        while (left) {
            left--;
            prefix = prefix << 1 | rf_code_plain(stream, 0x8000, bits >> left & 1, encoding);
        }
    }
    return prefix - 1;
}

#endif
