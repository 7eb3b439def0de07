/* The map of handles against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/handle_map.h"
#include "trace_streams.h"

enum { KEYS = 4000 };

/* Handles as the libraries make them: small numbers with high bits, and addresses 64 bytes apart.
 */
static uint64_t key_of(uint32_t i, bool addresses) {
    return addresses ? UINT64_C(0x7f3a10004000) + 64 * (uint64_t)i : UINT64_C(0x98000000) + i;
}

static void compare(const struct rf_handle_map *map, const uint32_t *model, bool addresses) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        assert_int_equal(rf_handle_find(map, key_of(i, addresses)), model[i]);
        used += model[i] != RF_NOWHERE;
    }
    assert_int_equal(map->used, used);
}

static void random_changes(void **unused) {
    (void)unused;
    for (int addresses = 0; addresses < 2; addresses++) {
        struct rf_handle_map map = {0};
        struct stream_state random = {.random = 17};
        static uint32_t model[KEYS];
        memset(model, 0xff, sizeof model);
        compare(&map, model, addresses);
        for (uint32_t i = 0; i < 300000; i++) {
            /* Grows to full, shrinks to almost nothing, and again. */
            bool shrinking = i / 20000 % 2;
            uint32_t pick = stream_random(&random, KEYS);
            uint64_t key = key_of(pick, addresses);
            assert_int_equal(rf_handle_find(&map, key), model[pick]);
            if (model[pick] == RF_NOWHERE && stream_random(&random, 8) >= (shrinking ? 7 : 1)) {
                assert_true(rf_handle_add(&map, key, i));
                model[pick] = i;
            } else if (shrinking || !stream_random(&random, 4)) {
                /* Also removes what is not there. */
                rf_handle_remove(&map, key);
                model[pick] = RF_NOWHERE;
            }
            if (i % 10000 == 0)
                compare(&map, model, addresses);
        }
        compare(&map, model, addresses);
        for (uint32_t i = 0; i < KEYS; i++)
            rf_handle_remove(&map, key_of(i, addresses));
        assert_int_equal(map.used, 0);
        free(map.slots);
    }
}

/* Keys that all want the same place: gaps close over the table's end, too. */
static void crowded_places(void **unused) {
    (void)unused;
    struct rf_handle_map map = {0};
    uint64_t keys[60];
    uint32_t count = 0;
    assert_true(rf_handle_add(&map, 1, 1));
    rf_handle_remove(&map, 1);
    for (uint64_t key = 1; count < 60; key++)
        if (rf_handle_home(&map, key) >= map.mask - 1)
            keys[count++] = key;
    for (uint32_t gap = 0; gap < 60; gap++) {
        for (uint32_t i = 0; i < 60; i++)
            assert_true(rf_handle_add(&map, keys[i], i));
        for (uint32_t k = 0; k < 60; k++) {
            uint32_t gone = (gap + k * 7) % 60;
            rf_handle_remove(&map, keys[gone]);
            assert_int_equal(rf_handle_find(&map, keys[gone]), RF_NOWHERE);
            for (uint32_t later = k + 1; later < 60; later++)
                assert_int_equal(rf_handle_find(&map, keys[(gap + later * 7) % 60]),
                                 (gap + later * 7) % 60);
        }
        assert_int_equal(map.used, 0);
    }
    free(map.slots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes),
        cmocka_unit_test(crowded_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
