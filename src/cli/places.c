#include "places.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

static size_t bytes_of(uint32_t count) {
    return sizeof(struct rf_places) + count * sizeof(struct rf_place);
}

const struct rf_places *rf_places_map(const char *run, int rank) {
    char *path = rf_text("%s/rank-%d.threads", run, rank);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    struct stat facts;
    struct rf_places head;
    void *map = MAP_FAILED;
    if (file >= 0 && fstat(file, &facts) == 0 && read(file, &head, sizeof head) == sizeof head &&
        head.magic == RF_PLACES_MAGIC && facts.st_size >= (off_t)bytes_of(head.count))
        map = mmap(NULL, bytes_of(head.count), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    return map == MAP_FAILED ? NULL : map;
}

void rf_places_unmap(const struct rf_places *places) {
    if (places)
        munmap((void *)places, bytes_of(places->count));
}

uint64_t rf_places_movement(const struct rf_places *places) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < places->count; i++)
        sum += places->place[i].done + places->place[i].state;
    return sum;
}

bool rf_places_still(const struct rf_places *places) {
    bool any = false;
    for (uint32_t i = 0; i < places->count; i++) {
        uint32_t state = places->place[i].state;
        if (state == RF_PLACE_RUNS)
            return false;
        any = any || (state != RF_PLACE_UNBORN && state != RF_PLACE_ENDED);
    }
    return any;
}

bool rf_places_behind(const struct rf_places *places) {
    for (uint32_t i = 0; i < places->count && !places->free; i++)
        if (places->place[i].done < places->place[i].recorded)
            return true;
    return false;
}

uint64_t rf_places_played(const struct rf_places *places) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < places->count; i++) {
        const struct rf_place *place = &places->place[i];
        sum += place->done < place->recorded ? place->done : place->recorded;
    }
    return sum;
}

bool rf_places_wait(const struct rf_places *places) {
    for (uint32_t i = 0; i < places->count; i++)
        if (places->place[i].state == RF_PLACE_WAITS)
            return true;
    return false;
}

void rf_places_print(const struct rf_places *places, struct rf_symbols *symbols, FILE *out) {
    for (uint32_t i = 0; i < places->count; i++) {
        const struct rf_place *place = &places->place[i];
        if (place->state == RF_PLACE_UNBORN || place->state == RF_PLACE_ENDED)
            continue;
        fprintf(out, "    thread %-4" PRIu32 " operation %" PRIu64 " of %" PRIu64 ": ", i,
                place->done, place->recorded);
        struct rf_module module = {0};
        char text[RF_PLACE_TEXT];
        memcpy(module.path, place->module, sizeof module.path);
        const char *where = rf_symbols_place(symbols, &module, place->offset, text);
        if (place->state == RF_PLACE_RUNS)
            fputs("runs", out);
        else if (place->state == RF_PLACE_FREE)
            fprintf(out, "past the end of its recording, since %s at %s", place->function, where);
        else if (place->state == RF_PLACE_WAITS)
            fprintf(out, "in %s at %s: waits until thread %" PRIu32 " has %s %" PRIu64 "%s",
                    place->function, where, place->thread,
                    places->clocks ? "come to time stamp" : "done", place->count,
                    places->clocks ? "" : " operations");
        else
            fprintf(out, "%s %s at %s",
                    place->state == RF_PLACE_PARKED ? "its recording was cut off in"
                                                    : "is blocked in",
                    place->function, where);
        fputc('\n', out);
    }
}
