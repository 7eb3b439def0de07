/* The coder: bits, numbers, and whole segments there and back. */
#include "trace_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/codec.h"
#include "trace/coder.h"
#include "trace/log.h"
#include "trace/varint.h"
#include "trace_streams.h"

static void bits_come_back(void **unused) {
    (void)unused;
    enum { COUNT = 20000 };
    static uint8_t buffer[COUNT * 2];
    for (uint32_t likely = 0; likely <= 16; likely++) {
        struct stream_state random = {.random = likely + 1};
        static uint8_t bits[COUNT];
        struct rf_node_bit node = {RF_BIT_START, RF_BIT_START};
        struct rf_coder coder;
        rf_coder_write(&coder, buffer, sizeof buffer);
        for (int i = 0; i < COUNT; i++) {
            bits[i] = stream_random(&random, 16) < likely;
            rf_code_bit(&coder, &node, bits[i], true);
        }
        rf_coder_finish(&coder);
        assert_false(coder.overflow);
        size_t bytes = (size_t)(coder.at - coder.begin);
        assert_true(bytes <= COUNT / 8 + 200);
        if (likely == 0 || likely == 16)
            assert_true(bytes < 20);
        node = (struct rf_node_bit){RF_BIT_START, RF_BIT_START};
        rf_coder_read(&coder, buffer, bytes);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(rf_code_bit(&coder, &node, 0, false), bits[i]);
    }
}

/* Whatever comes, the sums stay in order: otherwise some symbol could not be told. */
static void symbols_keep_a_chance(void **unused) {
    (void)unused;
    struct rf_symbol model = rf_symbol_start;
    struct stream_state random = {0};
    for (int round = 0; round < 300; round++) {
        unsigned favourite = stream_random(&random, RF_SYMBOLS), often = stream_random(&random, 9);
        for (int i = 0; i < 300; i++) {
            bool usual = stream_random(&random, 8) < often;
            rf_symbol_learn(&model, usual ? favourite : stream_random(&random, RF_SYMBOLS));
            for (unsigned symbol = 0; symbol < RF_SYMBOLS; symbol++)
                assert_true(model.below[symbol] + 2 <= model.below[symbol + 1]);
        }
    }
}

/* A general and a special model, as a chunk begins. */
struct pair {
    struct rf_number numbers[2];
    struct rf_symbol rest[RF_REST * 2];
};

static uint64_t code(struct rf_coder *coder, struct pair *pair, uint64_t value, bool encoding) {
    struct rf_model general = {&pair->numbers[0], &pair->rest[0], 2};
    struct rf_model special = {&pair->numbers[1], &pair->rest[1], 2};
    return rf_code_number(coder, general, special, 1, value, encoding);
}

/* How many bytes the numbers take; 0 if there is no room for them. */
static size_t write_numbers(uint8_t *buffer, size_t room, const uint64_t *values, int count) {
    struct pair pair = {0};
    struct rf_coder coder;
    rf_coder_write(&coder, buffer, room);
    for (int i = 0; i < count; i++)
        code(&coder, &pair, values[i], true);
    rf_coder_finish(&coder);
    return coder.overflow ? 0 : (size_t)(coder.at - coder.begin);
}

static void numbers_come_back(void **unused) {
    (void)unused;
    enum { COUNT = 4000 };
    static uint8_t buffer[COUNT * 8];
    static uint64_t values[COUNT];
    struct stream_state random = {0};
    for (int i = 0; i < COUNT; i++) {
        values[i] = stream_random(&random, UINT32_MAX) >> stream_random(&random, 32);
        if (i % 100 == 0)
            values[i] = (uint64_t)UINT32_MAX + 2 - (uint64_t)(i / 100);
    }
    size_t bytes = write_numbers(buffer, sizeof buffer, values, COUNT);
    assert_true(bytes > 0);
    struct pair pair = {0};
    struct rf_coder coder;
    rf_coder_read(&coder, buffer, bytes);
    for (int i = 0; i < COUNT; i++)
        assert_true(code(&coder, &pair, 0, false) == values[i]);
    /* With too little room it says so, and stays inside. */
    for (size_t room = 4; room < 64; room++) {
        memset(buffer, 0xa5, 128);
        assert_int_equal(write_numbers(buffer + 16, room, values, COUNT), 0);
        for (size_t i = 0; i < 16; i++)
            assert_true(buffer[i] == 0xa5 && buffer[16 + room + i] == 0xa5);
    }
}

static void varints_come_back(void **unused) {
    (void)unused;
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uint8_t buffer[RF_VARINT_BYTES];
        const uint8_t *at = buffer, *end = rf_varint_put(buffer, values[i]);
        uint64_t value;
        assert_true(rf_varint_get(&at, end, &value) && value == values[i] && at == end);
        at = buffer;
        assert_false(rf_varint_get(&at, end - 1, &value));
    }
}

/* Records one segment of a stream and codes it. */
static void segment_of(const struct stream *stream, struct rf_entry *copy, uint32_t *used,
                       unsigned *messages) {
    const char *directory = testing_directory();
    struct rf_recorder recorder;
    struct stream_state state = {0};
    testing_open(&recorder, directory);
    struct rf_entry *slots = recorder.next;
    *messages = 0;
    while (!recorder.segment)
        *messages += stream->round(&recorder, &state);
    *used = rf_segment_used(slots);
    rf_segment_tidy(slots, *used);
    memcpy(copy, slots, *used * sizeof *copy);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    testing_clean(directory);
}

static uint8_t *join(const struct rf_coded *coded) {
    uint8_t *payload = malloc(coded->bytes), *at = payload;
    assert_non_null(payload);
    for (unsigned i = 0; i < RF_CODED_PIECES; i++) {
        memcpy(at, coded->pieces[i].data, coded->pieces[i].bytes);
        at += coded->pieces[i].bytes;
    }
    return payload;
}

static void segments_come_back(void **unused) {
    (void)unused;
    struct rf_entry *slots = calloc(RF_SEGMENT_SLOTS, sizeof *slots);
    struct rf_entry *copy = calloc(RF_SEGMENT_SLOTS, sizeof *copy);
    struct rf_codec *encoder = calloc(1, rf_codec_bytes());
    struct rf_codec *decoder = calloc(1, rf_codec_bytes());
    assert_true(slots && copy && encoder && decoder);
    for (size_t i = 0; i < stream_count; i++) {
        uint32_t used;
        unsigned messages;
        struct rf_coded coded;
        segment_of(&streams[i], slots, &used, &messages);
        assert_true(rf_codec_encode(encoder, slots, used, &coded));
        uint8_t *payload = join(&coded);
        assert_true(rf_codec_decode(decoder, payload, coded.bytes, copy, used));
        assert_memory_equal(slots, copy, used * sizeof *slots);
        double each = (double)coded.bytes / messages;
        print_message("%-12s %7zu bytes, %.4f for each message\n", streams[i].name, coded.bytes,
                      each);
        if (!strcmp(streams[i].name, "periodic") || !strcmp(streams[i].name, "stencil"))
            assert_true(each < 0.01);
        if (!strcmp(streams[i].name, "monte-carlo"))
            assert_true(each < 0.85);
        if (!strcmp(streams[i].name, "halo"))
            assert_true(each < 0.2);
        /* Shorter ones must work as well, down to nothing. */
        for (uint32_t at = 0, n = 0; n < 50 && at <= used; n++) {
            assert_true(rf_codec_encode(encoder, slots, at, &coded) || coded.bytes >= at * 16);
            free(payload);
            payload = join(&coded);
            assert_true(rf_codec_decode(decoder, payload, coded.bytes, copy, at));
            assert_memory_equal(slots, copy, at * sizeof *slots);
            at += rf_entry_slots(&slots[at], used - at);
        }
        free(payload);
    }
    free(slots);
    free(copy);
    free(encoder);
    free(decoder);
}

/* Each entry of another site: more of them than the dictionary holds are not coded. */
static void too_many_words_are_left_alone(void **unused) {
    (void)unused;
    enum { WORDS = 4096 };
    struct rf_entry *slots = calloc(WORDS + 1, sizeof *slots);
    struct rf_entry *copy = calloc(WORDS + 1, sizeof *copy);
    struct rf_codec *codec = calloc(1, rf_codec_bytes());
    struct rf_coded coded;
    assert_true(slots && copy && codec);
    for (uint32_t i = 0; i <= WORDS; i++)
        slots[i] = (struct rf_entry){.what = rf_pack(RF_RECV, 0, i), .first = 1, .run = 1 + i % 3};
    assert_false(rf_codec_encode(codec, slots, WORDS + 1, &coded));
    assert_true(rf_codec_encode(codec, slots, WORDS, &coded));
    uint8_t *payload = join(&coded);
    assert_true(rf_codec_decode(codec, payload, coded.bytes, copy, WORDS));
    assert_memory_equal(slots, copy, WORDS * sizeof *slots);
    free(payload);
    free(slots);
    free(copy);
    free(codec);
}

/* Whatever the bytes are, decoding ends and stays inside its memory. */
static void noise_is_survived(void **unused) {
    (void)unused;
    struct rf_entry *slots = calloc(RF_SEGMENT_SLOTS, sizeof *slots);
    struct rf_entry *copy = calloc(RF_SEGMENT_SLOTS, sizeof *copy);
    struct rf_codec *codec = calloc(1, rf_codec_bytes());
    assert_true(slots && copy && codec);
    struct stream_state random = {.random = 5};
    for (size_t i = 0; i < stream_count; i++) {
        uint32_t used;
        unsigned messages;
        struct rf_coded coded;
        segment_of(&streams[i], slots, &used, &messages);
        uint32_t some = 0;
        while (some < 300)
            some += rf_entry_slots(&slots[some], used - some);
        assert_true(rf_codec_encode(codec, slots, some, &coded));
        size_t bytes = coded.bytes;
        uint8_t *payload = join(&coded);
        for (int round = 0; round < 400; round++) {
            size_t at = stream_random(&random, (uint32_t)bytes);
            uint8_t before = payload[at];
            payload[at] = (uint8_t)stream_random(&random, 256);
            rf_codec_decode(codec, payload, bytes, copy, some);
            rf_codec_decode(codec, payload, at, copy, RF_SEGMENT_SLOTS);
            payload[at] = before;
        }
        free(payload);
    }
    free(slots);
    free(copy);
    free(codec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_come_back),     cmocka_unit_test(symbols_keep_a_chance),
        cmocka_unit_test(numbers_come_back),  cmocka_unit_test(varints_come_back),
        cmocka_unit_test(segments_come_back), cmocka_unit_test(too_many_words_are_left_alone),
        cmocka_unit_test(noise_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
