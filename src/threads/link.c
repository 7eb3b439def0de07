#include "threads/link.h"

#include <string.h>

#include "libc/values.h"
#include "threads/hook.h"

static bool wanted(void) {
    return rf_threads.wanted;
}

static void begin(void) {
    rf_threads.wanted = true;
    rf_threads_begin();
}

static void enter(void) {
    struct rf_thread *self = rf_self;
    if (!self)
        rf_inside_early++;
    else if (self->inside++ == 0 && self->place)
        rf_turn_blocks(self, RF_OP_LIBRARY, 0);
}

static void leave(void) {
    struct rf_thread *self = rf_self;
    if (!self)
        rf_inside_early--;
    else if (--self->inside == 0 && self->place)
        rf_turn_goes_on(self);
}

static int number(void) {
    return rf_self ? (int)rf_self->number : -1;
}

/* The adapter has said that it is inside; this operation is the program's. */
static struct rf_thread *outside(void) {
    struct rf_thread *self = rf_self;
    return self && !self->free && rf_threads.on ? self : NULL;
}

static void take(const char *name, uintptr_t address, const void *object) {
    (void)name;
    struct rf_thread *self = outside();
    if (self && !rf_threads.replays)
        rf_take(self, RF_OP_LIBRARY, address, object);
}

static void step(void) {
    struct rf_thread *self = outside();
    if (self && !rf_threads.replays)
        rf_commit(self, RF_OP_LIBRARY);
}

static bool await(const char *name, uintptr_t address) {
    (void)name;
    struct rf_thread *self = outside();
    return self && rf_threads.replays && rf_turn_await(self, RF_OP_LIBRARY, address) != RF_TURN_CUT;
}

static void played(void) {
    struct rf_thread *self = outside();
    if (self && rf_threads.replays) {
        rf_turn_played(self);
        rf_turn_wake(self);
    }
}

static void blocks(const char *name, uintptr_t address) {
    struct rf_thread *self = outside();
    if (!self || !rf_threads.replays)
        return;
    rf_turn_blocks(self, RF_OP_LIBRARY, address);
    strncpy(self->place->function, name, sizeof self->place->function - 1);
}

static void goes_on(void) {
    struct rf_thread *self = outside();
    if (self && rf_threads.replays)
        rf_turn_goes_on(self);
}

static bool settled(void) {
    return !rf_threads.on || !rf_threads.replays || rf_threads_others_done();
}

static void let_go(void) {
    if (!rf_threads.on || !rf_threads.replays)
        return;
    rf_threads.places->free = 1;
    rf_threads.on = false;
}

RF_HOOK extern const struct rf_threads_link refrain_threads_link;
const struct rf_threads_link refrain_threads_link = {
    .version = RF_THREADS_LINK_VERSION,
    .wanted = wanted,
    .begin = begin,
    .named = rf_threads_named,
    .enter = enter,
    .leave = leave,
    .number = number,
    .take = take,
    .step = step,
    .await = await,
    .played = played,
    .blocks = blocks,
    .goes_on = goes_on,
    .settled = settled,
    .let_go = let_go,
    .keeps_time = rf_keeps_time,
    .time = rf_time_value,
};
