#include "packing.h"

#include <dlfcn.h>
#include <string.h>

/* What zstd works with is large. A process keeps one of each, and has more only while several
   threads need one. */
static void *spare_packer, *spare_unpacker;

static void *take(void **spare, void *(*make)(void)) {
    void *tool = __atomic_exchange_n(spare, NULL, __ATOMIC_ACQUIRE);
    return tool ? tool : make();
}

/* The one that is too many is freed; NULL for the tool: all. There is one only if there is a
   function to free it. */
static void give_back(void **spare, void *tool, size_t (*free_one)(void *)) {
    tool = __atomic_exchange_n(spare, tool, __ATOMIC_ACQ_REL);
    if (tool && free_one)
        free_one(tool);
}

#ifdef RF_LINKED
void rf_packing_unload(struct rf_packing *packing) {
    *packing = (struct rf_packing){0};
}

bool rf_packing_load(struct rf_packing *packing) {
    rf_packing_unload(packing);
    return false;
}
#else
void rf_packing_unload(struct rf_packing *packing) {
    if (packing->library) {
        give_back(&spare_packer, NULL, packing->free_packer);
        give_back(&spare_unpacker, NULL, packing->free_unpacker);
        dlclose(packing->library);
    }
    *packing = (struct rf_packing){0};
}

static bool find(struct rf_packing *packing, const char *name, void *function) {
    void *found = dlsym(packing->library, name);
    memcpy(function, &found, sizeof found); /* ISO C has no conversion to a function */
    return found;
}

bool rf_packing_load(struct rf_packing *packing) {
    packing->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (packing->library && find(packing, "ZSTD_createCCtx", &packing->packer) &&
        find(packing, "ZSTD_freeCCtx", &packing->free_packer) &&
        find(packing, "ZSTD_compressCCtx", &packing->compress) &&
        find(packing, "ZSTD_createDCtx", &packing->unpacker) &&
        find(packing, "ZSTD_freeDCtx", &packing->free_unpacker) &&
        find(packing, "ZSTD_decompressDCtx", &packing->decompress) &&
        find(packing, "ZSTD_compressBound", &packing->bound) &&
        find(packing, "ZSTD_isError", &packing->is_error))
        return true;
    rf_packing_unload(packing);
    return false;
}
#endif

size_t rf_compress(const struct rf_packing *packing, uint8_t *to, size_t room, const uint8_t *from,
                   size_t size) {
    void *packer = packing->library ? take(&spare_packer, packing->packer) : NULL;
    if (!packer)
        return 0;
    size_t packed = packing->compress(packer, to, room, from, size, 1);
    give_back(&spare_packer, packer, packing->free_packer);
    return packing->is_error(packed) || packed >= size ? 0 : packed;
}

bool rf_decompress(const struct rf_packing *packing, uint8_t *to, size_t size, const uint8_t *from,
                   size_t packed) {
    void *unpacker = take(&spare_unpacker, packing->unpacker);
    bool good = unpacker && packing->decompress(unpacker, to, size, from, packed) == size;
    if (unpacker)
        give_back(&spare_unpacker, unpacker, packing->free_unpacker);
    return good;
}
