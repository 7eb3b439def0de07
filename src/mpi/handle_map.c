#include "mpi/handle_map.h"

#include <stdlib.h>

bool rf_handle_map_grow(struct rf_handle_map *map) {
    struct rf_handle_map larger = {.shift = map->slots ? map->shift - 1 : 64 - 10};
    larger.slots = calloc(UINT64_C(1) << (64 - larger.shift), sizeof *larger.slots);
    if (!larger.slots)
        return false;
    uint32_t count = map->slots ? rf_handle_mask(map) + 1 : 0;
    for (uint32_t i = 0; i < count; i++)
        if (map->slots[i].key)
            rf_handle_add(&larger, map->slots[i].key, map->slots[i].value);
    free(map->slots);
    *map = larger;
    return true;
}
