/* Memory of this library lies aside. A recording and its replay need different amounts of it; taken
   from the program's heap, or mapped where the program's own mappings go, it would give the program
   other addresses in each.

   These definitions are seen inside this library only. All of it, the engine and the readers
   included, is linked with them instead of those of the C library. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/compiler.h"

/* Far from where the kernel puts what programs and libraries map. Where there is no such address
   the kernel takes another one. */
#define RF_ASIDE_BEGIN UINT64_C(0x200000000000)
#define RF_ASIDE_UNIT (UINT64_C(1) << 21)

enum {
    PIECE = 1 << 24, /* mapped at once for small blocks */
    SMALLEST = 5,    /* 32 bytes, of which 16 are ours */
    LARGEST = 16,    /* larger ones are mapped one by one */
    HEAD = 16,
    PATIENCE = 10000, /* a lock that was held in the moment of a fork is never released */
};

/* Before each block. */
struct head {
    uint64_t size;   /* of the whole, a power of two for small ones */
    uint64_t before; /* this, where the mapping begins earlier */
};
_Static_assert(sizeof(struct head) == HEAD, "blocks are aligned to 16 bytes");

static uint64_t next = RF_ASIDE_BEGIN;
static int lock;
static uint8_t *piece, *piece_end;
static struct block { struct block *next; } * freed[LARGEST + 1];

RF_OURS void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    if (!address) {
        uint64_t room = (size + RF_ASIDE_UNIT - 1) / RF_ASIDE_UNIT * RF_ASIDE_UNIT;
        address = (void *)(uintptr_t)__atomic_fetch_add(&next, room, __ATOMIC_RELAXED);
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

static bool acquire(void) {
    for (int i = 0; i < PATIENCE; i++) {
        if (!__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
            return true;
        if (i % 100 == 99)
            syscall(SYS_sched_yield);
    }
    return false;
}

static void release(void) {
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static struct head *small(int class) {
    size_t size = (size_t)1 << class;
    if (!acquire())
        return map(size);
    struct head *head = (struct head *)freed[class];
    if (head) {
        freed[class] = freed[class]->next;
    } else {
        if ((size_t)(piece_end - piece) < size && (piece = map(PIECE)))
            piece_end = piece + PIECE;
        if (piece) {
            head = (struct head *)piece;
            piece += size;
        } else {
            piece_end = NULL;
        }
    }
    release();
    return head;
}

RF_OURS void *malloc(size_t size) {
    if (size > SIZE_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    size_t whole = size + HEAD;
    int class = SMALLEST;
    while (class <= LARGEST && (size_t)1 << class < whole)
        class ++;
    struct head *head = class <= LARGEST ? small(class) : map(whole);
    if (!head)
        return NULL;
    *head = (struct head){class <= LARGEST ? (uint64_t)1 << class : whole, 0};
    return head + 1;
}

RF_OURS void *calloc(size_t count, size_t size) {
    size_t whole;
    if (__builtin_mul_overflow(count, size, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = malloc(whole);
    return memory ? memset(memory, 0, whole) : NULL;
}

RF_OURS void free(void *memory) {
    if (!memory)
        return;
    struct head *head = (struct head *)memory - 1;
    uint64_t size = head->size;
    if (head->before) {
        munmap((uint8_t *)head - head->before, size);
    } else if (size > (uint64_t)1 << LARGEST) {
        munmap(head, size);
    } else if (acquire()) {
        struct block *block = (struct block *)head;
        int class = __builtin_ctzll(size);
        block->next = freed[class];
        freed[class] = block;
        release();
    }
}

RF_OURS void *realloc(void *memory, size_t size) {
    if (!memory)
        return malloc(size);
    const struct head *head = (const struct head *)memory - 1;
    size_t room = head->size - head->before - HEAD;
    if (size <= room)
        return memory;
    void *larger = malloc(size);
    if (larger) {
        memcpy(larger, memory, room);
        free(memory);
    }
    return larger;
}

/* Pages, for large things only. */
RF_OURS void *aligned_alloc(size_t alignment, size_t size) {
    uint8_t *memory = alignment <= 4096 ? map(4096 + size) : NULL;
    if (!memory)
        return NULL;
    struct head *head = (struct head *)(memory + 4096) - 1;
    *head = (struct head){4096 + size, 4096 - HEAD};
    return head + 1;
}

RF_OURS int asprintf(char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!*text)
        return -1;
    va_start(arguments, format);
    length = vsnprintf(*text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return length;
}
