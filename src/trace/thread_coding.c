/* docs/format.md describes the coding; every choice here is part of the format. */
#include "thread_coding.h"

#include <sys/mman.h>

#include "coder.h"
#include "varint.h"

#define GENERAL_MODELS 16u
#define SPECIAL_MODELS 64u
#define SHAPES 256u
#define LONG (UINT64_C(1) << 33) /* from here on a number is told in two parts */

static bool has_site(enum rf_thread_log_type type) {
    return type != RF_THREAD_LOG_CHECK && type != RF_THREAD_LOG_AGAIN;
}

/* ---- as bytes ---- */

static bool read_byte(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    if (*at == end)
        return false;
    *value = *(*at)++;
    return true;
}

static bool read_numbers(const uint8_t **at, const uint8_t *end, struct rf_thread_item *item) {
    switch (item->type) {
    case RF_THREAD_LOG_EDGE:
        return rf_varint_get(at, end, &item->first) && rf_varint_get(at, end, &item->second);
    case RF_THREAD_LOG_FAILURE:
        return rf_varint_get(at, end, &item->first) && read_byte(at, end, &item->second);
    case RF_THREAD_LOG_VALUE:
    case RF_THREAD_LOG_JUMP:
        return rf_varint_get(at, end, &item->first);
    case RF_THREAD_LOG_BYTES:
        if (!rf_varint_get(at, end, &item->first) || !rf_varint_get(at, end, &item->second) ||
            item->second > (uint64_t)(end - *at))
            return false;
        item->bytes = *at;
        *at += item->second;
        return true;
    case RF_THREAD_LOG_CHECK:
        if (end - *at < 2)
            return false;
        item->first = (*at)[0] | (uint64_t)(*at)[1] << 8;
        *at += 2;
        return true;
    case RF_THREAD_LOG_AGAIN:
        return read_byte(at, end, &item->second);
    case RF_THREAD_LOG_NOTHING:
        break;
    }
    return false;
}

bool rf_thread_item_read(const uint8_t **at, const uint8_t *end, struct rf_thread_item *item) {
    uint64_t first = 0, site = 0;
    *item = (struct rf_thread_item){0};
    bool whole = rf_varint_get(at, end, &first);
    if (!whole)
        return false;
    item->type = (enum rf_thread_log_type)(first % RF_THREAD_LOG_TYPES);
    item->gap = first / RF_THREAD_LOG_TYPES;
    if ((has_site(item->type) && !rf_varint_get(at, end, &site)) || site >= RF_THREAD_LOG_SITES)
        return false;
    item->site = (uint32_t)site;
    return read_numbers(at, end, item);
}

/* ---- coded ---- */

enum column { GAP, SHAPE, FIRST, SECOND, COLUMNS };

struct rf_thread_coding {
    struct rf_coder coder;
    uint32_t epoch;
    uint32_t shapes[SHAPES], shape_count; /* type and site in one, numbered as they come up */
    uint32_t shape;                       /* of the item before: 1 + its number */
    uint32_t gap;                         /* and its gap */
    uint32_t last[SHAPES + 2];            /* `first` of the last item of each shape */
    uint8_t bytes[RF_THREAD_LOG_BLOCK];   /* of the last item */
    struct rf_number general[COLUMNS * GENERAL_MODELS], special[COLUMNS * SPECIAL_MODELS];
    struct rf_symbol general_rest[RF_REST * COLUMNS * GENERAL_MODELS];
    struct rf_symbol special_rest[RF_REST * COLUMNS * SPECIAL_MODELS];
    uint16_t find[RF_THREAD_LOG_TYPES * RF_THREAD_LOG_SITES]; /* encoder: 1 + number of a shape */
};

struct rf_thread_coding *rf_thread_coding_new(void) {
    struct rf_thread_coding *coding =
        mmap(NULL, sizeof *coding, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return coding == MAP_FAILED ? NULL : coding;
}

void rf_thread_coding_free(struct rf_thread_coding *coding) {
    if (coding)
        munmap(coding, sizeof *coding);
}

/* Everything starts anew with every chunk. */
static void start(struct rf_thread_coding *coding) {
    for (uint32_t i = 0; i < coding->shape_count; i++)
        coding->find[coding->shapes[i]] = 0;
    coding->shape_count = coding->shape = coding->gap = 0;
    memset(coding->last, 0, sizeof coding->last);
    coding->epoch++;
}

RF_INLINE uint32_t mix(uint32_t a, uint32_t b) {
    return (a ^ b * 0x9e3779b1u) * 0x85ebca6bu;
}

RF_INLINE uint64_t code_number(struct rf_thread_coding *coding, enum column column,
                               uint32_t general, uint32_t special, uint64_t value, bool encoding) {
    uint32_t g = column * GENERAL_MODELS + general % GENERAL_MODELS;
    uint32_t s = column * SPECIAL_MODELS + (special * 0x9e3779b1u >> 26);
    struct rf_model common = {&coding->general[g], &coding->general_rest[g],
                              COLUMNS * GENERAL_MODELS};
    struct rf_model own = {&coding->special[s], &coding->special_rest[s], COLUMNS * SPECIAL_MODELS};
    uint64_t shown = value < LONG ? value : LONG + (value >> 32);
    shown = rf_code_number(&coding->coder, common, own, coding->epoch, shown, encoding);
    if (__builtin_expect(shown < LONG, 1))
        return shown;
    uint64_t middle = rf_code_raw(&coding->coder, 16, (uint32_t)(value >> 16) & 65535, encoding);
    uint64_t low = rf_code_raw(&coding->coder, 16, (uint32_t)value & 65535, encoding);
    return (shown - LONG) << 32 | middle << 16 | low;
}

/* Returns 1 + the number of the shape; one that is new, and beyond those that are remembered, is
   spelt out. */
RF_INLINE uint32_t code_shape(struct rf_thread_coding *coding, uint32_t context, uint32_t *shape,
                              bool encoding) {
    uint32_t number =
        encoding && coding->find[*shape] ? coding->find[*shape] - 1u : coding->shape_count;
    number = (uint32_t)code_number(coding, SHAPE, coding->shape, context, number, encoding);
    if (number < coding->shape_count) {
        *shape = coding->shapes[number];
        return number + 1;
    }
    *shape = rf_code_raw(&coding->coder, 15, *shape, encoding);
    if (coding->shape_count < SHAPES) {
        coding->shapes[coding->shape_count++] = *shape;
        coding->find[*shape] = (uint16_t)coding->shape_count;
    }
    return coding->shape_count;
}

static void code_bytes(struct rf_thread_coding *coding, struct rf_thread_item *item,
                       bool encoding) {
    if (item->second > sizeof coding->bytes)
        item->second = sizeof coding->bytes;
    for (uint64_t i = 0; i < item->second; i++)
        coding->bytes[i] =
            (uint8_t)rf_code_raw(&coding->coder, 8, encoding ? item->bytes[i] : 0, encoding);
    item->bytes = coding->bytes;
}

RF_INLINE void code_item(struct rf_thread_coding *coding, struct rf_thread_item *item,
                         bool encoding) {
    item->gap = code_number(coding, GAP, coding->shape, mix(coding->shape, coding->gap), item->gap,
                            encoding);
    uint32_t gap = item->gap < 255 ? (uint32_t)item->gap : 255;
    uint32_t shape = item->site * RF_THREAD_LOG_TYPES + item->type;
    uint32_t number = code_shape(coding, mix(coding->shape, gap), &shape, encoding);
    item->type = (enum rf_thread_log_type)(shape % RF_THREAD_LOG_TYPES);
    item->site = shape / RF_THREAD_LOG_TYPES;
    coding->shape = number;
    coding->gap = gap;
    if (item->type == RF_THREAD_LOG_CHECK) {
        item->first = rf_code_raw(&coding->coder, 16, (uint32_t)item->first, encoding);
        return;
    }
    if (item->type != RF_THREAD_LOG_AGAIN)
        item->first = code_number(coding, FIRST, number, mix(number, coding->last[number]),
                                  item->first, encoding);
    coding->last[number] = (uint32_t)item->first;
    if (item->type == RF_THREAD_LOG_VALUE || item->type == RF_THREAD_LOG_JUMP)
        return;
    item->second = code_number(coding, SECOND, number, mix(number, (uint32_t)item->first),
                               item->second, encoding);
    if (item->type == RF_THREAD_LOG_BYTES)
        code_bytes(coding, item, encoding);
}

size_t rf_thread_encode(struct rf_thread_coding *coding, const uint8_t *bytes, size_t size,
                        uint8_t *coded) {
    const uint8_t *at = bytes, *end = bytes + size;
    struct rf_thread_item item;
    start(coding);
    rf_coder_write(&coding->coder, coded, size - 1);
    while (at < end && rf_thread_item_read(&at, end, &item) && !coding->coder.overflow)
        code_item(coding, &item, true);
    rf_coder_finish(&coding->coder);
    return coding->coder.overflow ? 0 : (size_t)(coding->coder.at - coded);
}

void rf_thread_decode(struct rf_thread_coding *coding, const uint8_t *coded, size_t size) {
    start(coding);
    rf_coder_read(&coding->coder, coded, size);
}

bool rf_thread_decode_next(struct rf_thread_coding *coding, struct rf_thread_item *item) {
    *item = (struct rf_thread_item){0};
    code_item(coding, item, false);
    return item->type != RF_THREAD_LOG_NOTHING;
}
