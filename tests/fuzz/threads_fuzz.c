/* Any bytes as blocks of a log of threads, or as records and chunks of one that is sealed, behind a
   head that is good: the first four bytes say how many threads it has, whether its process ended,
   whether it is sealed, and how many blocks its file lacks. */
#include <string.h>

#include "../unit/thread_log_sample.h"
#include "reading.h"

/* The checksums are made right, else nothing would be read. */
static void seal_chunks(uint8_t *file, size_t at, size_t bytes) {
    struct rf_thread_log_chunk chunk;
    while (bytes - at >= sizeof chunk) {
        memcpy(&chunk, file + at, sizeof chunk);
        if (chunk.bytes > bytes - at - sizeof chunk)
            return;
        chunk.check = rf_thread_log_chunk_check(file + at, chunk.bytes, at);
        memcpy(file + at, &chunk, sizeof chunk);
        at += sizeof chunk + chunk.bytes;
    }
}

static size_t make_sealed(struct sample *sample, uint8_t *file, const uint8_t *data, size_t bytes) {
    struct rf_thread_log_head *head = &sample->head;
    const size_t modules = head->modules * sizeof *head->module;
    const size_t sites = head->sites * sizeof *head->site;
    const size_t records = RF_THREAD_LOG_FRONT + modules + sites;
    const size_t front = records + head->threads * sizeof(struct rf_thread_log_thread);
    head->version = RF_THREAD_LOG_SEALED;
    head->block_bytes = head->first_block = head->blocks = 0;
    head->check = rf_thread_log_check(head);
    head->bytes = records + bytes;
    memcpy(file, head, RF_THREAD_LOG_FRONT);
    memcpy(file + RF_THREAD_LOG_FRONT, head->module, modules);
    memcpy(file + RF_THREAD_LOG_FRONT + modules, head->site, sites);
    memcpy(file + records, data, bytes);
    if (front > head->bytes)
        return head->bytes;
    seal_chunks(file, front, head->bytes);
    uint64_t seal = rf_thread_log_seal_of(file, front);
    memcpy(file + offsetof(struct rf_thread_log_head, seal), &seal, sizeof seal);
    return head->bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct sample sample;
    static uint8_t file[sizeof sample];
    if (bytes < 4)
        return 0;
    size_t room = sizeof sample.blocks, blocks = bytes - 4 < room ? bytes - 4 : room;
    sample_open(&sample, 0);
    memcpy(sample.blocks, data + 4, blocks);
    sample.head.threads = data[0];
    sample.head.finished = data[1];
    sample.head.blocks += (uint32_t)((blocks + RF_THREAD_LOG_BLOCK - 1) / RF_THREAD_LOG_BLOCK);
    size_t size = sample_bytes(&sample), less = (size_t)data[3] * RF_THREAD_LOG_BLOCK;
    const uint8_t *whole = (const uint8_t *)&sample;
    if (data[2] & 1) {
        size = make_sealed(&sample, file, data + 4, blocks);
        whole = file;
    }
    reading_set_threads(whole, less < size ? size - less : 0);
    reading_all_threads();
    return 0;
}
