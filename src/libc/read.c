/* Reading from a random device, directly and through stdio. A file is kept as what the program took
   out of it; how much the C library read ahead does not matter then. */
#include <sys/uio.h>

#include "devices.h"
#include "random.h"
#include "real.h"
#include "values.h"

static struct rf_thread *reader(int descriptor, uintptr_t address) {
    return rf_is_random(descriptor) ? rf_value_thread(RF_VALUES_RANDOM, address) : NULL;
}

static struct rf_thread *file_reader(FILE *file, uintptr_t address) {
    return rf_is_random_file(file) ? rf_value_thread(RF_VALUES_RANDOM, address) : NULL;
}

/* `call` gives the bytes now, of which `asked` are wanted. */
#define RF_READ_FROM(address, self, what, asked, call)                                             \
    ssize_t got;                                                                                   \
    if (rf_plays(self) && rf_random_get(self, what, address, bytes, asked, &got))                  \
        return got;                                                                                \
    got = call;                                                                                    \
    if (rf_records(self))                                                                          \
        rf_random_record(self, what, address, bytes, asked, got);                                  \
    return got
#define RF_READ(self, what, asked, call) RF_READ_FROM(RF_HERE_ADDRESS, self, what, asked, call)

ssize_t rf_read(int descriptor, void *bytes, size_t size, uintptr_t address) {
    struct rf_thread *self = reader(descriptor, address);
    RF_READ_FROM(address, self, RF_OP_RANDOM_READ, size, rf_libc()->read(descriptor, bytes, size));
}

RF_HOOK ssize_t read(int descriptor, void *bytes, size_t size) {
    return rf_read(descriptor, bytes, size, RF_HERE_ADDRESS);
}

RF_HOOK ssize_t __read_chk(int descriptor, void *bytes, size_t size, size_t room) {
    struct rf_thread *self = size <= room ? reader(descriptor, RF_HERE_ADDRESS) : NULL;
    RF_READ(self, RF_OP_RANDOM_READ, size, rf_libc()->__read_chk(descriptor, bytes, size, room));
}

RF_HOOK ssize_t pread(int descriptor, void *bytes, size_t size, off_t place) {
    struct rf_thread *self = reader(descriptor, RF_HERE_ADDRESS);
    RF_READ(self, RF_OP_RANDOM_PREAD, size, rf_libc()->pread(descriptor, bytes, size, place));
}

RF_HOOK ssize_t pread64(int descriptor, void *bytes, size_t size, off64_t place) {
    struct rf_thread *self = reader(descriptor, RF_HERE_ADDRESS);
    RF_READ(self, RF_OP_RANDOM_PREAD, size, rf_libc()->pread64(descriptor, bytes, size, place));
}

/* Piece by piece, each as if it had been read alone. */
RF_HOOK ssize_t readv(int descriptor, const struct iovec *pieces, int count) {
    struct rf_thread *self = reader(descriptor, RF_HERE_ADDRESS);
    if (!self)
        return rf_libc()->readv(descriptor, pieces, count);
    ssize_t all = 0;
    for (int i = 0; i < count; i++) {
        void *bytes = pieces[i].iov_base;
        size_t size = pieces[i].iov_len;
        ssize_t got;
        if (!rf_plays(self) ||
            !rf_random_get(self, RF_OP_RANDOM_READV, RF_HERE_ADDRESS, bytes, size, &got)) {
            got = rf_libc()->read(descriptor, bytes, size);
            if (rf_records(self))
                rf_random_record(self, RF_OP_RANDOM_READV, RF_HERE_ADDRESS, bytes, size, got);
        }
        if (got < 0)
            return all ? all : got;
        all += got;
        if ((size_t)got < size)
            break;
    }
    return all;
}

typedef size_t read_items(void *bytes, size_t size, size_t count, FILE *file);

/* A part of an item at the end is lost, so what is kept is whole items. */
static size_t items(struct rf_thread *self, read_items *real, void *bytes, size_t size,
                    size_t count, FILE *file, uintptr_t address) {
    ssize_t taken;
    if (rf_plays(self) &&
        rf_random_get(self, RF_OP_RANDOM_FREAD, address, bytes, size * count, &taken))
        return (size_t)taken / size;
    size_t got = real(bytes, size, count, file);
    if (rf_records(self))
        rf_random_record(self, RF_OP_RANDOM_FREAD, address, bytes, size * count,
                         (ssize_t)(got * size));
    return got;
}

static bool is_whole(size_t size, size_t count) {
    size_t all;
    return size && count && !__builtin_mul_overflow(size, count, &all);
}

RF_HOOK size_t fread(void *restrict bytes, size_t size, size_t count, FILE *restrict file) {
    struct rf_thread *self = is_whole(size, count) ? file_reader(file, RF_HERE_ADDRESS) : NULL;
    return self ? items(self, rf_libc()->fread, bytes, size, count, file, RF_HERE_ADDRESS)
                : rf_libc()->fread(bytes, size, count, file);
}

#undef fread_unlocked
RF_HOOK size_t fread_unlocked(void *restrict bytes, size_t size, size_t count,
                              FILE *restrict file) {
    struct rf_thread *self = is_whole(size, count) ? file_reader(file, RF_HERE_ADDRESS) : NULL;
    return self ? items(self, rf_libc()->fread_unlocked, bytes, size, count, file, RF_HERE_ADDRESS)
                : rf_libc()->fread_unlocked(bytes, size, count, file);
}

static bool fits(size_t size, size_t count, size_t room) {
    return is_whole(size, count) && size * count <= room;
}

RF_HOOK size_t __fread_chk(void *bytes, size_t room, size_t size, size_t count, FILE *file) {
    struct rf_thread *self = fits(size, count, room) ? file_reader(file, RF_HERE_ADDRESS) : NULL;
    return self ? items(self, rf_libc()->fread, bytes, size, count, file, RF_HERE_ADDRESS)
                : rf_libc()->__fread_chk(bytes, room, size, count, file);
}

RF_HOOK size_t __fread_unlocked_chk(void *bytes, size_t room, size_t size, size_t count,
                                    FILE *file) {
    struct rf_thread *self = fits(size, count, room) ? file_reader(file, RF_HERE_ADDRESS) : NULL;
    return self ? items(self, rf_libc()->fread_unlocked, bytes, size, count, file, RF_HERE_ADDRESS)
                : rf_libc()->__fread_unlocked_chk(bytes, room, size, count, file);
}

/* getc() and its like under all their names. The last one is what the inlined forms call when there
   is nothing in the buffer, and a random device's file has none. */
#define RF_GETC(name)                                                                              \
    RF_HOOK int name(FILE *file) {                                                                 \
        struct rf_thread *self = file_reader(file, RF_HERE_ADDRESS);                               \
        int64_t got;                                                                               \
        if (rf_plays(self) && rf_value_get(self, RF_OP_RANDOM_FGETC, RF_HERE_ADDRESS, &got))       \
            return (int)got;                                                                       \
        got = rf_libc()->name(file);                                                               \
        if (rf_records(self))                                                                      \
            rf_value_record(self, RF_OP_RANDOM_FGETC, RF_HERE_ADDRESS, got);                       \
        return (int)got;                                                                           \
    }
RF_GETC(fgetc)
RF_GETC(_IO_getc)
RF_GETC(fgetc_unlocked)
#undef getc
RF_GETC(getc)
#undef getc_unlocked
RF_GETC(getc_unlocked)
RF_GETC(__uflow)
