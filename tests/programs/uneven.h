/* For programs in which it matters which thread comes first: each thread observes for itself, and
   does uneven work. What is random here changes when a thread comes somewhere, never what it does
   there. */
#ifndef UNEVEN_H
#define UNEVEN_H

#ifdef __cplusplus
#    define OBSERVE_STORAGE thread_local
#else
#    define OBSERVE_STORAGE _Thread_local
#endif
#define OBSERVE_WHO "thread"

#include "observe.h"

#include <sched.h>

static inline unsigned dice(unsigned sides) {
    observer.random ^= observer.random << 13;
    observer.random ^= observer.random >> 7;
    observer.random ^= observer.random << 17;
    return (unsigned)(observer.random >> 20) % sides;
}

/* Mostly a microsecond or two, now and then long enough for others to run. */
static inline void work(void) {
    unsigned thrown = dice(16);
    if (thrown == 0)
        dawdle();
    else if (thrown == 1)
        sched_yield();
    for (unsigned i = dice(2048); i > 0; i--)
        __asm__ volatile(""); /* so that the compiler leaves the loop alone */
}

#endif
