#ifndef RF_LIBC_RANDOM_H
#define RF_LIBC_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t rf_getrandom(void *bytes, size_t size, unsigned flags, uintptr_t address);

#endif
