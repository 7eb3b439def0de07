/* A hash table from handles to small numbers: open addressing, no allocation but when it doubles.
   Handles are never 0 in either library. */
#ifndef RF_MPI_HANDLE_MAP_H
#define RF_MPI_HANDLE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define RF_NOWHERE UINT32_MAX

struct rf_handle_slot {
    uint64_t key; /* 0: empty */
    uint32_t value;
};

struct rf_handle_map {
    struct rf_handle_slot *slots;
    uint32_t shift; /* 64 - log2(number of slots) */
    uint32_t used;
};

bool rf_handle_map_grow(struct rf_handle_map *map);

static inline uint32_t rf_handle_home(const struct rf_handle_map *map, uint64_t key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> map->shift);
}
static inline uint32_t rf_handle_mask(const struct rf_handle_map *map) {
    return (uint32_t)((UINT64_C(1) << (64 - map->shift)) - 1);
}

static inline uint32_t rf_handle_find(const struct rf_handle_map *map, uint64_t key) {
    if (!map->used)
        return RF_NOWHERE;
    for (uint32_t i = rf_handle_home(map, key);; i = (i + 1) & rf_handle_mask(map)) {
        if (map->slots[i].key == key)
            return map->slots[i].value;
        if (!map->slots[i].key)
            return RF_NOWHERE;
    }
}

/* The key must not be in the map. False when memory ran out. */
static inline bool rf_handle_add(struct rf_handle_map *map, uint64_t key, uint32_t value) {
    if (!map->slots || map->used * 2 > rf_handle_mask(map))
        if (!rf_handle_map_grow(map))
            return false;
    uint32_t i = rf_handle_home(map, key);
    while (map->slots[i].key)
        i = (i + 1) & rf_handle_mask(map);
    map->slots[i].key = key;
    map->slots[i].value = value;
    map->used++;
    return true;
}

static inline void rf_handle_remove(struct rf_handle_map *map, uint64_t key) {
    if (!map->used)
        return;
    uint32_t mask = rf_handle_mask(map);
    uint32_t hole = rf_handle_home(map, key);
    while (map->slots[hole].key != key) {
        if (!map->slots[hole].key)
            return;
        hole = (hole + 1) & mask;
    }
    map->used--;
    /* Close the gap, so that searches need no tombstones. */
    for (uint32_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
        uint32_t home = rf_handle_home(map, map->slots[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].key = 0;
}

#endif
