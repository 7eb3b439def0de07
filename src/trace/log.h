/* The log: DIR/rank-R.tail, the file behind the recorder's shared mapping. Everything in it may be
   cut off at any instruction, so every word that others depend on is written by one store. */
#ifndef RF_TRACE_LOG_H
#define RF_TRACE_LOG_H

#include <stddef.h>

#include "event.h"
#include "recorder.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files are little endian");

#define RF_LOG_MAGIC "RFTAIL\r\n"
#define RF_LOG_VERSION 1u
#define RF_LOG_SEGMENTS 4u
#ifndef RF_SEGMENT_SLOTS /* the fuzzers are built with less of everything */
#    define RF_SEGMENT_SLOTS 32768u
#    define RF_LOG_MODULES 256u
#    define RF_LOG_NAMES 256u
#endif
#define RF_FLIGHT_BYTES 256u

/* The last piece of a list has the bit clear; the pieces before it have it set. */
#define RF_LIST_MORE 0x80000000u
#define RF_LIST_LIMIT (1u << 26)

#define RF_ELSEWHERE "elsewhere" /* the function of site 0 */

/* Table records carry a checksum of their own: only those below the published count are looked at,
   and each of these must be whole. */
struct rf_log_site {
    char function[48];
    uint16_t number, module;
    uint32_t check;
    uint64_t offset;
};

struct rf_log_module {
    char path[256];
    uint8_t build_id[20];
    uint8_t build_id_length;
    uint8_t zero[7];
    uint32_t check;
};

struct rf_log_name {
    char function[60];
    uint32_t check;
};

struct rf_log_node {
    int32_t rank, size, thread_level, pid;
    int64_t started_ns;
    char host[64];
    char adapter[16];
    char library[256];
    char scheme[16];
};

struct rf_log {
    /* Written once; `check` covers it up to itself. */
    char magic[8];
    uint32_t version;
    uint32_t segments, segment_slots, slot_bytes;
    uint32_t sites_capacity, modules_capacity, names_capacity;
    uint32_t header_bytes; /* where the ring begins */
    struct rf_log_node node;
    uint64_t check;

    /* Sealed words: a value of 48 bits and 16 bits of check in one store. */
    uint64_t begun;   /* segments begun */
    uint64_t written; /* segments whose chunk is whole in the trace file */
    uint64_t site_count, module_count, name_count;
    uint64_t end;        /* 0 while running, else 1 + (how | code << 8) */
    uint64_t incomplete; /* 0, or the 32-bit checksum of the reason with bit 32 set */
    char reason[128];

    /* The call in flight. */
    uint32_t flight_word;
    uint32_t flight_source, flight_tag; /* offsets in the room */
    uint32_t flight_check;
    _Alignas(64) uint8_t flight_room[RF_FLIGHT_BYTES];

    struct rf_log_module modules[RF_LOG_MODULES];
    struct rf_log_name names[RF_LOG_NAMES];
    struct rf_log_site sites[RF_MAX_SITES];

    _Alignas(4096) struct rf_entry ring[RF_LOG_SEGMENTS][RF_SEGMENT_SLOTS];
};

_Static_assert(sizeof(struct rf_entry) == 16, "a slot is 16 bytes");
_Static_assert(sizeof(struct rf_log_site) == 64, "layout of a site");
_Static_assert(sizeof(struct rf_log_module) == 288, "layout of a module");
_Static_assert(sizeof(struct rf_log_node) == 376, "layout of the node's facts");
_Static_assert(offsetof(struct rf_log, node) == 40, "layout of the log");
_Static_assert(offsetof(struct rf_log, check) == 416, "layout of the log");
_Static_assert(offsetof(struct rf_log, begun) == 424, "layout of the log");
_Static_assert(offsetof(struct rf_log, reason) == 480, "layout of the log");
_Static_assert(offsetof(struct rf_log, flight_word) == 608, "layout of the log");
_Static_assert(offsetof(struct rf_log, flight_room) == 640, "layout of the log");
_Static_assert(offsetof(struct rf_log, modules) == 896, "layout of the log");

/* A value and its check in one word, so that a death between two stores cannot part them. */
uint64_t rf_seal(uint64_t value);
bool rf_unseal(uint64_t word, uint64_t *value);

uint64_t rf_log_fixed_check(const struct rf_log *log);
uint32_t rf_log_site_check(const struct rf_log_site *site, uint32_t number);
uint32_t rf_log_module_check(const struct rf_log_module *module, uint32_t number);
uint32_t rf_log_name_check(const struct rf_log_name *name, uint32_t number);
uint32_t rf_log_flight_check(const struct rf_log *log);
uint32_t rf_log_reason_check(const char reason[128]);

void rf_log_put_node(struct rf_log_node *to, const struct rf_node *from);
void rf_log_get_node(struct rf_node *to, const struct rf_log_node *from);

/* How many slots the entry at `slots` takes, its list included; 0 when it cannot be an entry. */
static inline uint32_t rf_entry_slots(const struct rf_entry *entry, uint32_t room) {
    uint32_t kind = rf_packed_kind(entry->what);
    if (kind == RF_NO_EVENT || kind >= RF_KINDS)
        return 0;
    if (!(rf_kind_flags[kind] & RF_LIST))
        return 1;
    uint64_t slots = 1 + (((uint64_t)(entry->run & ~RF_LIST_MORE) + 3) >> 2);
    return slots <= room ? (uint32_t)slots : 0;
}

/* How many slots of a segment are in use. */
uint32_t rf_segment_used(const struct rf_entry *slots);

#endif
