#include "own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel has a table as long as the largest number, so it is not the largest possible one. */
enum { MOST = 1024, ROOM = 64 };

static int far_away(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > MOST)
        return MOST - ROOM;
    return limit.rlim_cur > ROOM ? (int)limit.rlim_cur - ROOM : 0;
}

/* A process with threads waits for tens of milliseconds, in the kernel, when its table of
   descriptors grows; one that has just begun does not. */
static __attribute__((constructor)) void make_room(void) {
    int descriptor = open("/", O_PATH | O_CLOEXEC),
        far = fcntl(descriptor, F_DUPFD_CLOEXEC, far_away());
    close(far);
    close(descriptor);
}

static int move_aside(int descriptor) {
    int aside = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, far_away());
    if (aside < 0)
        return descriptor;
    close(descriptor);
    return aside;
}

static bool get_facts(int descriptor, struct stat *facts) {
    return descriptor >= 0 && fstat(descriptor, facts) == 0;
}

struct rf_own_file rf_own_file(int descriptor) {
    struct rf_own_file file = {.number = move_aside(descriptor)};
    struct stat facts;
    if (get_facts(file.number, &facts)) {
        file.device = facts.st_dev;
        file.inode = facts.st_ino;
    }
    return file;
}

bool rf_own_file_is_open(const struct rf_own_file *file) {
    struct stat facts;
    return get_facts(file->number, &facts) && facts.st_dev == file->device &&
           facts.st_ino == file->inode;
}

bool rf_own_file_ensure(struct rf_own_file *file, const char *path, int flags) {
    if (rf_own_file_is_open(file))
        return true;
    struct rf_own_file again = rf_own_file(open(path, flags | O_CLOEXEC));
    if (again.number < 0)
        return false;
    if (again.device == file->device && again.inode == file->inode) {
        *file = again;
        return true;
    }
    rf_own_file_close(&again);
    errno = ENOENT;
    return false;
}

void rf_own_file_close(struct rf_own_file *file) {
    if (rf_own_file_is_open(file))
        close(file->number);
    file->number = -1;
}
