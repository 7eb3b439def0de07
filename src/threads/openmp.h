/* OpenMP as GCC compiles it: calls of libgomp. What libgomp decides for the program are the owner
   of a lock, who gets which part of a loop, who enters a single, and who runs which task and when.
   All but the first are values of the thread that is told, and a replay tells it the same again.

   libgomp's own teams, queues and barriers cannot be looked into. So a team is shadowed: the
   function that its threads run is wrapped, and they know their team and how many of its barriers
   they have passed. */
#ifndef RF_THREADS_OPENMP_H
#define RF_THREADS_OPENMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "threads/hook.h"

/* ---- openmp_real.c ---- */

struct rf_gomp {
#define RF_GOMP(result, name, parameters) result(*name) parameters;
#include "threads/openmp_asked.def"
#include "threads/openmp_functions.def"
#undef RF_GOMP
};

/* The hooks have the names of the functions. */
#define RF_GOMP(result, name, parameters) RF_HOOK result name parameters;
#include "threads/openmp_functions.def"
#undef RF_GOMP

extern struct rf_gomp rf_gomp_functions RF_OURS;
extern int rf_gomp_ready RF_OURS;
void rf_gomp_find(void);

RF_STEP const struct rf_gomp *rf_gomp(void) {
    if (__builtin_expect(!__atomic_load_n(&rf_gomp_ready, __ATOMIC_ACQUIRE), 0))
        rf_gomp_find();
    return &rf_gomp_functions;
}

/* ---- openmp_wait.c: a replay waits for what another thread of the team is about to do ---- */

/* Something has changed that others may wait for. */
void rf_omp_changed(void);
/* Waits until `ready(what, value)`; false if that may never be, since the recording was cut off. */
bool rf_omp_await(struct rf_thread *self, enum rf_operation operation, uintptr_t address,
                  bool (*ready)(void *what, uint64_t value), void *what, uint64_t value);
void rf_omp_lock(int *lock);
void rf_omp_unlock(int *lock);
/* Memory filled with zeros. A program's own allocator may have locks, which are not the program's
   here. */
void *rf_omp_allocate(size_t size);
void rf_omp_free(void *memory);

/* ---- openmp_team.c ---- */

struct rf_omp_task;
struct rf_omp_gate;
struct rf_omp_team;

/* A thread in its team. */
struct rf_omp_member {
    struct rf_omp_team *team;
    struct rf_omp_member *outer;
    unsigned number;
    uint64_t barriers; /* passed */
    uint64_t created;  /* tasks */
    uint64_t ordered;  /* ordered loops begun */
    uint64_t singles;  /* met */
    struct rf_omp_gate *gate;
    unsigned crossing;             /* loops in one whose iterations wait for each other */
    bool loop_fixed;               /* its loop has a static schedule after all */
    struct rf_omp_task *implicit;  /* the task that every member is in from the beginning */
    struct rf_omp_task *suspended; /* the one that the thread was in before */
};

/* What tools that look for data races know the order of a team by, which they cannot see: the
   addresses of these. */
struct rf_omp_marks {
    char fork, join, ordered;
    char barrier[2];    /* nobody is two of them behind another member */
    char crossing[123]; /* of iterations that wait for each other: see openmp_ordered.c */
};

/* A team, for as long as one of its threads may still ask for something in it. */
struct rf_omp_team {
    uintptr_t *reductions; /* libgomp looks for them in the first word of the data */
    void (*function)(void *);
    void *data;
    int references;
    unsigned size;
    bool loop_fixed;
    bool dynamic; /* its size was chosen here, and libgomp's setting is to be put back */
    struct rf_omp_member master;
    void *copied; /* what a single gives to the others */
    struct rf_omp_marks marks;
    /* Replay. */
    int lock;
    int forked;                 /* only if data races are looked for */
    uint64_t singles;           /* for which it is known who the one is */
    struct rf_omp_gate *gates;  /* of ordered loops */
    struct rf_omp_task **tasks; /* created and not yet begun, by their names */
};

extern _Thread_local struct rf_omp_member *rf_omp_member RF_OURS
    __attribute__((tls_model("initial-exec")));

/* A barrier of the team, made by `real`, with the tasks that run in it. */
void rf_omp_barrier(uintptr_t address, void (*real)(void));
/* Has the schedule that the environment or the program has chosen no decisions in it? */
bool rf_omp_schedule_fixed(void);

/* ---- openmp_task.c ---- */

/* A member begins, and ends. */
void rf_omp_implicit_enter(struct rf_omp_member *member);
void rf_omp_implicit_leave(struct rf_omp_member *member);
/* The thread comes to a point where tasks may run; or, in a barrier, to its end, in which case
   `point` is what came before. Both return the number of the point, and in a replay run the tasks
   that the thread ran there. */
uint64_t rf_omp_point(uintptr_t address);
void rf_omp_point_after(uintptr_t address, uint64_t point);
void rf_omp_tasks_free(struct rf_omp_team *team);

/* ---- openmp_ordered.c ---- */

/* The thread begins a loop whose iterations wait for each other, by so many numbers. */
void rf_omp_crossing(unsigned count);

/* ---- openmp_loop.c ---- */

void rf_omp_gates_free(struct rf_omp_team *team);

#endif
