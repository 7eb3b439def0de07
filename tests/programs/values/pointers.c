/* Addresses that a program prints: of code, of the stack, and of memory of all sizes. */
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "say.h"

int main(void) {
    int here;
    SAY("%p %p %p", (void *)(uintptr_t)main, (void *)&here, (void *)stdout);
    for (size_t size = 16; size < 100000000; size *= 5) {
        void *memory = malloc(size);
        SAY("%zu bytes: %p at %ld", size, memory, (long)time(NULL));
        if (size % 2)
            free(memory);
    }
    SAY("mapped: %p", mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    return 0;
}
