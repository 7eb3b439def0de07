/* Addresses in what a rank receives. They are right in the executable that sent them, and in no
   other; extraction runs without address randomisation, so this rank's memory lies as theirs. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/kept.h"

#define FIRST_ADDRESS (UINT64_C(1) << 32) /* numbers below are too common */

struct region {
    uint64_t begin, end;
    char name[64];
};

static struct {
    struct region *regions;
    size_t count;
    uint64_t low, high;
    uint64_t seen,
        next; /* bytes looked at, and how many there are when memory is looked at again */
    bool told;
} memory;

static void add(uint64_t begin, uint64_t end, const char *path) {
    if (memory.count % 64 == 0)
        memory.regions = rf_kept_room(memory.regions, (memory.count + 64) * sizeof *memory.regions);
    struct region *region = &memory.regions[memory.count++];
    const char *slash = strrchr(path, '/');
    region->begin = begin;
    region->end = end;
    snprintf(region->name, sizeof region->name, "%.63s", slash ? slash + 1 : path);
    memory.low = begin < memory.low ? begin : memory.low;
    memory.high = end > memory.high ? end : memory.high;
}

static void look_around(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    memory.count = 0;
    memory.low = UINT64_MAX;
    memory.high = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        uint64_t begin, end;
        char path[PATH_MAX] = "";
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %4095[^\n]", &begin, &end,
                   path) >= 2 &&
            begin >= FIRST_ADDRESS && end <= UINT64_C(1) << 47)
            add(begin, end, path);
    }
    if (maps)
        fclose(maps);
}

static const struct region *region_of(uint64_t word) {
    for (size_t i = 0; i < memory.count; i++)
        if (word >= memory.regions[i].begin && word < memory.regions[i].end)
            return &memory.regions[i];
    return NULL;
}

static void tell(uint64_t word, size_t place, const struct region *region,
                 const MPI_Status *message) {
    char from[64] = "";
    if (message)
        snprintf(from, sizeof from, " from rank %d with tag %d", message->MPI_SOURCE,
                 message->MPI_TAG);
    fprintf(stderr,
            "refrain: rank %d: what %s brought%s holds an address: 0x%" PRIx64
            " at byte %zu, in %s: it is good for this executable only, not for one that is "
            "rebuilt\n",
            rf_mpi.rank, rf_current.name, from, word, place,
            region->name[0] ? region->name : "memory of the program");
    memory.told = true;
}

void rf_pointers_look(const void *data, size_t size, const MPI_Status *message) {
    if (memory.told)
        return;
    if (memory.seen >= memory.next) {
        look_around();
        memory.next = memory.seen * 2 + 65536;
    }
    memory.seen += size;
    for (size_t place = 0; place + sizeof(uint64_t) <= size; place += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)data + place, sizeof word);
        if (word - memory.low >= memory.high - memory.low)
            continue;
        const struct region *region = region_of(word);
        if (region) {
            tell(word, place, region, message);
            return;
        }
    }
}

void rf_pointers_close(void) {
    free(memory.regions);
    memset(&memory, 0, sizeof memory);
}
