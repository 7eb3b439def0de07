/* Any bytes as blocks of a log of threads, behind a head that is good: the first four bytes say how
   many threads it has, whether its process ended, whether it is sealed, and how many blocks its
   file lacks. */
#include <string.h>

#include "../unit/thread_log_sample.h"
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct sample sample;
    if (bytes < 4)
        return 0;
    size_t room = sizeof sample.blocks, blocks = bytes - 4 < room ? bytes - 4 : room;
    sample_open(&sample, 0);
    memcpy(sample.blocks, data + 4, blocks);
    sample.head.threads = data[0];
    sample.head.finished = data[1];
    sample.head.blocks += (uint32_t)((blocks + RF_THREAD_LOG_BLOCK - 1) / RF_THREAD_LOG_BLOCK);
    if (data[2] & 1) {
        for (uint32_t i = sample.head.first_block; i < sample.head.blocks; i++)
            sample_block(&sample, i)->begun = rf_thread_log_block_seal(sample_block(&sample, i));
        sample.head.seal = rf_thread_log_head_seal(&sample.head);
    }
    size_t size = sample_bytes(&sample), less = (size_t)data[3] * RF_THREAD_LOG_BLOCK;
    reading_set_threads((const uint8_t *)&sample, less < size ? size - less : 0);
    reading_all_threads();
    return 0;
}
