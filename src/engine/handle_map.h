/* A hash table from handles to small numbers: open addressing, no allocation but when it doubles.
   A handle is never 0. */
#ifndef RF_ENGINE_HANDLE_MAP_H
#define RF_ENGINE_HANDLE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/compiler.h"

#define RF_NOWHERE UINT32_MAX

struct rf_handle_slot {
    uint64_t key; /* 0: empty */
    uint32_t value;
};

struct rf_handle_map {
    struct rf_handle_slot *slots;
    uint32_t shift; /* 64 - log2(number of slots) */
    uint32_t mask;  /* number of slots - 1 */
    uint32_t used;
};

bool rf_handle_map_grow(struct rf_handle_map *map);

RF_STEP uint64_t rf_handle_hash(uint64_t key) {
    return key * 0x9e3779b97f4a7c15u;
}

static inline uint32_t rf_handle_home(const struct rf_handle_map *map, uint64_t key) {
    return (uint32_t)(rf_handle_hash(key) >> map->shift);
}

/* The slot of a key, RF_NOWHERE if it is not in the map. */
static inline uint32_t rf_handle_slot_of(const struct rf_handle_map *map, uint64_t key) {
    if (!map->used)
        return RF_NOWHERE;
    for (uint32_t i = rf_handle_home(map, key);; i = (i + 1) & map->mask) {
        if (map->slots[i].key == key)
            return i;
        if (!map->slots[i].key)
            return RF_NOWHERE;
    }
}

static inline uint32_t rf_handle_find(const struct rf_handle_map *map, uint64_t key) {
    uint32_t slot = rf_handle_slot_of(map, key);
    return slot == RF_NOWHERE ? RF_NOWHERE : map->slots[slot].value;
}

/* The key must not be in the map. False when memory ran out. */
static inline bool rf_handle_add(struct rf_handle_map *map, uint64_t key, uint32_t value) {
    if (!map->slots || map->used * 2 > map->mask)
        if (!rf_handle_map_grow(map))
            return false;
    uint32_t i = rf_handle_home(map, key);
    while (map->slots[i].key)
        i = (i + 1) & map->mask;
    map->slots[i].key = key;
    map->slots[i].value = value;
    map->used++;
    return true;
}

static inline void rf_handle_remove_at(struct rf_handle_map *map, uint32_t hole) {
    uint32_t mask = map->mask;
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

static inline void rf_handle_remove(struct rf_handle_map *map, uint64_t key) {
    uint32_t slot = rf_handle_slot_of(map, key);
    if (slot != RF_NOWHERE)
        rf_handle_remove_at(map, slot);
}

#endif
