/* Explicit tasks.

   While recording, libgomp runs them as it likes; the function of each is wrapped, and says in the
   thread that runs it which one it is, and where. A task is named by the member of the team that
   created it and by its place among those that this one created. Tasks run at certain points only:
   in barriers, where a task waits for others, and where one is created. A thread counts the points
   that it comes to, so a point has a number.

   In a replay libgomp's queue stays empty: a task waits in a table of the team until the thread
   that ran it comes to where it did so, and is given to libgomp there as one that must run at once.
 */
#ifndef RF_THREADS_OPENMP_TASK_H
#define RF_THREADS_OPENMP_TASK_H

#include "threads/openmp.h"

/* What GCC says of a task, and of a loop of tasks. */
enum {
    RF_TASK_UNTIED = 1 << 0,
    RF_TASK_FINAL = 1 << 1,
    RF_TASK_MERGEABLE = 1 << 2,
    RF_TASK_DEPEND = 1 << 3,
    RF_TASK_PRIORITY = 1 << 4,
    RF_TASK_UP = 1 << 8,
    RF_TASK_GRAINSIZE = 1 << 9,
    RF_TASK_IF = 1 << 10,
    RF_TASK_NOGROUP = 1 << 11,
    RF_TASK_REDUCTION = 1 << 12,
    RF_TASK_DETACH = 1 << 13,
    RF_TASK_STRICT = 1 << 14,
};

struct rf_omp_group {
    struct rf_omp_group *outer;
    uint64_t unfinished;   /* replay */
    uintptr_t *reductions; /* what in_reduction refers to */
};

struct rf_omp_task {
    struct rf_omp_task *next; /* in the table */
    int64_t name;
    struct rf_omp_team *team;
    uintptr_t address; /* of the call that created it */
    void (*function)(void *);
    void *arguments;
    unsigned flags;
    struct rf_omp_task *parent;
    struct rf_omp_group *group; /* that it is in, and that tasks which it creates are in */
    int references;             /* itself, and its children */
    uint64_t unfinished;        /* children; replay */
    uint64_t barriers;          /* passed by the team when it was created */
    size_t depends, written;    /* addresses; so many of them, the first ones, not only read */
    void *depend[];             /* the arguments lie behind them */
};

/* A task as the program describes it. */
struct rf_omp_request {
    void (*function)(void *);
    void *data;
    void (*copy)(void *, void *);
    long size, align;
    bool deferrable;
    unsigned flags;
    void **depend;
    int priority;
    const uint64_t *bounds; /* of a loop of tasks: the first two words of the arguments */
    uintptr_t address;
};

/* The task that the thread is in; NULL outside of all teams. */
extern _Thread_local struct rf_omp_task *rf_omp_task RF_OURS
    __attribute__((tls_model("initial-exec")));

/* Creates a task in the team that the thread is in. */
void rf_omp_task_create(const struct rf_omp_request *request);

/* ---- openmp_depend.c ---- */

/* How many addresses the program's list has, and these; returns how many, the first ones, are not
   only read. */
size_t rf_omp_depend_count(void **depend);
size_t rf_omp_depend_copy(void **depend, void **addresses);
/* A place in the order of each of them: at the beginning and at the end of a task that depends on
   them. Tasks that libgomp keeps apart are so kept apart in a replay, in the recorded order. */
void rf_omp_depend_turns(uintptr_t address, void *const *addresses, size_t count);
/* For tools that look for data races: the beginning and the end of such a task. */
void rf_omp_depend_after(void *const *addresses, size_t count, size_t written);
void rf_omp_depend_before(void *const *addresses, size_t count, size_t written);

#endif
