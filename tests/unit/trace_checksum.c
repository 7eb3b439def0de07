/* Checksums: known values, and that every bit of every length counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/checksum.h"

static uint32_t bitwise(const unsigned char *bytes, size_t size) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint32_t low = (crc ^ bytes[i] >> bit) & 1;
            crc = crc >> 1 ^ (low ? 0x82f63b78u : 0);
        }
    return ~crc;
}

/* The values of the iSCSI standard, RFC 3720. */
static void known_values(void **unused) {
    (void)unused;
    unsigned char bytes[32];
    assert_int_equal(rf_checksum_crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(rf_checksum_crc32c("", 0), 0);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(rf_checksum_crc32c(bytes, sizeof bytes), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(rf_checksum_crc32c(bytes, sizeof bytes), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(rf_checksum_crc32c(bytes, sizeof bytes), 0x46dd794eu);
}

static void all_lengths(void **unused) {
    (void)unused;
    enum { MOST = 40000 };
    unsigned char *bytes = malloc(MOST);
    assert_non_null(bytes);
    srand(1);
    for (int i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)rand();
    for (size_t size = 0; size < MOST; size += size < 300 ? 1 : 997) {
        /* A copy of exactly this size, so that the sanitizer sees a step too far. */
        unsigned char *copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        assert_int_equal(rf_checksum_crc32c(copy, size), bitwise(copy, size));
        uint32_t sum = 0;
        for (size_t i = 0; i < size; i++)
            sum ^= (uint32_t)copy[i] << i % 4 * 8;
        assert_int_equal(rf_checksum_xor(copy, size), sum);
        free(copy);
    }
    free(bytes);
}

static void names(void **unused) {
    (void)unused;
    assert_int_equal(rf_checksum_named("xor"), RF_CHECKSUM_XOR);
    assert_int_equal(rf_checksum_named("crc32c"), RF_CHECKSUM_CRC32C);
    assert_int_equal(rf_checksum_named("none"), RF_CHECKSUM_NONE);
    assert_int_equal(rf_checksum_named(NULL), RF_CHECKSUM_NONE);
    assert_int_equal(rf_checksum(RF_CHECKSUM_XOR, "abcd", 4), rf_checksum_xor("abcd", 4));
    assert_int_equal(rf_checksum(RF_CHECKSUM_CRC32C, "abcd", 4), rf_checksum_crc32c("abcd", 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(all_lengths),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
