/* Streams of the C library: which thread writes its line when, and which one reads the next.

   The lock of a stream is inside the C library and not seen. While recording it is held around the
   call, with flockfile(), so that the turns on a stream come in the order of the calls. A call
   counts when it is over: one that waits for input may never come back.

   What a program prints decides nothing, and who looks for a bug adds a line here and takes one
   away there. So a call more or less is no difference: each one has an entry in the log, and a
   replay sees which of its calls are the recorded ones. */
#include "threads/streams.h"

#include <errno.h>
#include <stdarg.h>

#include "threads/hook.h"

/* What compilers call; no header declares them. */
RF_HOOK int _IO_putc(int c, FILE *stream);
RF_HOOK int __printf_chk(int flag, const char *restrict format, ...);
RF_HOOK int __fprintf_chk(FILE *restrict stream, int flag, const char *restrict format, ...);
RF_HOOK int __vprintf_chk(int flag, const char *restrict format, va_list arguments);
RF_HOOK int __vfprintf_chk(FILE *restrict stream, int flag, const char *restrict format,
                           va_list arguments);
RF_HOOK char *__fgets_chk(char *restrict text, size_t room, int size, FILE *restrict stream);

struct passage {
    struct rf_thread *self; /* NULL: passed on as it is */
    FILE *stream;
    uintptr_t address;
    bool over; /* the call; else the thread was cancelled in it */
};

/* The thread, if it is the program that calls. Clocks would have to tick for streams as well. */
static struct rf_thread *user(FILE *stream, uintptr_t address) {
    struct rf_thread *self = rf_threads.library && stream && !rf_clocks() ? rf_here() : NULL;
    return self && !rf_is_internal(address) ? self : NULL;
}

static struct passage enter(FILE *stream, uintptr_t address) {
    struct rf_thread *self = user(stream, address);
    if (self && !rf_threads.replays)
        rf_real_functions.flockfile(stream);
    else if (self && !rf_stream_await(self, address))
        self = NULL;
    return (struct passage){self, stream, address, false};
}

static void leave(struct passage *passage) {
    struct rf_thread *self = passage->self;
    if (!self)
        return;
    int error = errno;
    if (rf_threads.replays) {
        if (passage->over) {
            rf_turn_played(self);
            rf_turn_wake(self);
        }
    } else {
        if (passage->over && rf_threads.on)
            rf_take_edge(self, RF_OP_STREAM, passage->address, passage->stream, true);
        rf_real_functions.funlockfile(passage->stream);
    }
    errno = error;
}

/* `call` is the real one, of the type `type`. */
#define RF_STREAM_FROM(from, stream, type, call)                                                   \
    __attribute__((cleanup(leave))) struct passage passage = enter(stream, from);                  \
    type result = call;                                                                            \
    passage.over = true;                                                                           \
    return result
#define RF_STREAM(stream, type, call) RF_STREAM_FROM(RF_HERE_ADDRESS, stream, type, rf_real()->call)

size_t rf_stream_items(rf_read_items *real, void *bytes, size_t size, size_t count, FILE *stream,
                       uintptr_t address) {
    RF_STREAM_FROM(address, stream, size_t, real(bytes, size, count, stream));
}

/* ---- the lock itself: what its owner calls comes in the turns that follow ---- */

RF_HOOK void flockfile(FILE *stream) {
    struct rf_thread *self = user(stream, RF_HERE_ADDRESS);
    bool plays = self && rf_threads.replays && rf_stream_await(self, RF_HERE_ADDRESS);
    rf_real()->flockfile(stream);
    if (plays)
        rf_turn_played(self);
    else if (self && !rf_threads.replays)
        rf_take_edge(self, RF_OP_STREAM, RF_HERE_ADDRESS, stream, true);
}

/* ---- out ---- */

RF_HOOK int puts(const char *text) {
    RF_STREAM(stdout, int, puts(text));
}

RF_HOOK int fputs(const char *restrict text, FILE *restrict stream) {
    RF_STREAM(stream, int, fputs(text, stream));
}

RF_HOOK size_t fwrite(const void *restrict bytes, size_t size, size_t count,
                      FILE *restrict stream) {
    RF_STREAM(stream, size_t, fwrite(bytes, size, count, stream));
}

RF_HOOK int putchar(int c) {
    RF_STREAM(stdout, int, fputc(c, stdout));
}

RF_HOOK int fputc(int c, FILE *stream) {
    RF_STREAM(stream, int, fputc(c, stream));
}

RF_HOOK int putc(int c, FILE *stream) {
    RF_STREAM(stream, int, fputc(c, stream));
}

RF_HOOK int _IO_putc(int c, FILE *stream) {
    RF_STREAM(stream, int, fputc(c, stream));
}

static int print(FILE *stream, uintptr_t address, const char *format, va_list arguments) {
    RF_STREAM_FROM(address, stream, int, rf_real()->vfprintf(stream, format, arguments));
}

/* What fortified programs call. */
static int print_checked(FILE *stream, uintptr_t address, int flag, const char *format,
                         va_list arguments) {
    RF_STREAM_FROM(address, stream, int,
                   rf_real()->__vfprintf_chk(stream, flag, format, arguments));
}

/* `call` gets the arguments that come behind `last`. */
#define RF_ARGUMENTS(last, call)                                                                   \
    va_list arguments;                                                                             \
    va_start(arguments, last);                                                                     \
    int count = call;                                                                              \
    va_end(arguments);                                                                             \
    return count

RF_HOOK int printf(const char *restrict format, ...) {
    RF_ARGUMENTS(format, print(stdout, RF_HERE_ADDRESS, format, arguments));
}

RF_HOOK int fprintf(FILE *restrict stream, const char *restrict format, ...) {
    RF_ARGUMENTS(format, print(stream, RF_HERE_ADDRESS, format, arguments));
}

RF_HOOK int vprintf(const char *restrict format, va_list arguments) {
    return print(stdout, RF_HERE_ADDRESS, format, arguments);
}

RF_HOOK int vfprintf(FILE *restrict stream, const char *restrict format, va_list arguments) {
    return print(stream, RF_HERE_ADDRESS, format, arguments);
}

RF_HOOK int __printf_chk(int flag, const char *restrict format, ...) {
    RF_ARGUMENTS(format, print_checked(stdout, RF_HERE_ADDRESS, flag, format, arguments));
}

RF_HOOK int __fprintf_chk(FILE *restrict stream, int flag, const char *restrict format, ...) {
    RF_ARGUMENTS(format, print_checked(stream, RF_HERE_ADDRESS, flag, format, arguments));
}

RF_HOOK int __vprintf_chk(int flag, const char *restrict format, va_list arguments) {
    return print_checked(stdout, RF_HERE_ADDRESS, flag, format, arguments);
}

RF_HOOK int __vfprintf_chk(FILE *restrict stream, int flag, const char *restrict format,
                           va_list arguments) {
    return print_checked(stream, RF_HERE_ADDRESS, flag, format, arguments);
}

/* ---- in ---- */

RF_HOOK char *fgets(char *restrict text, int size, FILE *restrict stream) {
    RF_STREAM(stream, char *, fgets(text, size, stream));
}

RF_HOOK char *__fgets_chk(char *restrict text, size_t room, int size, FILE *restrict stream) {
    RF_STREAM(stream, char *, __fgets_chk(text, room, size, stream));
}

RF_HOOK ssize_t __getdelim(char **restrict line, size_t *restrict room, int end,
                           FILE *restrict stream) {
    RF_STREAM(stream, ssize_t, __getdelim(line, room, end, stream));
}

RF_HOOK ssize_t getdelim(char **restrict line, size_t *restrict room, int end,
                         FILE *restrict stream) {
    RF_STREAM(stream, ssize_t, __getdelim(line, room, end, stream));
}

RF_HOOK ssize_t getline(char **restrict line, size_t *restrict room, FILE *restrict stream) {
    RF_STREAM(stream, ssize_t, __getdelim(line, room, '\n', stream));
}

typedef int scanner(FILE *stream, const char *format, va_list arguments);

static int scan(scanner *real, FILE *stream, uintptr_t address, const char *format,
                va_list arguments) {
    RF_STREAM_FROM(address, stream, int, real(stream, format, arguments));
}

/* A family for each standard of C: headers give one of them the usual names. */
#define RF_SCAN(family, prefix)                                                                    \
    RF_HOOK int family##_scanf(const char *, ...) __asm__(prefix "scanf");                         \
    RF_HOOK int family##_fscanf(FILE *, const char *, ...) __asm__(prefix "fscanf");               \
    RF_HOOK int family##_vscanf(const char *, va_list) __asm__(prefix "vscanf");                   \
    RF_HOOK int family##_vfscanf(FILE *, const char *, va_list) __asm__(prefix "vfscanf");         \
    int family##_scanf(const char *format, ...) {                                                  \
        RF_ARGUMENTS(format, scan(rf_real()->family, stdin, RF_HERE_ADDRESS, format, arguments));  \
    }                                                                                              \
    int family##_fscanf(FILE *stream, const char *format, ...) {                                   \
        RF_ARGUMENTS(format, scan(rf_real()->family, stream, RF_HERE_ADDRESS, format, arguments)); \
    }                                                                                              \
    int family##_vscanf(const char *format, va_list arguments) {                                   \
        return scan(rf_real()->family, stdin, RF_HERE_ADDRESS, format, arguments);                 \
    }                                                                                              \
    int family##_vfscanf(FILE *stream, const char *format, va_list arguments) {                    \
        return scan(rf_real()->family, stream, RF_HERE_ADDRESS, format, arguments);                \
    }
RF_SCAN(vfscanf, "")
RF_SCAN(__isoc99_vfscanf, "__isoc99_")
RF_SCAN(__isoc23_vfscanf, "__isoc23_")
