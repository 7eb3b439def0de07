#ifndef RF_LIBC_RANDOM_H
#define RF_LIBC_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The functions of these names, called from `address`. */
ssize_t rf_getrandom(void *bytes, size_t size, unsigned flags, uintptr_t address);
ssize_t rf_read(int descriptor, void *bytes, size_t size, uintptr_t address); /* read.c */

#endif
