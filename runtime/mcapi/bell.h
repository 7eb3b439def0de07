/* Sleeping until something happens, and waking those who sleep. */
#ifndef MC_BELL_H
#define MC_BELL_H

#include "layout.h"

/* The moment up to which to wait, in nanoseconds of the monotonic clock. */
#define MC_FOREVER UINT64_MAX
uint64_t mc_now(void);
uint64_t mc_deadline(uint32_t milliseconds);

/* Announces a sleeper. What has been rung so far; look again, then sleep. */
static inline uint32_t mc_bell_listen(struct mc_bell *bell, uint32_t who) {
    uint32_t heard = __atomic_load_n(&bell->rung, __ATOMIC_ACQUIRE);
    __atomic_fetch_or(&bell->listening, who, __ATOMIC_SEQ_CST);
    return heard;
}
void mc_bell_sleep(struct mc_bell *bell, uint32_t heard, uint64_t nanoseconds);

/* Wakes the sleepers, whether they have announced themselves or not. */
void mc_bell_wake(struct mc_bell *bell);

/* Wakes them if there are any. */
static inline void mc_bell_ring(struct mc_bell *bell) {
    if (__atomic_load_n(&bell->listening, __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&bell->listening, 0, __ATOMIC_SEQ_CST))
        mc_bell_wake(bell);
}

static inline void mc_relax(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Whether this process has one thread: then nobody is there to be kept out. */
#if __has_include(<sys/single_threaded.h>)
#    include <sys/single_threaded.h>
static inline bool mc_alone(void) {
    return __libc_single_threaded;
}
#else
static inline bool mc_alone(void) {
    return false;
}
#endif

/* A lock between the threads of one process; nobody else can see it. Nothing that starts or ends a
   thread happens while it is held. */
struct mc_lock {
    uint32_t word; /* 0 free, 1 taken, 2 taken and waited for */
};
void mc_lock_wait(struct mc_lock *lock);
void mc_lock_wake(struct mc_lock *lock);

static inline void mc_lock(struct mc_lock *lock) {
    uint32_t nobody = 0;
    if (mc_alone())
        return;
    if (!__atomic_compare_exchange_n(&lock->word, &nobody, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        mc_lock_wait(lock);
}

static inline void mc_unlock(struct mc_lock *lock) {
    if (mc_alone())
        return;
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        mc_lock_wake(lock);
}

#endif
