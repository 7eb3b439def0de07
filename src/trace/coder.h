/* A range coder, adaptive bits and symbols, and numbers made of these. One function codes both
   ways: `encoding` is a constant wherever these are used, so each direction gets its own code. */
#ifndef RF_TRACE_CODER_H
#define RF_TRACE_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#    include <emmintrin.h>
#    define RF_LANES 8u
#else
#    define RF_LANES 1u
#endif

#define RF_LEAST_RANGE (1ull << 32)
#define RF_INLINE static inline __attribute__((always_inline))

/* Numbers below `range` are left to tell what comes. `low` is what has been told of them so far
   (encoding), or how far the input lies above that (decoding, which reads zeros past the end). */
struct rf_coder {
    uint64_t low, range;
    uint8_t *at, *end, *begin;
    bool overflow; /* encoding: the room was too small */
};

/* `room` is four bytes at least. */
RF_INLINE void rf_coder_write(struct rf_coder *coder, uint8_t *buffer, size_t room) {
    *coder = (struct rf_coder){
        .range = UINT64_MAX, .at = buffer, .begin = buffer, .end = buffer + room / 4 * 4};
}

RF_INLINE uint32_t rf_coder_word(struct rf_coder *coder) {
    uint32_t word = 0;
    size_t left = (size_t)(coder->end - coder->at);
    memcpy(&word, coder->at, left < 4 ? left : 4);
    coder->at += left < 4 ? left : 4;
    return __builtin_bswap32(word);
}

RF_INLINE void rf_coder_read(struct rf_coder *coder, const uint8_t *buffer, size_t bytes) {
    uint8_t *at = (uint8_t *)(uintptr_t)buffer; /* never written when decoding */
    *coder = (struct rf_coder){.range = UINT64_MAX, .at = at, .begin = at, .end = at + bytes};
    coder->low = (uint64_t)rf_coder_word(coder) << 32;
    coder->low |= rf_coder_word(coder);
}

/* A sum went over the top: one more for the bytes that are out already. */
static inline void rf_coder_carry(uint8_t *at) {
    do
        at--;
    while (!++*at);
}

/* Takes the part from `start` to `start + size`, both in units of which the range has many. */
RF_INLINE void rf_coder_narrow(struct rf_coder *coder, uint64_t unit, uint32_t start, uint32_t size,
                               bool encoding) {
    uint64_t step = unit * start;
    if (encoding) {
        coder->low += step;
        if (__builtin_expect(coder->low < step, 0))
            rf_coder_carry(coder->at);
    } else {
        coder->low -= step;
    }
    coder->range = unit * size;
    if (__builtin_expect(coder->range >= RF_LEAST_RANGE, 1))
        return;
    coder->range <<= 32;
    if (!encoding) {
        coder->low = coder->low << 32 | rf_coder_word(coder);
        return;
    }
    if (coder->at == coder->end) { /* what comes now is never used, but must not go astray */
        coder->overflow = true;
        coder->at = coder->begin;
        coder->low = 0;
    }
    uint32_t word = __builtin_bswap32((uint32_t)(coder->low >> 32));
    memcpy(coder->at, &word, 4);
    coder->at += 4;
    coder->low <<= 32;
}

/* Ends the output with as few bytes as decide it; zeros at the end go without saying. */
static inline void rf_coder_finish(struct rf_coder *coder) {
    uint64_t last = coder->low + (coder->range - 1); /* the highest that will do */
    if (last < coder->low) {
        rf_coder_carry(coder->at);
        last = 0;
    } else {
        uint64_t kept = 0;
        while ((last & kept) < coder->low)
            kept = kept >> 8 | (uint64_t)255 << 56;
        last &= kept;
    }
    for (; last && coder->at < coder->end; last <<= 8)
        *coder->at++ = (uint8_t)(last >> 56);
    coder->overflow |= last != 0;
    while (coder->at > coder->begin && !coder->at[-1])
        coder->at--;
}

/* Up to 16 bits about which nothing is known. */
RF_INLINE uint32_t rf_code_raw(struct rf_coder *coder, unsigned count, uint32_t value,
                               bool encoding) {
    uint64_t unit = coder->range >> count;
    if (!encoding)
        value = (uint32_t)(coder->low / unit) & ((1u << count) - 1);
    rf_coder_narrow(coder, unit, value, 1, encoding);
    return value;
}

/* ---- bits --------------------------------------------------------------------------------- */

/* The probability of a one, learnt at two speeds. The low four bits of `fast` count the bits seen,
   up to 15: a young node learns at 1/(n + 1.5). */
struct rf_node_bit {
    uint16_t fast, slow;
};

#define RF_BIT_START 0x8000u

extern const uint16_t rf_rate_fast[16], rf_rate_slow[16];

RF_INLINE unsigned rf_code_bit(struct rf_coder *coder, struct rf_node_bit *node, unsigned bit,
                               bool encoding) {
    int32_t fast = node->fast & 0xfff0, slow = node->slow;
    uint32_t p = (uint32_t)(fast + slow) >> 1;
    p = p < 16 ? 16 : p > 65520 ? 65520 : p;
    uint64_t unit = coder->range >> 16;
    if (!encoding)
        bit = coder->low < unit * p;
    rf_coder_narrow(coder, unit, bit ? 0 : p, bit ? p : 65536 - p, encoding);
    unsigned count = node->fast & 15u;
    int32_t target = bit ? 65535 : 0;
    fast += (target - fast) * (int32_t)rf_rate_fast[count] >> 14;
    slow += (target - slow) * (int32_t)rf_rate_slow[count] >> 14;
    node->fast = (uint16_t)((uint32_t)fast & 0xfff0u) | (uint16_t)(count + (count < 15));
    node->slow = (uint16_t)slow;
    return bit;
}

/* ---- symbols ------------------------------------------------------------------------------ */

#define RF_SYMBOLS 16u
#define RF_SYMBOL_FULL 32u
#define RF_SYMBOL_LAST_RATE (65535 / 40)

/* Chances of sixteen symbols, as the sums of those below each, of 32768. */
struct rf_symbol {
    uint16_t below[RF_SYMBOLS + 1];
    uint16_t seen; /* up to RF_SYMBOL_FULL */
};

/* Sums with which a symbol is all but certain: the others keep a chance of 2. */
extern const uint16_t rf_symbol_target[RF_SYMBOLS][RF_SYMBOLS];

/* Moves the sums towards the target. This is most of the coder's work, eight sums at a time. */
RF_INLINE void rf_symbol_move(struct rf_symbol *model, unsigned symbol, int16_t rate) {
    const uint16_t *target = rf_symbol_target[symbol];
    for (unsigned i = 0; i < RF_SYMBOLS; i += RF_LANES) {
#ifdef __SSE2__
        __m128i sums = _mm_loadu_si128((const __m128i *)&model->below[i]);
        __m128i distance = _mm_sub_epi16(_mm_loadu_si128((const __m128i *)&target[i]), sums);
        __m128i step = _mm_mulhi_epi16(distance, _mm_set1_epi16(rate));
        _mm_storeu_si128((__m128i *)&model->below[i], _mm_add_epi16(sums, step));
#else
        int32_t distance = (int32_t)target[i] - model->below[i];
        model->below[i] = (uint16_t)(model->below[i] + (distance * rate >> 16));
#endif
    }
}

RF_INLINE void rf_symbol_learn(struct rf_symbol *model, unsigned symbol) {
    int rate = RF_SYMBOL_LAST_RATE;
    if (model->seen < RF_SYMBOL_FULL)
        rate = 65535 / (model->seen++ + 2);
    rf_symbol_move(model, symbol, (int16_t)rate);
}

RF_INLINE uint32_t rf_symbol_blend(const struct rf_symbol *general, const struct rf_symbol *special,
                                   int32_t trust, unsigned i) {
    int32_t g = general->below[i], s = special->below[i];
    return (uint32_t)(g + ((s - g) * trust >> 8));
}

/* A symbol in a context that has not seen much: it is trusted the more, the more it has, and the
   general one for the rest. */
static __attribute__((noinline)) unsigned rf_code_young(struct rf_coder *coder,
                                                        struct rf_symbol *general,
                                                        struct rf_symbol *special, unsigned symbol,
                                                        bool encoding) {
    uint64_t unit = coder->range >> 15;
    int32_t trust = 256 * special->seen / (special->seen + 3);
    if (!encoding) {
        symbol = 0;
        for (unsigned step = RF_SYMBOLS / 2; step; step /= 2)
            if (unit * rf_symbol_blend(general, special, trust, symbol + step) <= coder->low)
                symbol += step;
    }
    uint32_t start = rf_symbol_blend(general, special, trust, symbol);
    uint32_t end = rf_symbol_blend(general, special, trust, symbol + 1);
    rf_coder_narrow(coder, unit, start, end - start, encoding);
    rf_symbol_learn(general, symbol);
    rf_symbol_learn(special, symbol);
    return symbol;
}

/* A symbol in two contexts. In the end the special one is used alone. */
RF_INLINE unsigned rf_code_symbol(struct rf_coder *coder, struct rf_symbol *general,
                                  struct rf_symbol *special, unsigned symbol, bool encoding) {
    if (__builtin_expect(special->seen < RF_SYMBOL_FULL, 0))
        return rf_code_young(coder, general, special, symbol, encoding);
    uint64_t unit = coder->range >> 15;
    if (!encoding) {
        symbol = 0;
        for (unsigned step = RF_SYMBOLS / 2; step; step /= 2)
            symbol += unit * special->below[symbol + step] <= coder->low ? step : 0;
    }
    uint32_t start = special->below[symbol];
    rf_coder_narrow(coder, unit, start, special->below[symbol + 1] - start, encoding);
    rf_symbol_move(special, symbol, RF_SYMBOL_LAST_RATE);
    return symbol;
}

/* ---- numbers ------------------------------------------------------------------------------ */

#define RF_LITERALS 8u     /* values that are told by the first symbol alone */
#define RF_LONG_LENGTH 10u /* lengths from here on take a symbol of their own */
#define RF_LAST_SYMBOL 15u

/* What may follow the first symbol: the length of long ones, and four bits for each of the other
   tokens. */
enum { RF_LENGTH, RF_MANTISSA, RF_REST = RF_MANTISSA + RF_SYMBOLS - RF_LITERALS };

/* What may follow lies apart from the first symbol, the first of all models before the second of
   all: most numbers are small, and what is not touched takes no memory. */
struct rf_number {
    uint32_t epoch;   /* of the chunk in which it was met last */
    uint32_t started; /* a bit for each of the rest */
    struct rf_symbol token;
};

struct rf_model {
    struct rf_number *number;
    struct rf_symbol *rest;
    uint32_t stride; /* from one of the rest to the next */
};

/* Low symbols are the likelier ones. */
#define RF_START(i) (128 * (i) * (2 * RF_SYMBOLS - (i)))
#define RF_START_FOUR(i) RF_START(i), RF_START((i) + 1), RF_START((i) + 2), RF_START((i) + 3)
static const struct rf_symbol rf_symbol_start = {.below = {RF_START_FOUR(0), RF_START_FOUR(4),
                                                           RF_START_FOUR(8), RF_START_FOUR(12),
                                                           RF_START(RF_SYMBOLS)}};

/* Starts the model anew if it is met for the first time in this chunk; most never are. */
RF_INLINE void rf_model_meet(struct rf_number *number, uint32_t epoch) {
    if (__builtin_expect(number->epoch != epoch, 0))
        *number = (struct rf_number){.epoch = epoch, .token = rf_symbol_start};
}

static inline struct rf_symbol *rf_model_rest(const struct rf_model *model, unsigned place) {
    struct rf_symbol *symbol = &model->rest[(size_t)place * model->stride];
    if (!(model->number->started & 1u << place)) {
        model->number->started |= 1u << place;
        *symbol = rf_symbol_start;
    }
    return symbol;
}

RF_INLINE unsigned rf_log2(uint64_t value) {
    return 63u - (unsigned)__builtin_clzll(value | 1);
}

/* What follows the token of a number that is not told by it: the length (of the bits after the
   first 1) if it is long, the first four of these bits, and the rest as it is. */
static __attribute__((noinline)) uint64_t rf_code_tail(struct rf_coder *coder,
                                                       const struct rf_model *g,
                                                       const struct rf_model *s, unsigned token,
                                                       uint64_t value, bool encoding) {
    unsigned length = token - RF_LITERALS + 3;
    if (token == RF_LAST_SYMBOL) {
        unsigned more = (unsigned)rf_log2(value) - RF_LONG_LENGTH;
        more = encoding && more < RF_LAST_SYMBOL ? more : RF_LAST_SYMBOL;
        more = rf_code_symbol(coder, rf_model_rest(g, RF_LENGTH), rf_model_rest(s, RF_LENGTH), more,
                              encoding);
        length = more + RF_LONG_LENGTH;
        if (more == RF_LAST_SYMBOL) {
            uint64_t top = rf_code_raw(coder, 2, (uint32_t)(value >> 32), encoding);
            top = top << 16 | rf_code_raw(coder, 16, (uint32_t)(value >> 16) & 65535, encoding);
            return top << 16 | rf_code_raw(coder, 16, (uint32_t)value & 65535, encoding);
        }
    }
    unsigned head = length < 4 ? length : 4, rest = length - head, mask = (1u << head) - 1;
    unsigned place = RF_MANTISSA + token - RF_LITERALS;
    uint64_t top = rf_code_symbol(coder, rf_model_rest(g, place), rf_model_rest(s, place),
                                  (value >> rest) & mask, encoding);
    top = (top & mask) | (mask + 1);
    while (rest) {
        unsigned some = rest < 16 ? rest : 16;
        rest -= some;
        mask = (1u << some) - 1;
        top = top << some | rf_code_raw(coder, some, (value >> rest) & mask, encoding);
    }
    return top;
}

/* Codes a value below 2^34. */
RF_INLINE uint64_t rf_code_number(struct rf_coder *coder, struct rf_model general,
                                  struct rf_model special, uint32_t epoch, uint64_t value,
                                  bool encoding) {
    rf_model_meet(general.number, epoch);
    rf_model_meet(special.number, epoch);
    unsigned token = (unsigned)value;
    if (encoding && value >= RF_LITERALS) {
        unsigned length = rf_log2(value);
        token = length < RF_LONG_LENGTH ? length + RF_LITERALS - 3 : RF_LAST_SYMBOL;
    }
    token = rf_code_symbol(coder, &general.number->token, &special.number->token, token, encoding);
    if (token < RF_LITERALS)
        return token;
    return rf_code_tail(coder, &general, &special, token, value, encoding);
}

#endif
