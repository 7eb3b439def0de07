#include "holes.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* A lease for reading is given only on files that nobody has open for writing. */
bool rf_nobody_writes(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool nobody = fcntl(file, F_SETLEASE, F_RDLCK) == 0;
    if (nobody)
        fcntl(file, F_SETLEASE, F_UNLCK);
    close(file);
    return nobody;
}

void rf_dig_holes(const char *path) {
    static const char zeros[PAGE];
    char page[PAGE];
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    /* Neighbours in one call. */
    off_t begin = 0, offset = 0;
    bool good = true;
    for (bool more = true; more && good; offset += PAGE) {
        more = pread(file, page, PAGE, offset) == PAGE;
        if (more && memcmp(page, zeros, PAGE) == 0)
            continue;
        if (begin < offset)
            good = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin,
                             offset - begin) == 0;
        begin = offset + PAGE;
    }
    close(file);
}

uint64_t rf_bytes_on_disk(const struct stat *facts) {
    uint64_t size = (uint64_t)facts->st_size, blocks = (uint64_t)facts->st_blocks * 512;
    return blocks < size ? blocks : size;
}
