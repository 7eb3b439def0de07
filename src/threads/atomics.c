/* Atomic operations as calls of libatomic, which is what GCC makes of them with
   -fno-inline-atomics: see `refrain cc`. Each is an operation on its object, loads too.

   An atomic operation does not keep others off, so its place in the order is only known if nobody
   comes between it and its turn: while recording, both are done under a lock. Up to eight bytes the
   operation is one instruction, here as in libatomic. */
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "threads/hook.h"
#include "threads/races.h"

#define LOCKS 256u

static struct { _Alignas(64) int taken; } locks[LOCKS];

static int *lock_of(const volatile void *object) {
    return &locks[((uintptr_t)object >> 3) * 0x9e3779b97f4a7c15u >> 56].taken;
}

static void lock(const volatile void *object) {
    for (int *taken = lock_of(object); __atomic_exchange_n(taken, 1, __ATOMIC_ACQUIRE);)
        sched_yield();
}

static void unlock(const volatile void *object) {
    __atomic_store_n(lock_of(object), 0, __ATOMIC_RELEASE);
}

/* Before the operation and after it. Between the two nothing else is an operation: libatomic may
   have to take a mutex, and a signal handler must not wait for the lock of the thread that it
   interrupts. */
static struct rf_thread *begin(const volatile void *object, uintptr_t address) {
    struct rf_thread *self = rf_here();
    if (!self)
        return NULL;
    if (rf_threads.replays)
        rf_turn_await(self, RF_OP_ATOMIC, address);
    self->inside++;
    if (!rf_threads.replays)
        lock(object);
    return self;
}

static void end(struct rf_thread *self, const volatile void *object, uintptr_t address) {
    if (!self)
        return;
    if (rf_threads.replays) {
        self->inside--;
        rf_turn_played(self);
        rf_turn_wake(self);
    } else {
        rf_take(self, RF_OP_ATOMIC, address, object);
        unlock(object);
        self->inside--;
    }
}

/* Valgrind does not know what an atomic operation orders: a load nothing before it, a store nothing
   after it. */
static void tell_before(const volatile void *object, int order) {
    if (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST)
        rf_race_before((const void *)object);
}

static void tell_after(const volatile void *object, int order) {
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE)
        rf_race_after((const void *)object);
}

#define LOAD_ORDER (order == __ATOMIC_SEQ_CST ? __ATOMIC_ACQUIRE : order)
#define STORE_ORDER (order == __ATOMIC_SEQ_CST ? __ATOMIC_RELEASE : order)

#define WITH_TURN(object, order, operation)                                                        \
    do {                                                                                           \
        struct rf_thread *self = begin(object, RF_HERE_ADDRESS);                                   \
        tell_before(object, order);                                                                \
        operation;                                                                                 \
        tell_after(object, order);                                                                 \
        end(self, object, RF_HERE_ADDRESS);                                                        \
    } while (0)

/* The compiler has declarations of its own for these names. */
#define HOOK(result, name, parameters)                                                             \
    RF_HOOK result rf_atomic_##name parameters __asm__("__atomic_" #name);                         \
    result rf_atomic_##name parameters

#define UPDATE(size, type, name)                                                                   \
    HOOK(type, fetch_##name##_##size, (volatile void *object, type value, int order)) {            \
        type before;                                                                               \
        WITH_TURN(object, order,                                                                   \
                  before =                                                                         \
                      __atomic_fetch_##name((volatile type *)object, value, __ATOMIC_SEQ_CST));    \
        return before;                                                                             \
    }                                                                                              \
    HOOK(type, name##_fetch_##size, (volatile void *object, type value, int order)) {              \
        type after;                                                                                \
        WITH_TURN(object, order,                                                                   \
                  after =                                                                          \
                      __atomic_##name##_fetch((volatile type *)object, value, __ATOMIC_SEQ_CST));  \
        return after;                                                                              \
    }

#define SIZE(size, type)                                                                           \
    HOOK(type, load_##size, (const volatile void *object, int order)) {                            \
        type value;                                                                                \
        WITH_TURN(object, LOAD_ORDER,                                                              \
                  value = __atomic_load_n((const volatile type *)object, __ATOMIC_SEQ_CST));       \
        return value;                                                                              \
    }                                                                                              \
    HOOK(void, store_##size, (volatile void *object, type value, int order)) {                     \
        WITH_TURN(object, STORE_ORDER,                                                             \
                  __atomic_store_n((volatile type *)object, value, __ATOMIC_SEQ_CST));             \
    }                                                                                              \
    HOOK(type, exchange_##size, (volatile void *object, type value, int order)) {                  \
        type before;                                                                               \
        WITH_TURN(object, order,                                                                   \
                  before = __atomic_exchange_n((volatile type *)object, value, __ATOMIC_SEQ_CST)); \
        return before;                                                                             \
    }                                                                                              \
    HOOK(bool, compare_exchange_##size,                                                            \
         (volatile void *object, void *expected, type value, int success, int failure)) {          \
        bool done;                                                                                 \
        (void)failure;                                                                             \
        WITH_TURN(object, success,                                                                 \
                  done = __atomic_compare_exchange_n((volatile type *)object, (type *)expected,    \
                                                     value, false, __ATOMIC_SEQ_CST,               \
                                                     __ATOMIC_SEQ_CST));                           \
        return done;                                                                               \
    }                                                                                              \
    UPDATE(size, type, add)                                                                        \
    UPDATE(size, type, sub)                                                                        \
    UPDATE(size, type, and)                                                                        \
    UPDATE(size, type, or)                                                                         \
    UPDATE(size, type, xor)                                                                        \
    UPDATE(size, type, nand)

SIZE(1, uint8_t)
SIZE(2, uint16_t)
SIZE(4, uint32_t)
SIZE(8, uint64_t)

/* ---- any other size: libatomic has locks of its own for these, or an instruction ---- */

static void *find(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    void *library = function ? NULL : dlopen("libatomic.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        function = dlsym(library, name);
        dlclose(library);
    }
    return function;
}

/* `real` becomes the function of libatomic that has this name. */
#define REAL(name)                                                                                 \
    static __typeof__(&rf_atomic_##name) known;                                                    \
    __typeof__(&rf_atomic_##name) real = __atomic_load_n(&known, __ATOMIC_RELAXED);                \
    if (!real) {                                                                                   \
        void *function = find("__atomic_" #name);                                                  \
        memcpy(&real, &function, sizeof function);                                                 \
        __atomic_store_n(&known, real, __ATOMIC_RELAXED);                                          \
    }

HOOK(void, load, (size_t size, const volatile void *object, void *value, int order)) {
    REAL(load);
    WITH_TURN(object, LOAD_ORDER, real(size, object, value, order));
}

HOOK(void, store, (size_t size, volatile void *object, void *value, int order)) {
    REAL(store);
    WITH_TURN(object, STORE_ORDER, real(size, object, value, order));
}

HOOK(void, exchange, (size_t size, volatile void *object, void *value, void *before, int order)) {
    REAL(exchange);
    WITH_TURN(object, order, real(size, object, value, before, order));
}

HOOK(bool, compare_exchange,
     (size_t size, volatile void *object, void *expected, void *value, int success, int failure)) {
    REAL(compare_exchange);
    bool done;
    WITH_TURN(object, success, done = real(size, object, expected, value, success, failure));
    return done;
}

__extension__ typedef unsigned __int128 wide;

HOOK(wide, load_16, (const volatile void *object, int order)) {
    REAL(load_16);
    wide value;
    WITH_TURN(object, LOAD_ORDER, value = real(object, order));
    return value;
}

HOOK(void, store_16, (volatile void *object, wide value, int order)) {
    REAL(store_16);
    WITH_TURN(object, STORE_ORDER, real(object, value, order));
}

#define WIDE(name)                                                                                 \
    HOOK(wide, name##_16, (volatile void *object, wide value, int order)) {                        \
        REAL(name##_16);                                                                           \
        wide result;                                                                               \
        WITH_TURN(object, order, result = real(object, value, order));                             \
        return result;                                                                             \
    }

WIDE(exchange)
WIDE(fetch_add)
WIDE(fetch_sub)
WIDE(fetch_and)
WIDE(fetch_or)
WIDE(fetch_xor)
WIDE(fetch_nand)
WIDE(add_fetch)
WIDE(sub_fetch)
WIDE(and_fetch)
WIDE(or_fetch)
WIDE(xor_fetch)
WIDE(nand_fetch)

HOOK(bool, compare_exchange_16,
     (volatile void *object, void *expected, wide value, int success, int failure)) {
    REAL(compare_exchange_16);
    bool done;
    WITH_TURN(object, success, done = real(object, expected, value, success, failure));
    return done;
}
