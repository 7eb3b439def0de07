/* The functions behind the hooks: those of the C library, or of whatever else is preloaded. */
#ifndef RF_LIBC_REAL_H
#define RF_LIBC_REAL_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "trace/compiler.h"

/* The one thing of this library that others see. */
#define RF_HOOK __attribute__((visibility("default")))

/* What compilers call, and libraries of other languages; no header declares them. */
RF_HOOK unsigned _ZNSt13random_device9_M_getvalEv(void *device);
RF_HOOK unsigned _ZNSt13random_device16_M_getval_pretr1Ev(void *device);
RF_HOOK int __open_2(const char *path, int flags);
RF_HOOK int __open64_2(const char *path, int flags);
RF_HOOK int __openat_2(int directory, const char *path, int flags);
RF_HOOK int __openat64_2(int directory, const char *path, int flags);
RF_HOOK ssize_t __read_chk(int descriptor, void *bytes, size_t size, size_t room);
RF_HOOK size_t __fread_chk(void *bytes, size_t room, size_t size, size_t count, FILE *file);
RF_HOOK size_t __fread_unlocked_chk(void *bytes, size_t room, size_t size, size_t count,
                                    FILE *file);
RF_HOOK int _IO_getc(FILE *file);
#if !__GLIBC_PREREQ(2, 36)
RF_HOOK uint32_t arc4random(void);
RF_HOOK void arc4random_buf(void *bytes, size_t size);
RF_HOOK uint32_t arc4random_uniform(uint32_t bound);
#endif

struct rf_libc {
#define RF_LIBC(name) __typeof__(name) *name;
#include "functions.def"
#undef RF_LIBC
};

extern RF_OURS struct rf_libc rf_libc_functions;
extern RF_OURS bool rf_libc_known;
void rf_libc_find(void);

/* Hooks may be called before anything of this library could be set up. */
RF_STEP const struct rf_libc *rf_libc(void) {
    if (__builtin_expect(!__atomic_load_n(&rf_libc_known, __ATOMIC_ACQUIRE), 0))
        rf_libc_find();
    return &rf_libc_functions;
}

#endif
