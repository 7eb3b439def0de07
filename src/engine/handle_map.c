#include "engine/handle_map.h"

#include <stdlib.h>

bool rf_handle_map_grow(struct rf_handle_map *map) {
    struct rf_handle_map larger = {.shift = map->slots ? map->shift - 1 : 64 - 6};
    larger.mask = (uint32_t)((UINT64_C(1) << (64 - larger.shift)) - 1);
    larger.slots = calloc((size_t)larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    uint32_t count = map->slots ? map->mask + 1 : 0;
    for (uint32_t i = 0; i < count; i++)
        if (map->slots[i].key)
            rf_handle_add(&larger, map->slots[i].key, map->slots[i].value);
    free(map->slots);
    *map = larger;
    return true;
}
