/* Read by the compiler before everything else when it is run by `refrain cc`.

   -fno-inline-atomics makes calls of the __atomic functions of GCC, but for these: the older __sync
   ones, and test-and-set, on which atomic_flag and std::atomic_flag are built. Here they are made
   of those that become calls. */
#ifndef REFRAIN_ATOMICS_H
#define REFRAIN_ATOMICS_H

#define __sync_fetch_and_add(object, value, ...) __atomic_fetch_add(object, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_sub(object, value, ...) __atomic_fetch_sub(object, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_or(object, value, ...) __atomic_fetch_or(object, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_and(object, value, ...) __atomic_fetch_and(object, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_xor(object, value, ...) __atomic_fetch_xor(object, value, __ATOMIC_SEQ_CST)
#define __sync_fetch_and_nand(object, value, ...)                                                  \
    __atomic_fetch_nand(object, value, __ATOMIC_SEQ_CST)
#define __sync_add_and_fetch(object, value, ...) __atomic_add_fetch(object, value, __ATOMIC_SEQ_CST)
#define __sync_sub_and_fetch(object, value, ...) __atomic_sub_fetch(object, value, __ATOMIC_SEQ_CST)
#define __sync_or_and_fetch(object, value, ...) __atomic_or_fetch(object, value, __ATOMIC_SEQ_CST)
#define __sync_and_and_fetch(object, value, ...) __atomic_and_fetch(object, value, __ATOMIC_SEQ_CST)
#define __sync_xor_and_fetch(object, value, ...) __atomic_xor_fetch(object, value, __ATOMIC_SEQ_CST)
#define __sync_nand_and_fetch(object, value, ...)                                                  \
    __atomic_nand_fetch(object, value, __ATOMIC_SEQ_CST)
#define __sync_lock_test_and_set(object, value, ...)                                               \
    __atomic_exchange_n(object, value, __ATOMIC_ACQUIRE)
#define __sync_lock_release(object, ...) __atomic_store_n(object, 0, __ATOMIC_RELEASE)
#define __sync_bool_compare_and_swap(object, before, after, ...)                                   \
    __extension__({                                                                                \
        __typeof__(*(object)) refrain_before_ = (before);                                          \
        __atomic_compare_exchange_n(object, (void *)&refrain_before_, after, 0, __ATOMIC_SEQ_CST,  \
                                    __ATOMIC_SEQ_CST);                                             \
    })
#define __sync_val_compare_and_swap(object, before, after, ...)                                    \
    __extension__({                                                                                \
        __typeof__(*(object)) refrain_before_ = (before);                                          \
        __atomic_compare_exchange_n(object, (void *)&refrain_before_, after, 0, __ATOMIC_SEQ_CST,  \
                                    __ATOMIC_SEQ_CST);                                             \
        refrain_before_;                                                                           \
    })
#define __atomic_test_and_set(object, order)                                                       \
    (__atomic_exchange_n((unsigned char volatile *)(object), 1, order) != 0)
#define __atomic_clear(object, order) __atomic_store_n((unsigned char volatile *)(object), 0, order)

#endif
