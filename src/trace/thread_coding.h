/* The entries of a log of threads, as bytes in a block and, in a sealed log, coded. */
#ifndef RF_TRACE_THREAD_CODING_H
#define RF_TRACE_THREAD_CODING_H

#include <stdbool.h>

#include "thread_log.h"

/* What an entry consists of. */
struct rf_thread_item {
    enum rf_thread_log_type type;
    uint64_t gap; /* operations since the entry before */
    uint32_t site;
    uint64_t first, second; /* as the types have them, in their order */
    const uint8_t *bytes;   /* BYTES: `second` of them */
};

/* Reads the item at `*at`; false if it is not whole, or of no type. The gap is known in any case.
 */
bool rf_thread_item_read(const uint8_t **at, const uint8_t *end, struct rf_thread_item *item);

/* The models, 150 KB, of which few are touched. NULL when memory ran out. */
struct rf_thread_coding;
struct rf_thread_coding *rf_thread_coding_new(void);
void rf_thread_coding_free(struct rf_thread_coding *coding);

/* Codes the items in `bytes`. Returns the length, 0 if that would not be less than before. */
size_t rf_thread_encode(struct rf_thread_coding *coding, const uint8_t *bytes, size_t size,
                        uint8_t *coded);
/* Begins to decode; each call then gives an item, for ever: who asks knows how many there are. What
   is not one of ours gives items that make no sense, but does no harm. */
void rf_thread_decode(struct rf_thread_coding *coding, const uint8_t *coded, size_t size);
bool rf_thread_decode_next(struct rf_thread_coding *coding, struct rf_thread_item *item);

#endif
