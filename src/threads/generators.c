/* Random numbers of the C library that all threads draw from one state: who draws when decides what
   each one gets. The library's own lock is not seen, so there is one around it. */
#include <stdlib.h>

#include "engine/lock.h"
#include "threads/hook.h"

static int lock;

struct draw {
    struct rf_thread *self; /* NULL: passed on as it is */
    uintptr_t address;
};

static struct draw begin(uintptr_t address) {
    struct rf_thread *self = rf_threads.library ? rf_here_from(address) : NULL;
    if (self && !rf_threads.replays)
        rf_lock(&lock);
    else if (self && rf_turn_await(self, RF_OP_DRAW, address) == RF_TURN_CUT)
        self = NULL;
    return (struct draw){self, address};
}

static void end(struct draw draw) {
    if (!draw.self)
        return;
    if (rf_threads.replays) {
        rf_turn_played(draw.self);
        rf_turn_wake(draw.self);
    } else {
        rf_take_lock(draw.self, RF_OP_DRAW, draw.address, &lock);
        rf_unlock(&lock);
    }
}

#define RF_DRAW(type, call)                                                                        \
    struct draw draw = begin(RF_HERE_ADDRESS);                                                     \
    type drawn = rf_real()->call;                                                                  \
    end(draw);                                                                                     \
    return drawn
#define RF_SEED(call)                                                                              \
    struct draw draw = begin(RF_HERE_ADDRESS);                                                     \
    rf_real()->call;                                                                               \
    end(draw)

RF_HOOK int rand(void) {
    RF_DRAW(int, rand());
}

RF_HOOK void srand(unsigned seed) {
    RF_SEED(srand(seed));
}

RF_HOOK long random(void) {
    RF_DRAW(long, random());
}

RF_HOOK void srandom(unsigned seed) {
    RF_SEED(srandom(seed));
}

RF_HOOK char *initstate(unsigned seed, char *state, size_t size) {
    RF_DRAW(char *, initstate(seed, state, size));
}

RF_HOOK char *setstate(char *state) {
    RF_DRAW(char *, setstate(state));
}

RF_HOOK double drand48(void) {
    RF_DRAW(double, drand48());
}

RF_HOOK long lrand48(void) {
    RF_DRAW(long, lrand48());
}

RF_HOOK long mrand48(void) {
    RF_DRAW(long, mrand48());
}

RF_HOOK void srand48(long seed) {
    RF_SEED(srand48(seed));
}

RF_HOOK unsigned short *seed48(unsigned short seed[3]) {
    RF_DRAW(unsigned short *, seed48(seed));
}

RF_HOOK void lcong48(unsigned short parameters[7]) {
    RF_SEED(lcong48(parameters));
}
