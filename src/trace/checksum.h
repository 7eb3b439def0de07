/* Checksums of message contents. */
#ifndef RF_TRACE_CHECKSUM_H
#define RF_TRACE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum rf_checksum { RF_CHECKSUM_NONE, RF_CHECKSUM_XOR, RF_CHECKSUM_CRC32C };

/* "xor", "crc32c"; anything else is none. */
enum rf_checksum rf_checksum_named(const char *name);

/* Four bytes at a time, the rest padded with zeros: fast, but swapped words go unnoticed. */
uint32_t rf_checksum_xor(const void *data, size_t size);
/* CRC-32C, the polynomial of iSCSI, with the machine's instruction where it has one. */
uint32_t rf_checksum_crc32c(const void *data, size_t size);

uint32_t rf_checksum(enum rf_checksum kind, const void *data, size_t size);

#endif
