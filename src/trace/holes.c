#include "holes.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096 };

void rf_dig_holes(const char *path) {
    static const char zeros[PAGE];
    char page[PAGE];
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    for (off_t offset = 0; pread(file, page, PAGE, offset) == PAGE; offset += PAGE)
        if (memcmp(page, zeros, PAGE) == 0 &&
            fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, PAGE) != 0)
            break;
    close(file);
}

uint64_t rf_bytes_on_disk(const struct stat *facts) {
    uint64_t size = (uint64_t)facts->st_size, blocks = (uint64_t)facts->st_blocks * 512;
    return blocks < size ? blocks : size;
}
