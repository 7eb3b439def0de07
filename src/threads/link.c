#include "threads/link.h"

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

static void await(const char *name, uintptr_t address) {
    (void)name;
    struct rf_thread *self = outside();
    if (self && rf_threads.replays)
        rf_turn_await(self, RF_OP_LIBRARY, address);
}

static void played(void) {
    struct rf_thread *self = outside();
    if (self && rf_threads.replays) {
        rf_turn_played(self);
        rf_turn_wake(self);
    }
}

static void blocks(const char *name, uintptr_t address) {
    (void)name;
    struct rf_thread *self = outside();
    if (self && rf_threads.replays)
        rf_turn_blocks(self, RF_OP_LIBRARY, address);
}

static void goes_on(void) {
    struct rf_thread *self = outside();
    if (self && rf_threads.replays)
        rf_turn_goes_on(self);
}

RF_HOOK extern const struct rf_threads_link refrain_threads_link;
const struct rf_threads_link refrain_threads_link = {
    .version = RF_THREADS_LINK_VERSION,
    .wanted = wanted,
    .begin = begin,
    .enter = enter,
    .leave = leave,
    .number = number,
    .take = take,
    .await = await,
    .played = played,
    .blocks = blocks,
    .goes_on = goes_on,
    .keeps_time = rf_keeps_time,
    .time = rf_time_value,
};
