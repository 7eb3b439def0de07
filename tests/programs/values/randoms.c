/* Every way to random bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "say.h"

static unsigned char bytes[300000];

static void show(const char *what, long got, size_t size) {
    SAY("%s: %ld, %016llx", what, got, digest(bytes, size));
    memset(bytes, 0, sizeof bytes);
}

static void functions(void) {
    static const size_t sizes[] = {1, 7, 8, 16, 511, 512, 513, 4096, sizeof bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        show("getrandom", getrandom(bytes, sizes[i], 0), sizes[i]);
    show("getrandom of nothing", getrandom(bytes, 0, 0), 0);
    long code = getrandom(bytes, 8, 0x4000);
    SAY("getrandom, flags: %ld, %d", code, errno == EINVAL);
    show("getentropy", getentropy(bytes, 32), 32);
    code = getentropy(bytes, 257);
    SAY("getentropy, too much: %ld, %d", code, errno == EIO);
    show("syscall", syscall(SYS_getrandom, bytes, 24, 0), 24);
    int number = (int)syscall(SYS_openat, AT_FDCWD, "/dev/urandom", O_RDONLY);
    show("syscall", syscall(SYS_read, number, bytes, 24), 24);
    close(number);
#if __GLIBC_PREREQ(2, 36)
    SAY("arc4random: %08x", (unsigned)arc4random());
    SAY("arc4random_uniform: %u", (unsigned)arc4random_uniform(1000000));
    arc4random_buf(bytes, 100);
    show("arc4random_buf", 0, 100);
#endif
}

static void descriptors(void) {
    int plain = open("/dev/urandom", O_RDONLY), other = open("/dev/zero", O_RDONLY);
    int directory = open("/dev", O_RDONLY | O_DIRECTORY);
    int under = openat(directory, "random", O_RDONLY);
    int copy = dup(plain), further = fcntl(copy, F_DUPFD, 50);
    MUST(plain >= 0 && other >= 0 && under >= 0 && copy >= 0 && further >= 50);
    show("read", read(plain, bytes, 100), 100);
    show("read, a copy", read(copy, bytes, 10), 10);
    show("read, another copy", read(further, bytes, 10), 10);
    show("read, /dev/random", read(under, bytes, 10), 10);
    show("read, /dev/zero", read(other, bytes, 10), 10);
    show("pread", pread(plain, bytes, 33, 5), 33);
    struct iovec pieces[] = {{bytes, 10}, {bytes + 10, 0}, {bytes + 10, 20}};
    show("readv", readv(plain, pieces, 3), 30);
    /* The number stays, what it stands for changes. */
    MUST(dup2(other, copy) == copy);
    show("read, no copy any more", read(copy, bytes, 10), 10);
    MUST(dup2(plain, other) == other);
    show("read, a new copy", read(other, bytes, 10), 10);
    MUST(close(plain) == 0);
    SAY("read, closed: %d", (int)read(plain, bytes, 10));
    FILE *file = fopen("/dev/zero", "r");
    MUST(file && fileno(file) == plain);
    show("read, the number again", read(plain, bytes, 10), 10);
    fclose(file);
    close(other), close(directory), close(under), close(copy), close(further);
}

static void files(void) {
    FILE *file = fopen("/dev/urandom", "rb");
    MUST(file);
    show("fread", (long)fread(bytes, 8, 5, file), 40);
    for (int i = 0; i < 5; i++)
        SAY("getc: %d %d %d", getc(file), fgetc(file), getc_unlocked(file));
    show("fread, again", (long)fread_unlocked(bytes, 1, 5000, file), 5000);
    fclose(file);
    int descriptor = open("/dev/urandom", O_RDONLY);
    file = fdopen(descriptor, "r");
    MUST(file);
    show("fread, of a descriptor", (long)fread(bytes, 1, 100, file), 100);
    fclose(file);
}

int main(void) {
    show("standard input", read(STDIN_FILENO, bytes, 10), 10);
    functions();
    descriptors();
    files();
    functions();
    return 0;
}
