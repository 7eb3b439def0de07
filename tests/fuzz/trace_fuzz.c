/* Any bytes as a trace file: the reader must end, stay inside its memory, and never trust a size.
 */
#include <stdlib.h>
#include <string.h>

#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    uint8_t *copy = malloc(bytes + 1);
    if (!copy)
        abort();
    if (bytes)
        memcpy(copy, data, bytes);
    reading_repair_trace(copy, bytes);
    reading_set_trace(copy, bytes);
    reading_set_log(NULL, 0);
    free(copy);
    reading_all();
    return 0;
}
