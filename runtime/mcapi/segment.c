#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bell.h"
#include "job.h"
#include "job_limits.h"
#include "pool.h"
#include "process.h"
#include "reap.h"

#define FOLDER "/dev/shm"
#define PAGE 4096u
/* Set aside for a job without a name; only what is used takes memory. */
#define LEAST_RESERVED (UINT64_C(256) << 20)

/* The thread sanitizer does not know the better one. */
#ifdef __SANITIZE_THREAD__
#    define LOCK_CLOCK CLOCK_REALTIME
#    define LOCK_UNTIL(lock, until) pthread_mutex_timedlock(lock, until)
#else
#    define LOCK_CLOCK CLOCK_MONOTONIC
#    define LOCK_UNTIL(lock, until) pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, until)
#endif

static struct mc_segment *unnamed; /* of this process and those it forks */
static struct mc_segment *named;   /* the last one; its place is used again */
static uint64_t named_room;
static char path[sizeof FOLDER + 256];
static ino_t inode;

/* ---- layout ------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* From the limits in it follows where everything is. */
static void lay_out(struct mc_segment *segment) {
    const struct mc_limits *limits = &segment->limits;
    uint64_t queues = limits->priorities + 1;
    segment->queue_shift = (uint32_t)__builtin_ctz(limits->queue_length);
    segment->nodes_offset = round_up(sizeof *segment, MC_LINE);
    segment->endpoints_offset = segment->nodes_offset + limits->nodes * sizeof(struct mc_node);
    segment->names_offset =
        segment->endpoints_offset + limits->endpoints * sizeof(struct mc_endpoint);
    segment->names = limits->endpoints * MC_NAMES_PER_ENDPOINT;
    if (segment->names > MC_NAMES_MOST)
        segment->names = MC_NAMES_MOST;
    segment->queues_offset =
        round_up(segment->names_offset + segment->names * sizeof(struct mc_name), PAGE);
    /* One queue's room more, for the slots begin on their own alignment. */
    segment->queues_stride = round_up((queues + 1) * sizeof(struct mc_queue) +
                                          queues * limits->queue_length * sizeof(struct mc_slot),
                                      PAGE);
    segment->size =
        round_up(mc_pool_lay_out(segment, segment->queues_offset +
                                              limits->endpoints * segment->queues_stride),
                 PAGE);
}

uint32_t mc_name_find(const struct mc_segment *segment, uint32_t domain, uint32_t node,
                      uint32_t port) {
    for (uint32_t i = 0; i < segment->names_used; i++) {
        const struct mc_name *name = mc_name_at(segment, i);
        if (name->domain == domain && name->node == node && name->port == port)
            return i;
    }
    return MC_NONE;
}

static void prepare(struct mc_segment *segment) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&segment->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    segment->layout = MC_LAYOUT;
    segment->pid_namespace = mc_pid_namespace();
    /* Handles that a program kept from an earlier job should not mean something in this one. */
    segment->generation = (uint32_t)mc_now();
}

/* One try to get the lock. A waiter that is killed just after it was woken takes the wake-up with
   it, and the C library lets the others sleep: so nobody sleeps for long. */
static bool lock_within(struct mc_segment *segment, uint64_t nanoseconds) {
    struct timespec until;
    clock_gettime(LOCK_CLOCK, &until);
    until.tv_nsec += (long)nanoseconds;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int result = LOCK_UNTIL(&segment->lock, &until);
    if (result == EOWNERDEAD) {
        mc_recover(segment);
        pthread_mutex_consistent(&segment->lock);
    }
    return result == 0 || result == EOWNERDEAD;
}

void mc_segment_lock(struct mc_segment *segment) {
    int result = pthread_mutex_trylock(&segment->lock);
    if (result == EOWNERDEAD) {
        mc_recover(segment);
        pthread_mutex_consistent(&segment->lock);
    } else if (result) {
        while (!lock_within(segment, 5000000))
            ;
    }
}

bool mc_segment_lock_soon(struct mc_segment *segment) {
    for (int tries = 0; tries < 200; tries++)
        if (lock_within(segment, 5000000))
            return true;
    return false;
}

void mc_segment_unlock(struct mc_segment *segment) {
    pthread_mutex_unlock(&segment->lock);
}

/* ---- a job without a name ----------------------------------------------------------------- */

__attribute__((constructor)) static void reserve(void) {
    struct mc_segment plan = {0};
    mc_limits_choose(&plan.limits, NULL);
    lay_out(&plan);
    uint64_t room = plan.size > LEAST_RESERVED ? plan.size : LEAST_RESERVED;
    void *memory =
        mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        memory = mmap(NULL, room = plan.size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    unnamed = memory;
    unnamed->reserved_size = room;
    prepare(unnamed);
    unnamed->magic = MC_MAGIC;
}

/* The first process of a job wipes what an earlier one has left, and sets the limits. */
static bool begin_unnamed(struct mc_segment *segment, const mcapi_param_t *parameters) {
    struct mc_segment plan = *segment;
    mc_limits_choose(&plan.limits, parameters);
    lay_out(&plan);
    if (plan.size > segment->reserved_size)
        return false;
    segment->laid_out = 0;
    uint64_t header = round_up(sizeof *segment, PAGE);
    if (madvise((char *)segment + header, segment->reserved_size - header, MADV_REMOVE))
        memset((char *)segment + header, 0, plan.size - header);
    memset((char *)segment + sizeof *segment, 0, header - sizeof *segment);
    segment->limits = plan.limits;
    lay_out(segment);
    segment->stamping = 0; /* stamps go on, so that those of an earlier job came before */
    segment->nodes_alive = 0;
    segment->names_used = segment->next_name = 0;
    segment->laid_out = 1;
    return true;
}

/* Takes a place among the processes, and buries those that have died: their names and places may be
   what is needed next. With the lock. */
static uint32_t enter_table(struct mc_segment *segment) {
    mc_the_job.process = mc_process_enter(segment);
    mc_reap_dead(segment);
    if (mc_the_job.process == MC_NONE)
        mc_the_job.process = mc_process_enter(segment);
    return mc_the_job.process;
}

static struct mc_segment *enter_unnamed(const mcapi_param_t *parameters, uint32_t *process) {
    if (!unnamed)
        return NULL;
    mc_segment_lock(unnamed);
    bool begun =
        unnamed->laid_out && (mc_processes_any(unnamed, MC_NONE) || mc_nodes_retired(unnamed));
    if (!begun) {
        memset(unnamed->processes, 0, sizeof unnamed->processes);
        begun = begin_unnamed(unnamed, parameters);
    }
    *process = begun ? enter_table(unnamed) : MC_NONE;
    mc_segment_unlock(unnamed);
    return *process == MC_NONE ? NULL : unnamed;
}

/* ---- a job with a name -------------------------------------------------------------------- */

static bool name_path(const char *job) {
    int length = snprintf(path, sizeof path, FOLDER "/mcapi-%u-", (unsigned)geteuid());
    for (const char *at = job; *at; at++) {
        bool plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                     (*at >= 'A' && *at <= 'Z') || *at == '.' || *at == '_' || *at == '-';
        if ((size_t)length + 4 > sizeof path)
            return false;
        length += snprintf(path + length, sizeof path - (size_t)length, plain ? "%c" : "=%02x",
                           plain ? *at : (unsigned char)*at);
    }
    return true;
}

/* A mapping keeps the file open, and with it the lock: it has to be given back by itself. */
static void close_unlocked(int file) {
    flock(file, LOCK_UN);
    close(file);
}

/* Opens the job's file and holds its lock, for as long as somebody enters or leaves. A file that
   was removed before the lock was got is not the job's any more. */
static int open_locked(const char *file_path, int flags, struct stat *facts) {
    for (;;) {
        int file = open(file_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
        struct stat there;
        if (file < 0)
            return -1;
        if (flock(file, LOCK_EX) || fstat(file, facts) || facts->st_uid != geteuid() ||
            !S_ISREG(facts->st_mode)) {
            close_unlocked(file);
            return -1;
        }
        if (stat(file_path, &there) == 0 && there.st_ino == facts->st_ino)
            return file;
        close_unlocked(file);
    }
}

/* The processes that a file tells of: whether one of them is alive. */
static bool inhabited(int file, const struct stat *facts) {
    if ((size_t)facts->st_size < sizeof(struct mc_segment))
        return false;
    void *memory = mmap(NULL, sizeof(struct mc_segment), PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return true;
    const struct mc_segment *segment = memory;
    bool any = segment->magic == MC_MAGIC && mc_processes_any(segment, MC_NONE);
    munmap(memory, sizeof *segment);
    return any;
}

/* Removes what jobs of this user have left whose processes were all killed. */
static void sweep(void) {
    char prefix[32], found[sizeof FOLDER + 258];
    snprintf(prefix, sizeof prefix, "mcapi-%u-", (unsigned)geteuid());
    DIR *folder = opendir(FOLDER);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(found, sizeof found, FOLDER "/%s", entry->d_name);
        int file = open(found, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat facts;
        if (file < 0)
            continue;
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &facts) == 0 &&
            facts.st_uid == geteuid() && !inhabited(file, &facts))
            unlink(found);
        close_unlocked(file);
    }
    if (folder)
        closedir(folder);
}

/* Maps the file where the last one was: no address that somebody still uses becomes invalid. */
static struct mc_segment *map(int file, uint64_t size) {
    void *where = named && size <= named_room ? named : NULL;
    void *memory =
        mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | (where ? MAP_FIXED : 0), file, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (!where)
        named_room = size;
    named = memory;
    return named;
}

static struct mc_segment *begin_named(int file, const mcapi_param_t *parameters) {
    struct mc_segment plan = {.named = 1};
    mc_limits_choose(&plan.limits, parameters);
    lay_out(&plan);
    /* The memory of the tables now, of an endpoint's queues when there is one. */
    if (ftruncate(file, (off_t)plan.size) || posix_fallocate(file, 0, (off_t)plan.queues_offset))
        return NULL;
    struct mc_segment *segment = map(file, plan.size);
    if (!segment)
        return NULL;
    *segment = plan;
    prepare(segment);
    segment->laid_out = 1;
    __atomic_store_n(&segment->magic, MC_MAGIC, __ATOMIC_RELEASE);
    return segment;
}

static struct mc_segment *join_named(int file, const struct stat *facts) {
    struct mc_segment header;
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.layout != MC_LAYOUT || header.size != (uint64_t)facts->st_size ||
        header.pid_namespace != mc_pid_namespace())
        return NULL;
    return map(file, header.size);
}

static struct mc_segment *enter_named(const mcapi_param_t *parameters, uint32_t *process) {
    struct stat facts;
    int file;
    for (;;) {
        file = open_locked(path, O_CREAT, &facts);
        if (file < 0)
            return NULL;
        if (facts.st_size == 0 || inhabited(file, &facts))
            break;
        unlink(path);
        close_unlocked(file);
    }
    struct mc_segment *segment =
        facts.st_size ? join_named(file, &facts) : begin_named(file, parameters);
    if (segment) {
        inode = facts.st_ino;
        mc_segment_lock(segment);
        *process = enter_table(segment);
        mc_segment_unlock(segment);
        if (*process == MC_NONE)
            segment = NULL;
    } else if (!facts.st_size) {
        unlink(path);
    }
    close_unlocked(file);
    return segment;
}

bool mc_segment_populate(struct mc_segment *segment, uint64_t offset, uint64_t length) {
    if (!segment->named)
        return true;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat facts;
    bool good = file >= 0 && fstat(file, &facts) == 0 && facts.st_ino == inode;
    int cause = EINTR;
    while (good && cause == EINTR)
        cause = posix_fallocate(file, (off_t)offset, (off_t)length);
    if (file >= 0)
        close(file);
    return good && cause == 0;
}

/* ---- entering and leaving ----------------------------------------------------------------- */

struct mc_segment *mc_segment_enter(const mcapi_param_t *parameters, uint32_t *process) {
    const char *job = getenv("MCAPI_JOB");
    *process = MC_NONE;
    sweep();
    if (!job || !*job)
        return enter_unnamed(parameters, process);
    return name_path(job) ? enter_named(parameters, process) : NULL;
}

void mc_segment_leave(struct mc_segment *segment, uint32_t process) {
    if (!segment->named) {
        __atomic_store_n(&segment->processes[process].start, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&segment->processes[process].pid, 0, __ATOMIC_RELEASE);
        return;
    }
    struct stat facts;
    int file = open_locked(path, 0, &facts);
    __atomic_store_n(&segment->processes[process].start, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&segment->processes[process].pid, 0, __ATOMIC_RELEASE);
    if (file >= 0) {
        if (facts.st_ino == inode && !mc_processes_any(segment, process))
            unlink(path);
        close_unlocked(file);
    }
    /* Another thread may be in a call still: let it find nothing rather than no memory. */
    (void)mmap(named, named_room, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
