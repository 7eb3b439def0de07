#include "threads/lineage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t lineage, children;

static uint64_t mix(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static void in_parent(void) {
    __atomic_fetch_add(&children, 1, __ATOMIC_RELAXED);
}

static void in_child(void) {
    lineage = mix(rf_lineage(), &children, sizeof children);
    children = 0;
}

void rf_lineage_watch(void) {
    pthread_atfork(NULL, in_parent, in_child);
}

uint64_t rf_lineage(void) {
    if (lineage)
        return lineage;
    unsigned char words[4096];
    uint64_t hash = UINT64_C(14695981039346656037);
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    long got;
    while (file >= 0 && (got = syscall(SYS_read, file, words, sizeof words)) > 0)
        hash = mix(hash, words, (size_t)got);
    if (file >= 0)
        close(file);
    return lineage = hash;
}

static void name_file(char path[PATH_MAX], const char *trace) {
    snprintf(path, PATH_MAX, "%s/process-%016" PRIx64, trace, rf_lineage());
}

void rf_lineage_write(const char *trace, int rank) {
    char path[PATH_MAX], text[16];
    name_file(path, trace);
    int length = snprintf(text, sizeof text, "%d\n", rank);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || write(file, text, (size_t)length) != length)
        fprintf(stderr, "refrain: rank %d: %s cannot be written: its threads cannot be replayed\n",
                rank, path);
    if (file >= 0)
        close(file);
}

int rf_lineage_read(const char *trace) {
    char path[PATH_MAX], text[16] = "";
    name_file(path, trace);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    long got = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    return got > 0 ? (int)strtol(text, NULL, 10) : -1;
}
