/* What the programs about values share: all they print is compared between runs. */
#ifndef SAY_H
#define SAY_H

#include <stdio.h>
#include <stdlib.h>

#define SAY(...)                                                                                   \
    do {                                                                                           \
        printf("thread 0: " __VA_ARGS__);                                                          \
        putchar('\n');                                                                             \
    } while (0)

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Bytes as one number. */
static inline unsigned long long digest(const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    unsigned long long hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

#endif
