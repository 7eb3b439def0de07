/* Extraction: windows of shared memory. What other ranks have stored there is found as in any
   window, by comparing at every call, but in the parts of all of them. Alone, the parts are memory
   of the one process, and lie to one another as they did. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "mpi/kept.h"

#define PAGE 4096u
#define NO_ADDRESS INT64_MIN

static struct shared {
    MPI_Win win;
    char *lowest;  /* of all addresses: others are kept as distances from it */
    char *pages;   /* alone: where all parts lie */
    uint64_t size; /* of that */
} * windows;
static int32_t window_count, window_room;

/* What one rank has of a window. */
struct part {
    uint64_t distance, size;
};

static struct shared *find(MPI_Win win) {
    for (int32_t i = 0; i < window_count; i++)
        if (windows[i].win == win)
            return &windows[i];
    return NULL;
}

/* An address that the library has told; of a part that is empty it may be none. */
static void through_address(const struct shared *window, void *place) {
    char *address = NULL;
    if (!rf_alone())
        memcpy(&address, place, sizeof address);
    int64_t distance = address ? address - window->lowest : NO_ADDRESS;
    rf_through(&distance, sizeof distance);
    if (!rf_alone())
        return;
    address = distance == NO_ADDRESS ? NULL : window->lowest + distance;
    memcpy(place, &address, sizeof address);
}

static char *ask(MPI_Win win, int rank, uint64_t *size) {
    MPI_Aint bytes = 0;
    int unit;
    char *address = NULL;
    rf_library.Win_shared_query(win, rank, &bytes, &unit, &address);
    *size = (uint64_t)bytes;
    return address;
}

static void find_parts(struct shared *window, struct part *parts, int32_t ranks) {
    for (int32_t i = 0; i < ranks; i++) {
        char *address = ask(window->win, i, &parts[i].size);
        if (parts[i].size && (!window->lowest || address < window->lowest))
            window->lowest = address;
    }
    for (int32_t i = 0; i < ranks; i++) {
        char *address = ask(window->win, i, &parts[i].size);
        parts[i].distance = parts[i].size ? (uint64_t)(address - window->lowest) : 0;
    }
}

/* As far from the beginning of a page as it was. */
static void make_room(struct shared *window, const struct part *parts, int32_t ranks,
                      uint32_t within) {
    window->size = PAGE;
    for (int32_t i = 0; i < ranks; i++)
        if (window->size < within + parts[i].distance + parts[i].size)
            window->size = within + parts[i].distance + parts[i].size;
    window->pages = mmap(NULL, window->size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (window->pages == MAP_FAILED)
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL, "out of memory: %llu bytes",
                   (unsigned long long)window->size);
    window->lowest = window->pages + within;
}

/* The library's window of one process is over the rank's own part, so it knows address and size. */
static void make_window(struct shared *window, MPI_Comm comm, MPI_Aint size, MPI_Aint unit,
                        const void *baseptr) {
    void *base;
    memcpy(&base, baseptr, sizeof base);
    rf_library.Win_create(base, size, (int)unit, MPI_INFO_NULL, comm, &window->win);
}

void rf_window_shared(MPI_Comm comm, MPI_Aint size, MPI_Aint unit, void *baseptr, MPI_Win *win) {
    if (rf_layer == RF_LAYER_CHECKING)
        return;
    int32_t ranks = rf_facts(comm)->size;
    struct part *parts = rf_kept_room(NULL, (size_t)ranks * sizeof *parts);
    struct shared window = {.win = *win};
    if (!rf_alone())
        find_parts(&window, parts, ranks);
    uint32_t within = (uint32_t)((uintptr_t)window.lowest % PAGE);
    rf_through(&within, sizeof within);
    rf_through(parts, (size_t)ranks * sizeof *parts);
    if (rf_alone())
        make_room(&window, parts, ranks, within);
    through_address(&window, baseptr);
    if (rf_alone())
        make_window(&window, comm, size, unit, baseptr);
    rf_kept_callbacks(true);
    *win = window.win;
    rf_fatal_window(*win);
    for (int32_t i = 0; i < ranks; i++)
        if (parts[i].size)
            rf_window_memory(*win, window.lowest + parts[i].distance, parts[i].size, true);
    free(parts);
    windows = rf_kept_grown(windows, window_count, &window_room, sizeof *windows);
    windows[window_count++] = window;
}

void rf_window_part(MPI_Win win, void *baseptr) {
    struct shared *window = find(win);
    if (window)
        through_address(window, baseptr);
}

void rf_window_shared_end(MPI_Win win) {
    struct shared *window = find(win);
    if (!window)
        return;
    if (window->pages)
        munmap(window->pages, window->size);
    *window = windows[--window_count];
}

/* Alone it is one over memory of the program, which the library would say. */
static int kept_Win_get_attr(MPI_Win win, int keyval, void *attribute, int *flag) {
    static int flavour = MPI_WIN_FLAVOR_SHARED;
    int code = rf_library.Win_get_attr(win, keyval, attribute, flag);
    rf_kept_hold();
    if (rf_alone() && code == MPI_SUCCESS && keyval == MPI_WIN_CREATE_FLAVOR && find(win))
        *(int **)attribute = &flavour;
    return rf_kept_done(code);
}

void rf_layer_shared(struct rf_real *reals) {
    reals->Win_get_attr = kept_Win_get_attr;
}
