#include "devices.h"

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "values.h"

enum { DESCRIPTORS = 65536, INHERITED = 16, BITS = 32 };

/* Descriptors that the program was started with may be of one. */
unsigned rf_devices_candidates = INHERITED;
static uint32_t candidates[DESCRIPTORS / BITS] = {(1u << INHERITED) - 1};

static bool is_candidate(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS &&
           __atomic_load_n(&candidates[descriptor / BITS], __ATOMIC_RELAXED) >>
                   (unsigned)descriptor % BITS &
               1;
}

static void set(int descriptor, bool wanted) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS || is_candidate(descriptor) == wanted)
        return;
    uint32_t bit = 1u << (unsigned)descriptor % BITS;
    /* Counted first when it comes and last when it goes, and by the thread that changed the bit. */
    if (wanted)
        __atomic_fetch_add(&rf_devices_candidates, 1, __ATOMIC_RELAXED);
    uint32_t before =
        wanted ? __atomic_fetch_or(&candidates[descriptor / BITS], bit, __ATOMIC_RELAXED)
               : __atomic_fetch_and(&candidates[descriptor / BITS], ~bit, __ATOMIC_RELAXED);
    if (wanted == !!(before & bit) && wanted)
        __atomic_fetch_sub(&rf_devices_candidates, 1, __ATOMIC_RELAXED);
    if (!wanted && (before & bit))
        __atomic_fetch_sub(&rf_devices_candidates, 1, __ATOMIC_RELAXED);
}

/* Linux has had these numbers for /dev/random and /dev/urandom for ever. */
static bool is_device(int descriptor) {
    struct stat facts;
    int before = errno;
    bool good = fstat(descriptor, &facts) == 0 && S_ISCHR(facts.st_mode) &&
                major(facts.st_rdev) == 1 &&
                (minor(facts.st_rdev) == 8 || minor(facts.st_rdev) == 9);
    errno = before;
    return good;
}

bool rf_devices_look(int descriptor) {
    if (!is_candidate(descriptor))
        return false;
    if (!rf_values_keep(RF_VALUES_RANDOM)) {
        rf_devices_candidates = 0; /* nobody is going to ask */
        return false;
    }
    if (is_device(descriptor))
        return true;
    set(descriptor, false);
    return false;
}

int rf_devices_opened(int descriptor) {
    if (descriptor >= 0 && rf_values_keep(RF_VALUES_RANDOM) && is_device(descriptor))
        set(descriptor, true);
    return descriptor;
}

int rf_devices_copied(int descriptor, int copy) {
    if (copy >= 0 && is_candidate(descriptor) && rf_values_keep(RF_VALUES_RANDOM))
        set(copy, true);
    return copy;
}
