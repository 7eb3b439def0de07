/* Call sites: from a return address to a small number that is stable across runs.
   The fast path is one probe of a table keyed by address and function. */
#ifndef RF_ENGINE_CALLSITE_H
#define RF_ENGINE_CALLSITE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

#define RF_SITE_ANY 0x3ffffu   /* replay: a module that was rebuilt; sites cannot be compared */
#define RF_SITE_FRESH 0x3fffeu /* replay: the same module, but no event was recorded from here */
#define RF_CALLSITE_SLOTS 4096u

struct rf_session;

struct rf_callsite {
    uint64_t key; /* 0: empty */
    uint32_t site;
};

struct rf_callsites {
    struct rf_callsite slots[RF_CALLSITE_SLOTS];
    uint32_t used;
    int lock; /* of learning, where threads may call at the same time */
};

/* The site's number; learns it on first sight. Kept out of line: called for new addresses only. */
uint32_t rf_callsite_learn(struct rf_session *session, uintptr_t address, uint32_t function,
                           const char *name);

/* Addresses have 47 bits. */
RF_STEP uint64_t rf_callsite_key(uintptr_t address, uint32_t function) {
    return address ^ (uint64_t)function << 48;
}

RF_STEP uint32_t rf_callsite_slot(uint64_t key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 52);
}

RF_STEP uint32_t rf_callsite_number(struct rf_session *session, const struct rf_callsites *sites,
                                    uintptr_t address, uint32_t function, const char *name) {
    uint64_t key = rf_callsite_key(address, function);
    const struct rf_callsite *slot = &sites->slots[rf_callsite_slot(key)];
    /* The key is stored last. */
    if (__builtin_expect(__atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) == key, 1))
        return slot->site;
    return rf_callsite_learn(session, address, function, name);
}

/* What is known of an address. Answers are remembered, so asking again is cheap. */
struct rf_address {
    uintptr_t address;
    uint64_t offset;         /* in the module */
    bool found;              /* false: code that belongs to no file */
    bool internal;           /* the message-passing library itself, or Refrain */
    struct rf_module module; /* path is empty if not found */
    const struct rf_address *next;
};
const struct rf_address *rf_address_of(uintptr_t address);

#endif
