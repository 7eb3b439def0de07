/* How descriptors come to be. None of this takes a turn: numbers of descriptors follow from what
   the program does. */
#include <stdarg.h>
#include <sys/stat.h>

#include "devices.h"
#include "process.h"
#include "real.h"

/* The fourth word is there only for files that may be created. */
static mode_t mode_of(int flags, va_list rest) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define RF_OPEN(name)                                                                              \
    RF_HOOK int name(const char *path, int flags, ...) {                                           \
        struct rf_path real;                                                                       \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        return rf_devices_opened(rf_libc()->name(rf_real_path(path, &real), flags, mode));         \
    }
RF_OPEN(open)
RF_OPEN(open64)

#define RF_OPENAT(name)                                                                            \
    RF_HOOK int name(int directory, const char *path, int flags, ...) {                            \
        struct rf_path real;                                                                       \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        return rf_devices_opened(                                                                  \
            rf_libc()->name(directory, rf_real_path(path, &real), flags, mode));                   \
    }
RF_OPENAT(openat)
RF_OPENAT(openat64)

/* What they become when compiled with _FORTIFY_SOURCE. */
#define RF_OPEN_2(name)                                                                            \
    RF_HOOK int name(const char *path, int flags) {                                                \
        struct rf_path real;                                                                       \
        return rf_devices_opened(rf_libc()->name(rf_real_path(path, &real), flags));               \
    }
RF_OPEN_2(__open_2)
RF_OPEN_2(__open64_2)

#define RF_OPENAT_2(name)                                                                          \
    RF_HOOK int name(int directory, const char *path, int flags) {                                 \
        struct rf_path real;                                                                       \
        return rf_devices_opened(rf_libc()->name(directory, rf_real_path(path, &real), flags));    \
    }
RF_OPENAT_2(__openat_2)
RF_OPENAT_2(__openat64_2)

/* Without a buffer, since what is inlined takes bytes out of that unseen. */
static FILE *opened(FILE *file) {
    if (file && rf_is_random(rf_devices_opened(fileno(file))))
        setvbuf(file, NULL, _IONBF, 0);
    return file;
}

#define RF_FOPEN(name)                                                                             \
    RF_HOOK FILE *name(const char *restrict path, const char *restrict mode) {                     \
        struct rf_path real;                                                                       \
        return opened(rf_libc()->name(rf_real_path(path, &real), mode));                           \
    }
RF_FOPEN(fopen)
RF_FOPEN(fopen64)

#define RF_FREOPEN(name)                                                                           \
    RF_HOOK FILE *name(const char *restrict path, const char *restrict mode,                       \
                       FILE *restrict file) {                                                      \
        struct rf_path real;                                                                       \
        return opened(rf_libc()->name(rf_real_path(path, &real), mode, file));                     \
    }
RF_FREOPEN(freopen)
RF_FREOPEN(freopen64)

RF_HOOK FILE *fdopen(int descriptor, const char *mode) {
    return opened(rf_libc()->fdopen(descriptor, mode));
}

RF_HOOK int dup(int descriptor) {
    return rf_devices_copied(descriptor, rf_libc()->dup(descriptor));
}

RF_HOOK int dup2(int descriptor, int copy) {
    return rf_devices_copied(descriptor, rf_libc()->dup2(descriptor, copy));
}

RF_HOOK int dup3(int descriptor, int copy, int flags) {
    return rf_devices_copied(descriptor, rf_libc()->dup3(descriptor, copy, flags));
}

/* Whatever the third word is, it is as large as a pointer at most. */
#define RF_FCNTL(name)                                                                             \
    RF_HOOK int name(int descriptor, int command, ...) {                                           \
        va_list rest;                                                                              \
        va_start(rest, command);                                                                   \
        void *word = va_arg(rest, void *);                                                         \
        va_end(rest);                                                                              \
        if (command == F_SETOWN)                                                                   \
            word = (void *)(intptr_t)rf_real_id((pid_t)(intptr_t)word);                            \
        int code = rf_libc()->name(descriptor, command, word);                                     \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC                                    \
                   ? rf_devices_copied(descriptor, code)                                           \
                   : code;                                                                         \
    }
RF_FCNTL(fcntl)
RF_FCNTL(fcntl64)
