/* Which descriptors are of a random device (/dev/random, /dev/urandom, under any name).

   A descriptor becomes a candidate when it is opened or copied, and a candidate is looked at
   whenever it is read: the C library closes descriptors without anybody seeing it. So no other
   file is ever taken for one, and reading costs nothing while there is no candidate. */
#ifndef RF_LIBC_DEVICES_H
#define RF_LIBC_DEVICES_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/compiler.h"

extern RF_OURS unsigned rf_devices_candidates; /* how many there are; never too small */
bool rf_devices_look(int descriptor);

RF_STEP bool rf_is_random(int descriptor) {
    return __builtin_expect(rf_devices_candidates != 0, 0) && rf_devices_look(descriptor);
}
RF_STEP bool rf_is_random_file(FILE *file) {
    return __builtin_expect(rf_devices_candidates != 0, 0) &&
           rf_devices_look(fileno_unlocked(file));
}

/* A new descriptor, or -1; returns it. */
int rf_devices_opened(int descriptor);
/* A copy, or -1; returns it. */
int rf_devices_copied(int descriptor, int copy);

#endif
