#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Room for thread-local storage of whatever the program has loaded; hardly any of it is touched. */
#define STACK_BYTES (512u << 10)
#define MAX_PIECES RF_CODED_PIECES

/* ---- futexes ------------------------------------------------------------------------------ */

static void futex_wait(uint32_t *word, uint32_t seen) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_bump(uint32_t *word) {
    __atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- the file ----------------------------------------------------------------------------- */

void rf_shield_raise(struct rf_shield *shield) {
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &shield->before);
    sigpending(&pending);
    shield->was_pending = sigismember(&pending, SIGXFSZ);
}

void rf_shield_lower(const struct rf_shield *shield) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    const struct timespec now = {0, 0};
    if (!shield->was_pending)
        while (sigtimedwait(&set, NULL, &now) == SIGXFSZ)
            ;
    pthread_sigmask(SIG_SETMASK, &shield->before, NULL);
}

static bool write_all(int file, struct iovec *parts, int count, off_t at) {
    while (count) {
        ssize_t wrote = pwritev(file, parts, count, at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            if (wrote == 0)
                errno = ENOSPC;
            return false;
        }
        at += wrote;
        while (count && (size_t)wrote >= parts->iov_len) {
            wrote -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + wrote;
            parts->iov_len -= (size_t)wrote;
        }
    }
    return true;
}

bool rf_writer_chunk(struct rf_writer *writer, struct rf_chunk *chunk,
                     const struct rf_piece *pieces, size_t count) {
    struct iovec parts[1 + MAX_PIECES];
    XXH3_state_t state;
    chunk->magic = RF_CHUNK_MAGIC;
    chunk->bytes = 0;
    for (size_t i = 0; i < count; i++)
        chunk->bytes += (uint32_t)pieces[i].bytes;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, chunk, offsetof(struct rf_chunk, check));
    parts[0] = (struct iovec){chunk, sizeof *chunk};
    int used = 1;
    for (size_t i = 0; i < count; i++) {
        if (!pieces[i].bytes)
            continue;
        XXH3_64bits_update(&state, pieces[i].data, pieces[i].bytes);
        parts[used++] = (struct iovec){(void *)(uintptr_t)pieces[i].data, pieces[i].bytes};
    }
    chunk->check = XXH3_64bits_digest(&state);
    if (!rf_own_file_ensure(&writer->file, writer->trace_path, O_RDWR))
        return false;
    /* Always at the end of what is whole, so that a later attempt overwrites a torn one. */
    if (write_all(writer->file.number, parts, used, (off_t)writer->trace_bytes)) {
        writer->trace_bytes += sizeof *chunk + chunk->bytes;
        return true;
    }
    int cause = errno;
    if (ftruncate(writer->file.number, (off_t)writer->trace_bytes))
        errno = cause; /* a torn chunk is told from a whole one anyway */
    errno = cause;
    return false;
}

/* ---- coding ------------------------------------------------------------------------------- */

static bool code_segment(struct rf_writer *writer, uint64_t number) {
    struct rf_entry *slots = writer->log->ring[number % RF_LOG_SEGMENTS];
    uint32_t used = rf_segment_used(slots);
    struct rf_codec *codec = rf_codec_take();
    if (!codec)
        return false;
    rf_segment_tidy(slots, used);
    bool in_list = writer->in_list;
    struct rf_chunk chunk = {.type = RF_CHUNK_EVENTS,
                             .slots = used,
                             .segment = number,
                             .first_event = writer->events,
                             .events = rf_segment_events(slots, used, &in_list)};
    struct rf_coded coded;
    bool wrote;
    if (rf_codec_encode(codec, slots, used, &coded)) {
        wrote = rf_writer_chunk(writer, &chunk, coded.pieces, RF_CODED_PIECES);
    } else {
        chunk.type = RF_CHUNK_SLOTS;
        struct rf_piece raw = {(const uint8_t *)slots, used * sizeof *slots};
        wrote = rf_writer_chunk(writer, &chunk, &raw, 1);
    }
    rf_codec_give_back(codec);
    if (!wrote)
        return false;
    writer->events += chunk.events;
    writer->in_list = in_list;
    /* From here on readers take the chunk and no longer look at the slots, which are wiped for
       the next segment that lies here. */
    __atomic_store_n(&writer->log->written, rf_seal(number + 1), __ATOMIC_RELEASE);
    memset(slots, 0, used * sizeof *slots);
    return true;
}

bool rf_writer_code(struct rf_writer *writer, uint64_t limit) {
    uint64_t number = __atomic_load_n(&writer->coded, __ATOMIC_RELAXED);
    for (; number < limit; number++) {
        errno = 0;
        if (!code_segment(writer, number)) {
            __atomic_store_n(&writer->failure, errno ? (uint32_t)errno : EIO, __ATOMIC_RELEASE);
            return false;
        }
        __atomic_store_n(&writer->failure, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&writer->coded, number + 1, __ATOMIC_RELEASE);
        futex_bump(&writer->done);
    }
    return true;
}

static void *coding_thread(void *argument) {
    struct rf_writer *writer = argument;
    uint64_t tried = 0;
    while (!__atomic_load_n(&writer->stop, __ATOMIC_ACQUIRE)) {
        uint32_t seen = __atomic_load_n(&writer->signal, __ATOMIC_ACQUIRE);
        uint64_t limit = __atomic_load_n(&writer->handed, __ATOMIC_ACQUIRE);
        /* After a failure it is tried again with the next segment: disks get room again. */
        if (limit > tried) {
            tried = limit;
            if (!rf_writer_code(writer, limit))
                futex_bump(&writer->done);
        } else {
            futex_wait(&writer->signal, seen);
        }
    }
    return NULL;
}

static void start_thread(struct rf_writer *writer) {
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* The program's signals are the program's: none may be handled in our thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    writer->has_thread = !pthread_create(&writer->thread, &attributes, coding_thread, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (writer->has_thread)
        pthread_setname_np(writer->thread, "refrain");
}

void rf_writer_hand_over(struct rf_writer *writer, uint64_t limit) {
    __atomic_store_n(&writer->handed, limit, __ATOMIC_RELEASE);
    if (!writer->has_thread)
        start_thread(writer);
    if (writer->has_thread) {
        futex_bump(&writer->signal);
        return;
    }
    /* No thread to be had: slower, but nothing is lost. */
    struct rf_shield shield;
    rf_shield_raise(&shield);
    rf_writer_code(writer, limit);
    rf_shield_lower(&shield);
}

bool rf_writer_wait(struct rf_writer *writer, uint64_t coded) {
    for (;;) {
        uint32_t seen = __atomic_load_n(&writer->done, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&writer->coded, __ATOMIC_ACQUIRE) >= coded)
            return true;
        if (__atomic_load_n(&writer->failure, __ATOMIC_ACQUIRE) || !writer->has_thread)
            return false;
        futex_wait(&writer->done, seen);
    }
}

void rf_writer_stop_thread(struct rf_writer *writer) {
    if (!writer->has_thread)
        return;
    __atomic_store_n(&writer->stop, true, __ATOMIC_RELEASE);
    futex_bump(&writer->signal);
    pthread_join(writer->thread, NULL);
    writer->has_thread = false;
}
