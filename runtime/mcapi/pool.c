#include "pool.h"

#include "bell.h"
#include "segment.h"

/* Of each smaller size there are several times as many. */
static const struct {
    uint32_t size, times;
} sizes[MC_CLASSES] = {{256, 16}, {4096, 4}, {UINT32_MAX, 1}};

/* How many get memory at a time, where it has to be asked for. */
#define AT_ONCE 64u

static uint64_t stride(const struct mc_class *class) {
    return sizeof(struct mc_buffer) + class->size;
}

uint64_t mc_pool_lay_out(struct mc_segment *segment, uint64_t offset) {
    uint32_t largest = (segment->limits.max_message + MC_LINE - 1) / MC_LINE * MC_LINE;
    uint32_t first = 1;
    for (uint32_t i = 0; i < MC_CLASSES; i++) {
        struct mc_class *class = &segment->classes[i];
        class->offset = offset;
        class->size = sizes[i].size < largest ? sizes[i].size : largest;
        class->count = segment->limits.buffers * sizes[i].times;
        class->first = first;
        class->populated = segment->named ? 0 : class->count;
        first += class->count;
        offset += class->count * stride(class);
    }
    return offset;
}

static struct mc_buffer *place(struct mc_segment *segment, const struct mc_class *class,
                               uint32_t index) {
    return (struct mc_buffer *)((char *)segment + class->offset + index * stride(class));
}

struct mc_buffer *mc_pool_buffer(struct mc_segment *segment, uint32_t number) {
    for (uint32_t i = 0; i < MC_CLASSES; i++) {
        struct mc_class *class = &segment->classes[i];
        if (number >= class->first && number - class->first < class->count)
            return place(segment, class, number - class->first);
    }
    return NULL;
}

struct mc_buffer *mc_pool_find(struct mc_segment *segment, const void *data) {
    uintptr_t at = (uintptr_t)data - (uintptr_t)segment - sizeof(struct mc_buffer);
    for (uint32_t i = 0; i < MC_CLASSES; i++) {
        struct mc_class *class = &segment->classes[i];
        if (at < class->offset || (at - class->offset) % stride(class))
            continue;
        uint64_t index = (at - class->offset) / stride(class);
        if (index < __atomic_load_n(&class->populated, __ATOMIC_ACQUIRE))
            return place(segment, class, (uint32_t)index);
    }
    return NULL;
}

/* Where this process found one last: the next one is probably free. */
static uint32_t hints[MC_CLASSES];

static struct mc_buffer *take_from(struct mc_segment *segment, uint32_t which, uint32_t word) {
    struct mc_class *class = &segment->classes[which];
    uint32_t populated = __atomic_load_n(&class->populated, __ATOMIC_ACQUIRE);
    uint32_t at = __atomic_load_n(&hints[which], __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < populated; i++, at++) {
        if (at >= populated)
            at = 0;
        struct mc_buffer *buffer = place(segment, class, at);
        uint32_t nobody = 0;
        if (__atomic_load_n(&buffer->owner, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&buffer->owner, &nobody, word, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            buffer->number = class->first + at;
            __atomic_store_n(&hints[which], at + 1, __ATOMIC_RELAXED);
            return buffer;
        }
    }
    return NULL;
}

/* Asks for the memory of some more buffers. Returns false if there are no more. */
static bool grow(struct mc_segment *segment, struct mc_class *class) {
    if (__atomic_load_n(&class->populated, __ATOMIC_ACQUIRE) == class->count)
        return false;
    mc_segment_lock(segment);
    uint32_t old = class->populated;
    uint32_t more = class->count - old < AT_ONCE ? class->count - old : AT_ONCE;
    bool good = more && mc_segment_populate(segment, class->offset + old * stride(class),
                                            more * stride(class));
    if (good)
        __atomic_store_n(&class->populated, old + more, __ATOMIC_RELEASE);
    mc_segment_unlock(segment);
    return good;
}

struct mc_buffer *mc_pool_take(struct mc_segment *segment, uint32_t process, size_t size) {
    for (uint32_t i = 0; i < MC_CLASSES; i++) {
        if (segment->classes[i].size < size)
            continue;
        do {
            struct mc_buffer *buffer = take_from(segment, i, mc_owner_word(process));
            if (buffer)
                return buffer;
        } while (grow(segment, &segment->classes[i]));
    }
    return NULL;
}

void mc_pool_adopt(struct mc_buffer *buffer, uint32_t process) {
    __atomic_store_n(&buffer->owner, mc_owner_word(process), __ATOMIC_RELAXED);
}

void mc_pool_free(struct mc_segment *segment, struct mc_buffer *buffer) {
    __atomic_store_n(&buffer->owner, 0, __ATOMIC_RELEASE);
    mc_bell_ring(&segment->buffers_free);
}
