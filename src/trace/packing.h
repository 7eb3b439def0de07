/* Compression, by zstd. It is loaded at run time: linked with it, its names would become those of
   the traced program. A program that Refrain is linked into (RF_LINKED) may be a static one, which
   cannot load anything. */
#ifndef RF_TRACE_PACKING_H
#define RF_TRACE_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf_packing {
    void *library;
    void *(*packer)(void);
    size_t (*free_packer)(void *);
    size_t (*compress)(void *, void *, size_t, const void *, size_t, int);
    void *(*unpacker)(void);
    size_t (*free_unpacker)(void *);
    size_t (*decompress)(void *, void *, size_t, const void *, size_t);
    size_t (*bound)(size_t);
    unsigned (*is_error)(size_t);
};

/* False if it is not there: `library` is NULL then, and nothing is packed. */
bool rf_packing_load(struct rf_packing *packing);
void rf_packing_unload(struct rf_packing *packing);
/* How long `from` is when it is compressed; 0 if it would not get shorter. */
size_t rf_compress(const struct rf_packing *packing, uint8_t *to, size_t room, const uint8_t *from,
                   size_t size);
bool rf_decompress(const struct rf_packing *packing, uint8_t *to, size_t size, const uint8_t *from,
                   size_t packed);

#endif
