#include "thread_log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t rf_thread_log_check(const struct rf_thread_log_head *head) {
    return XXH3_64bits(head, offsetof(struct rf_thread_log_head, check));
}

uint32_t rf_thread_log_site_check(const struct rf_thread_log_site *site, uint32_t number) {
    struct rf_thread_log_site copy = *site;
    copy.check = number;
    return (uint32_t)XXH3_64bits(&copy, sizeof copy);
}

uint32_t rf_thread_log_block_seal(const struct rf_thread_log_block *block) {
    union {
        struct rf_thread_log_block block;
        uint8_t bytes[RF_THREAD_LOG_BLOCK];
    } copy;
    memcpy(copy.bytes, block, sizeof copy.bytes);
    copy.block.begun &= RF_THREAD_LOG_BEGUN;
    return (uint32_t)XXH3_64bits(copy.bytes, sizeof copy.bytes) << 2 | RF_THREAD_LOG_SEALED |
           copy.block.begun;
}

uint64_t rf_thread_log_head_seal(const struct rf_thread_log_head *head) {
    const char *rest = (const char *)(&head->seal + 1);
    uint64_t before = XXH3_64bits(head, offsetof(struct rf_thread_log_head, seal));
    return XXH3_64bits_withSeed(rest, (size_t)((const char *)(head + 1) - rest), before) | 1;
}

/* The head's seal comes last: without it, what is sealed and what is not are both good. */
static void seal(int file, struct rf_thread_log_head *head, size_t bytes) {
    uint32_t blocks = (uint32_t)(bytes / RF_THREAD_LOG_BLOCK);
    if (blocks > head->blocks)
        blocks = head->blocks;
    for (uint32_t i = head->first_block; i < blocks; i++) {
        struct rf_thread_log_block *block =
            (struct rf_thread_log_block *)((char *)head + (size_t)i * RF_THREAD_LOG_BLOCK);
        block->begun = rf_thread_log_block_seal(block);
    }
    head->blocks = blocks;
    if (ftruncate(file, (off_t)blocks * RF_THREAD_LOG_BLOCK) == 0)
        head->seal = rf_thread_log_head_seal(head);
}

static bool fits(const struct rf_thread_log_head *head) {
    return memcmp(head->magic, RF_THREAD_LOG_MAGIC, sizeof head->magic) == 0 && !head->seal &&
           head->version == RF_THREAD_LOG_VERSION && head->check == rf_thread_log_check(head) &&
           head->block_bytes == RF_THREAD_LOG_BLOCK &&
           head->first_block == sizeof *head / RF_THREAD_LOG_BLOCK &&
           head->blocks >= head->first_block;
}

void rf_thread_log_seal(const char *directory, int rank) {
    char path[4096 + 32];
    struct stat facts;
    snprintf(path, sizeof path, "%s/rank-%d.threads", directory, rank);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &facts) == 0 && (size_t)facts.st_size >= sizeof(struct rf_thread_log_head)) {
        size_t bytes = (size_t)facts.st_size;
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) {
            if (fits(mapped))
                seal(file, mapped, bytes);
            munmap(mapped, bytes);
        }
    }
    close(file);
}
