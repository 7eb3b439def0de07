/* Extraction: one-sided communication. What others put into the memory of a window is found by
   comparing it with a copy at every call, and comes at the same call again; what the rank gets from
   others is there when a synchronisation says so. Alone, a window is one of a single process. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/kept.h"

#define BLOCK 4096u /* compared and kept in pieces of this size */

static struct region {
    int32_t number;
    MPI_Win win;
    char *memory, *copy;
    size_t size;
    bool allocated; /* the memory goes with the window */
    bool going;     /* is about to go, or gone, and not looked at any more */
} * regions;
static int32_t region_count, region_room, region_number;

static struct get {
    MPI_Win win;
    int target;
    struct rf_output output;
} * gets;
static int32_t get_count, get_room;

/* ---- the memory of windows ---- */

static void add_region(MPI_Win win, void *memory, size_t size, bool allocated) {
    regions = rf_kept_grown(regions, region_count, &region_room, sizeof *regions);
    char *copy = rf_alone() ? NULL : rf_kept_room(NULL, size);
    if (copy && size)
        memcpy(copy, memory, size);
    regions[region_count++] =
        (struct region){region_number++, win, memory, copy, size, allocated, false};
    if (rf_alone())
        rf_the_session.replayer.progress->windows = 1;
}

static void remove_region(int32_t place) {
    free(regions[place].copy);
    regions[place] = regions[--region_count];
}

struct change {
    int32_t region;
    uint32_t size;
    uint64_t offset;
};

static const struct region *region_of(int32_t number) {
    for (int32_t i = 0; i < region_count; i++)
        if (regions[i].number == number)
            return &regions[i];
    return NULL;
}

void rf_through_change(int32_t number) {
    struct change change = {number, 0, 0};
    rf_through(&change, sizeof change);
    const struct region *region = region_of(change.region);
    if (region && change.offset + change.size <= region->size)
        rf_through(region->memory + change.offset, change.size);
    else
        rf_diverge(&rf_the_session, &rf_current, NULL, NULL,
                   "memory of a window changed here that the program does not have");
}

/* The piece that changed is copied before it is kept, since others may write to it meanwhile. */
static void keep_change(const struct region *region, uint64_t offset, uint32_t size) {
    struct change change = {region->number, size, offset};
    memcpy(region->copy + offset, region->memory + offset, size);
    rf_kept_change(region->number);
    rf_through(&change, sizeof change);
    rf_through(region->copy + offset, size);
}

/* Programs give memory back before they free the window, though they must not. */
static bool is_there(const struct region *region) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)region->memory & -page;
    return msync((void *)begin, (uintptr_t)region->memory + region->size - begin, MS_ASYNC) == 0;
}

void rf_kept_changes(void) {
    for (int32_t i = 0; i < region_count; i++) {
        regions[i].going = regions[i].going || !is_there(&regions[i]);
        for (uint64_t offset = 0; offset < regions[i].size && !regions[i].going; offset += BLOCK) {
            uint64_t left = regions[i].size - offset;
            uint32_t size = left < BLOCK ? (uint32_t)left : BLOCK;
            if (memcmp(regions[i].memory + offset, regions[i].copy + offset, size) != 0)
                keep_change(&regions[i], offset, size);
        }
    }
}

/* ---- making and freeing ---- */

/* Fresh memory holds what happens to be in it, and any may hold what others have put there before
   this rank was back from the call. What is kept is the copy with which later changes are compared,
   lest something comes in between. */
void rf_window_memory(MPI_Win win, void *memory, size_t size, bool allocated) {
    if (rf_layer == RF_LAYER_CHECKING)
        return; /* what others do to it is not checked */
    add_region(win, memory, size, allocated);
    rf_checks_pause(true);
    rf_through_output(
        &(struct rf_output){.shape = RF_PLAIN,
                            .buffer = rf_alone() ? memory : regions[region_count - 1].copy,
                            .count = (MPI_Count)size,
                            .type = MPI_BYTE},
        NULL);
    rf_checks_pause(false);
}

/* Alone, the program's communicator is one of a single process. The library has a copy of it for
   each window, so callbacks of its attributes are called as in the job. */
void rf_window_over(MPI_Comm comm, void *base, MPI_Aint size, MPI_Aint unit, MPI_Win *win) {
    if (rf_alone())
        rf_library.Win_create(base, size, (int)unit, MPI_INFO_NULL, comm, win);
    rf_kept_callbacks(true);
    rf_fatal_window(*win);
    rf_window_memory(*win, base, (size_t)size, false);
}

void rf_window_new(MPI_Comm comm, MPI_Aint size, MPI_Aint unit, void *baseptr, MPI_Win *win) {
    void *base;
    if (rf_alone())
        rf_library.Win_allocate(size, (int)unit, MPI_INFO_NULL, comm, baseptr, win);
    rf_kept_callbacks(true);
    rf_fatal_window(*win);
    memcpy(&base, baseptr, sizeof base);
    rf_window_memory(*win, base, (size_t)size, true);
}

void rf_window_dynamic(MPI_Comm comm, MPI_Win *win) {
    if (rf_alone())
        rf_library.Win_create_dynamic(MPI_INFO_NULL, comm, win);
    rf_kept_callbacks(true);
    rf_fatal_window(*win);
}

/* Nobody knows where it is before this returns. */
static int kept_Win_attach(MPI_Win win, void *base, MPI_Aint size) {
    int code = rf_library.Win_attach(win, base, size);
    code = rf_kept_call(RF_FN_Win_attach, code);
    if (code == MPI_SUCCESS && rf_layer != RF_LAYER_CHECKING)
        add_region(win, base, (size_t)size, false);
    return rf_kept_done_win(win, code);
}

static int kept_Win_detach(MPI_Win win, const void *base) {
    rf_kept_call(RF_FN_Win_detach, MPI_SUCCESS);
    for (int32_t i = 0; i < region_count; i++)
        if (regions[i].win == win && regions[i].memory == (const char *)base) {
            remove_region(i);
            break;
        }
    return rf_kept_done_win(win, rf_library.Win_detach(win, base));
}

/* What is freed, as a rule in the wrong order, belongs to the heap from here on. */
static int kept_Free_mem(void *base) {
    rf_kept_hold();
    for (int32_t i = 0; i < region_count; i++)
        regions[i].going = regions[i].going || (base && regions[i].memory == base);
    rf_kept_release();
    return rf_library.Free_mem(base);
}

static void set_going(MPI_Win win, bool going) {
    for (int32_t i = 0; i < region_count; i++)
        if (regions[i].win == win && regions[i].allocated)
            regions[i].going = going;
}

static void remove_regions(MPI_Win win) {
    for (int32_t i = region_count; i-- > 0;)
        if (regions[i].win == win)
            remove_region(i);
}

/* Memory that goes with the window must not be looked at any more when the library has been
   called; but alone, what others brought there up to now comes first. Callbacks of attributes are
   called while the window is freed, so what they get comes last. */
static int kept_Win_free(MPI_Win *win) {
    MPI_Win gone = *win;
    int code = MPI_SUCCESS;
    if (!rf_alone()) {
        rf_kept_hold();
        set_going(gone, true);
        rf_kept_release();
        code = rf_library.Win_free(win);
    }
    code = rf_kept_call(RF_FN_Win_free, code);
    if (code != MPI_SUCCESS) { /* within an epoch, for example */
        set_going(gone, false);
        return rf_kept_done_win(gone, code);
    }
    rf_window_done(gone, RF_ANYBODY);
    remove_regions(gone);
    if (rf_alone())
        rf_library.Win_free(win);
    rf_kept_callbacks(true);
    rf_window_shared_end(gone);
    return rf_kept_done_win(gone, code);
}

/* ---- what the rank gets ---- */

void rf_window_get(MPI_Win win, int target, struct rf_output output) {
    if (target == MPI_PROC_NULL)
        return;
    gets = rf_kept_grown(gets, get_count, &get_room, sizeof *gets);
    rf_output_hold(&output);
    gets[get_count++] = (struct get){win, target, output};
}

void rf_window_done(MPI_Win win, int target) {
    int32_t left = 0;
    for (int32_t i = 0; i < get_count; i++) {
        if (gets[i].win != win || (target != RF_ANYBODY && gets[i].target != target)) {
            gets[left++] = gets[i];
            continue;
        }
        rf_through_output(&gets[i].output, NULL);
        rf_output_release(&gets[i].output);
    }
    get_count = left;
}

void rf_layer_windows(struct rf_real *reals) {
    reals->Win_attach = kept_Win_attach;
    reals->Win_detach = kept_Win_detach;
    reals->Win_free = kept_Win_free;
    reals->Free_mem = kept_Free_mem;
}
