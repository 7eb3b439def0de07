/* Random numbers that come from functions. */
#include <dlfcn.h>

#include "random.h"
#include "real.h"
#include "values.h"

ssize_t rf_getrandom(void *bytes, size_t size, unsigned flags, uintptr_t address) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_RANDOM, address);
    ssize_t got;
    if (rf_plays(self) && rf_random_get(self, RF_OP_GETRANDOM, address, bytes, size, &got))
        return got;
    got = rf_libc()->getrandom(bytes, size, flags);
    if (rf_records(self))
        rf_random_record(self, RF_OP_GETRANDOM, address, bytes, size, got);
    return got;
}

RF_HOOK ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
    return rf_getrandom(bytes, size, flags, RF_HERE_ADDRESS);
}

RF_HOOK int getentropy(void *bytes, size_t size) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_RANDOM, RF_HERE_ADDRESS);
    ssize_t got;
    if (rf_plays(self) && rf_random_get(self, RF_OP_GETENTROPY, RF_HERE_ADDRESS, bytes, size, &got))
        return got < 0 ? -1 : 0;
    int code = rf_libc()->getentropy(bytes, size);
    if (rf_records(self))
        rf_random_record(self, RF_OP_GETENTROPY, RF_HERE_ADDRESS, bytes, size,
                         code == 0 ? (ssize_t)size : -1);
    return code;
}

RF_HOOK uint32_t arc4random(void) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_RANDOM, RF_HERE_ADDRESS);
    int64_t number;
    if (rf_plays(self) && rf_value_get(self, RF_OP_ARC4RANDOM, RF_HERE_ADDRESS, &number))
        return (uint32_t)number;
    number = (int32_t)rf_libc()->arc4random();
    if (rf_records(self))
        rf_value_record(self, RF_OP_ARC4RANDOM, RF_HERE_ADDRESS, number);
    return (uint32_t)number;
}

RF_HOOK void arc4random_buf(void *bytes, size_t size) {
    struct rf_thread *self = size ? rf_value_thread(RF_VALUES_RANDOM, RF_HERE_ADDRESS) : NULL;
    if (rf_plays(self) && rf_bytes_get(self, RF_OP_ARC4RANDOM_BUF, RF_HERE_ADDRESS, bytes, size))
        return;
    rf_libc()->arc4random_buf(bytes, size);
    if (rf_records(self))
        rf_bytes_record(self, RF_OP_ARC4RANDOM_BUF, RF_HERE_ADDRESS, bytes, size);
}

RF_HOOK uint32_t arc4random_uniform(uint32_t bound) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_RANDOM, RF_HERE_ADDRESS);
    int64_t number;
    if (rf_plays(self) && rf_value_get(self, RF_OP_ARC4RANDOM_UNIFORM, RF_HERE_ADDRESS, &number)) {
        if (bound && (uint32_t)number >= bound)
            rf_turn_differs(self, RF_OP_ARC4RANDOM_UNIFORM, RF_HERE_ADDRESS,
                            "asks for a number below %u, recorded was %u", bound, (uint32_t)number);
        return (uint32_t)number;
    }
    number = (int32_t)rf_libc()->arc4random_uniform(bound);
    if (rf_records(self))
        rf_value_record(self, RF_OP_ARC4RANDOM_UNIFORM, RF_HERE_ADDRESS, number);
    return (uint32_t)number;
}

static void release(const int *unused) {
    (void)unused;
    rf_values_release();
}

/* std::random_device asks through these functions, whatever its source is: an instruction of the
   processor, mostly, which nobody else sees. The library may come after us, and hide its names. */
typedef unsigned get_value(void *object);

static get_value *find(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    void *library = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        found = dlsym(library, name);
        dlclose(library);
    }
    get_value *function;
    *(void **)&function = found;
    return function;
}

static unsigned device(get_value *real, void *object, uintptr_t address) {
    struct rf_thread *self = rf_value_thread(RF_VALUES_RANDOM, address);
    int64_t number;
    if (!self)
        return real(object);
    if (rf_plays(self) && rf_value_get(self, RF_OP_RANDOM_DEVICE, address, &number))
        return (unsigned)number;
    {
        /* It may throw an exception. */
        __attribute__((cleanup(release))) int held = 0;
        (void)held;
        rf_values_hold();
        number = (int32_t)real(object);
    }
    if (rf_records(self))
        rf_value_record(self, RF_OP_RANDOM_DEVICE, address, number);
    return (unsigned)number;
}

RF_HOOK unsigned _ZNSt13random_device9_M_getvalEv(void *object) {
    static get_value *real;
    if (!real)
        real = find(__func__);
    return device(real, object, RF_HERE_ADDRESS);
}

RF_HOOK unsigned _ZNSt13random_device16_M_getval_pretr1Ev(void *object) {
    static get_value *real;
    if (!real)
        real = find(__func__);
    return device(real, object, RF_HERE_ADDRESS);
}
